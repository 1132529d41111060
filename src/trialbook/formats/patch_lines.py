"""The lines that a patch adds and takes out, with their numbers, by file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from trialbook.errors import Refused
from trialbook.formats.patch import FilePatch, parse_patch
from trialbook.model.paths import path_to_text

MOST_BYTES = 20_000_000

Numbered = tuple[int, str]
"""A line with its number, counted from 1."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchLines:
    """``added`` are by the path that a file has afterwards, ``deleted`` by that which it had."""

    added: dict[str, list[Numbered]] = field(default_factory=dict)
    deleted: dict[str, list[Numbered]] = field(default_factory=dict)

    @property
    def added_numbers(self) -> dict[str, frozenset[int]]:
        """The numbers of the added lines, by path."""
        return {path: frozenset(n for n, _ in lines) for path, lines in self.added.items()}

    @property
    def changed_lines(self) -> int:
        """Lines added and taken out."""
        return sum(map(len, (*self.added.values(), *self.deleted.values())))

    @property
    def paths(self) -> frozenset[str]:
        """Every path that has lines."""
        return frozenset({*self.added, *self.deleted})


def patch_lines(data: bytes | None) -> PatchLines | None:
    """The lines of a patch; None if there is none, it cannot be read, or it has more than 20 MB."""
    if data is None or len(data) > MOST_BYTES:
        return None
    try:
        return lines_of(parse_patch(data))
    except Refused:
        return None


def lines_of(files: Iterable[FilePatch]) -> PatchLines:
    """The lines of a patch that was read."""
    found = PatchLines()
    for file in files:
        _collect(found.added, file.new_path, file, "+", lambda line: line.new)
        _collect(found.deleted, file.old_path, file, "-", lambda line: line.old)
    return found


def _collect(
    into: dict[str, list[Numbered]],
    path: bytes | None,
    file: FilePatch,
    kind: str,
    number: Callable[..., int | None],
) -> None:
    if path is None:
        return
    lines: Sequence[Numbered] = [
        (number(line) or 0, line.text.decode("utf-8", "replace"))
        for hunk in file.hunks
        for line in hunk.lines
        if line.kind == kind
    ]
    if lines:
        into.setdefault(path_to_text(path), []).extend(lines)
