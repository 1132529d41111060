"""Protected files: in the candidate's copy they are what they were in the baseline.

What was changed or deleted is put back, what was added is removed. A link that was planted at a
protected path, or at a folder on the way to it, is replaced and never written through. A pattern
that begins with ``!`` takes paths out again, whatever the others say.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trialbook_graders.globs import covers
from trialbook_graders.tree import Kind, Place, Tree, copy_place, shown

ALWAYS = (
    "**/conftest.py",
    "**/sitecustomize.py",
    "**/usercustomize.py",
    "**/*.pth",
    "pytest.ini",
    ".pytest.ini",
    "pytest.toml",
    ".pytest.toml",
    "tox.ini",
)
"""Protected in every task: what Python or pytest would run or obey without being asked. A task that
is about one of these files takes it out: ``protect: ["!tox.ini"]``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """One protected path that the candidate had touched, and what it had done to it."""

    path: str
    did: str


def restore(candidate: Path, baseline: Path, patterns: Sequence[str]) -> tuple[Restored, ...]:
    """Make every path that a pattern covers the same in ``candidate`` as in ``baseline``."""
    wanted = _protected(baseline, patterns)
    found = _protected(candidate, patterns)
    done: list[Restored] = []
    for path in sorted(found.keys() - wanted.keys()):
        remove(candidate / path)
        done.append(Restored(path=shown(path), did="added"))
    for path, (place, signature) in sorted(wanted.items()):
        if path in found and found[path][1] == signature:
            continue
        put(candidate, path, baseline, place)
        done.append(Restored(path=shown(path), did="changed" if path in found else "deleted"))
    return tuple(sorted(done, key=lambda one: one.path))


def put(candidate: Path, path: str, source: Path, place: Place) -> None:
    """Lay one file or link of ``source`` over the candidate, whatever stands in the way."""
    folder = candidate
    for name in path.split("/")[:-1]:
        folder /= name
        if not _is_folder(folder):
            remove(folder)
            folder.mkdir()
    target = candidate / path
    remove(target)
    copy_place(source, place, target)


def remove(path: Path) -> None:
    """Remove whatever is at a path; a link itself, never what it names."""
    if _is_folder(path):
        shutil.rmtree(path)
    elif os.path.lexists(path):
        path.unlink()


def signature(root: Path, place: Place) -> tuple[str, str, bool]:
    """What makes a file or a link the same as another: kind, content, executable or not."""
    path = root / place.path
    if place.kind is Kind.LINK:
        return "link", os.fsencode(path.readlink()).hex(), False
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        return "file", digest, bool(os.fstat(file.fileno()).st_mode & stat.S_IXUSR)


def _protected(
    root: Path, patterns: Sequence[str]
) -> dict[str, tuple[Place, tuple[str, str, bool]]]:
    return {
        place.path: (place, signature(root, place))
        for place in Tree(root).places
        if place.kind in {Kind.FILE, Kind.LINK} and is_protected(place.path, patterns)
    }


def is_protected(path: str, patterns: Sequence[str]) -> bool:
    """Whether the patterns protect a path."""
    out = [pattern[1:] for pattern in patterns if pattern.startswith("!")]
    into = [pattern for pattern in patterns if not pattern.startswith("!")]
    return any(covers(one, path) for one in into) and not any(covers(one, path) for one in out)


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except FileNotFoundError:
        return False
