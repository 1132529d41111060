"""Follows the contents of files through an agent's edits, to see which of them went back.

Contents are known by a digest: a whole file that was written by its text, an edit by what it
replaced with what. So a file is at an earlier state again when the same text was written again, or
when an edit undid the one before it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from trialbook.model.trajectory import Event

_WHOLE = ("content", "contents", "text", "file_text", "new_content", "new_source")
_PAIRS = (
    ("old_string", "new_string"),
    ("oldString", "newString"),
    ("old_str", "new_str"),
    ("search", "replace"),
    ("old", "new"),
)
_PATCHES = ("patch", "input", "diff", "patchText", "unified_diff")
_START = "start"


@dataclass(slots=True, kw_only=True)
class _File:
    """Where one file is: ``undo`` has the edits since it was last written as a whole."""

    state: str = _START
    seen: set[str] = field(default_factory=lambda: {_START})
    undo: list[tuple[str, str, str]] = field(default_factory=list)


class Edits:
    """The files that were edited so far."""

    def __init__(self) -> None:
        self.reverted = 0
        self.unread = 0
        self._files: dict[str, _File] = {}

    def edit(self, event: Event) -> None:
        """Take in an edit that was done; one that does not tell what it wrote is ``unread``."""
        file = self._files.setdefault(event.path or "", _File())
        given = event.arguments or {}
        whole = _text(given, _WHOLE)
        if whole is not None:
            file.undo.clear()
            self._at(file, _digest("whole", whole))
            return
        pairs = list(_replaced(given))
        if not pairs:
            self.unread += 1
            file.undo.clear()
            self._at(file, _digest("unread", str(self.unread)))
        for old, new in pairs:
            self._replace(file, old, new)

    def restore(self, path: str) -> None:
        """Take in that a file was put back to what it was at the start."""
        file = self._files.get(path)
        if file is not None:
            file.undo.clear()
            self._at(file, _START)

    def _replace(self, file: _File, old: str, new: str) -> None:
        if file.undo and file.undo[-1][:2] == (new, old):
            _, _, before = file.undo.pop()
            self._at(file, before)
            return
        file.undo.append((old, new, file.state))
        self._at(file, _digest(file.state, old, new))

    def _at(self, file: _File, state: str) -> None:
        if state != file.state and state in file.seen:
            self.reverted += 1
        file.state = state
        file.seen.add(state)


def _replaced(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """What was replaced with what, in order."""
    several = given.get("edits")
    for one in several if isinstance(several, list | tuple) else (given,):
        if isinstance(one, Mapping):
            for first, second in _PAIRS:
                old, new = one.get(first), one.get(second)
                if isinstance(old, str) and isinstance(new, str) and old != new:
                    yield _digest(old), _digest(new)
                    break
    patch = _text(given, _PATCHES)
    if patch is not None:
        yield from _in_patch(patch)


def _in_patch(patch: str) -> Iterator[tuple[str, str]]:
    lines = patch.splitlines(keepends=True)
    body = [line for line in lines if not line.startswith(("---", "+++", "***", "@@"))]
    if any(line.startswith(("+", "-")) for line in body):
        old = "".join(line[1:] for line in body if line.startswith((" ", "-")))
        new = "".join(line[1:] for line in body if line.startswith((" ", "+")))
        yield _digest(old), _digest(new)


def _text(given: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    return next((given[name] for name in names if isinstance(given.get(name), str)), None)


def _digest(*parts: str) -> str:
    joined = "\0".join(parts).encode("utf-8", "replace")
    return hashlib.blake2b(joined, digest_size=16).hexdigest()
