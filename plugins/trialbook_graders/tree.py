"""A folder that an agent left, looked at without trust.

No link is followed, neither at the end of a path nor on the way to it; no special file is opened;
nothing named ``.git`` is looked at. Paths are relative to the top, with slashes; names that are no
UTF-8 carry surrogate escapes, and `shown` gives the form for people and records.
"""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from pathlib import Path

from trialbook.api import EnvironmentProblem, Evidence, TreeView, path_to_text
from trialbook_graders.globs import is_pattern, matches
from trialbook_graders.search import read_regular


class Kind(StrEnum):
    """What stands at a path."""

    MISSING = "missing"
    FILE = "file"
    FOLDER = "folder"
    LINK = "link"
    SPECIAL = "special"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A path and what stands there; ``at`` is the part of it that decides (itself, or a parent)."""

    path: str
    kind: Kind
    at: str

    @property
    def says(self) -> str:
        """What is there, in words: ``src/a.py is a symbolic link``."""
        words = {
            Kind.MISSING: "not found",
            Kind.FILE: "is a file",
            Kind.FOLDER: "is a folder",
            Kind.LINK: "is a symbolic link",
            Kind.SPECIAL: "is a special file (pipe, socket or device)",
        }
        return f"{shown(self.at)} {words[self.kind]}"


def shown(path: str) -> str:
    """A path of the tree in text form, without loss."""
    return path_to_text(os.fsencode(path))


class Tree:
    """A folder, with its listing kept once it was asked for."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def at(self, path: str) -> Place:
        """What stands at one path."""
        clean = path.removesuffix("/")
        names = clean.split("/")
        if ".git" in names:
            return Place(path=clean, kind=Kind.MISSING, at=clean)
        for depth in range(1, len(names) + 1):
            part = "/".join(names[:depth])
            kind = self._kind_at(part)
            if depth < len(names) and kind in {Kind.FILE, Kind.SPECIAL}:
                # Below a file there is nothing, whatever the file is.
                return Place(path=clean, kind=Kind.MISSING, at=clean)
            if kind is not Kind.FOLDER:
                at = clean if kind is Kind.MISSING else part
                return Place(path=clean, kind=kind, at=at)
        return Place(path=clean, kind=Kind.FOLDER, at=clean)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Everything below the top, sorted by path."""
        return tuple(sorted(self._walk(), key=lambda place: place.path))

    def named(self, pattern: str) -> list[Place]:
        """What a path or pattern names, sorted by path; a plain path that is missing gives none."""
        if not is_pattern(pattern):
            place = self.at(pattern)
            return [] if place.kind is Kind.MISSING else [place]
        return [place for place in self.places if matches(pattern, place.path)]

    def read(self, place: Place, limit: int) -> bytes | None:
        """Up to ``limit`` bytes and one more of a file; None for anything else."""
        return self._read(place.path, limit) if place.kind is Kind.FILE else None

    def _kind_at(self, path: str) -> Kind:
        return _kind_at(self.root / path)

    def _walk(self) -> Iterator[Place]:
        return _walk(self.root)

    def _read(self, path: str, limit: int) -> bytes | None:
        return read_regular(self.root / path, limit)


class ViewedTree(Tree):
    """The same for a tree that is in no folder."""

    def __init__(self, view: TreeView) -> None:
        self._view = view

    def _kind_at(self, path: str) -> Kind:
        folder, _, name = path.rpartition("/")
        return Kind(self._view.kinds(folder).get(name, Kind.MISSING))

    def _walk(self) -> Iterator[Place]:
        pending = [""]
        while pending:
            folder = pending.pop()
            for name, found in self._view.kinds(folder).items():
                path, kind = f"{folder}/{name}" if folder else name, Kind(found)
                yield Place(path=path, kind=kind, at=path)
                if kind is Kind.FOLDER:
                    pending.append(path)

    def _read(self, path: str, limit: int) -> bytes | None:
        return self._view.read(path, limit)


def final_tree(evidence: Evidence) -> Tree:
    """The tree that is judged; no folder is written out for it if there is a way without."""
    return Tree(evidence.candidate) if evidence.view is None else ViewedTree(evidence.view)


def copy_folder(source: Path, destination: Path) -> None:
    """Copy a tree to a place where nothing is: exact bytes and names, links as links.

    What is not part of a tree (``.git``, special files) stays behind; files get 644 or 755.
    """
    destination.mkdir(parents=True)
    for place in sorted(_walk(source), key=lambda place: place.path):
        target = destination / place.path
        if place.kind is Kind.FOLDER:
            target.mkdir()
        else:
            copy_place(source, place, target)


def copy_place(source: Path, place: Place, target: Path) -> None:
    """Copy one file or link to a free place in an existing folder; anything else is passed over."""
    if place.kind is Kind.LINK:
        target.symlink_to((source / place.path).readlink())
    elif place.kind is Kind.FILE:
        flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
        with os.fdopen(os.open(source / place.path, flags), "rb") as reader:
            executable = os.fstat(reader.fileno()).st_mode & stat.S_IXUSR
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            mode = 0o755 if executable else 0o644
            with os.fdopen(os.open(target, flags, mode), "wb") as writer:
                shutil.copyfileobj(reader, writer)


def _walk(root: Path) -> Iterator[Place]:
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(root / folder) as listing:
                entries = list(listing)
        except OSError as error:
            raise EnvironmentProblem(
                f"the folder {folder or '.'} cannot be read: {error.strerror}",
                hint="give yourself the right to read it, or take it away",
            ) from error
        for entry in entries:
            if entry.name == ".git":
                continue
            path = f"{folder}/{entry.name}" if folder else entry.name
            kind = _kind_of(entry.stat(follow_symlinks=False).st_mode)
            yield Place(path=path, kind=kind, at=path)
            if kind is Kind.FOLDER:
                pending.append(path)


def _kind_at(path: Path) -> Kind:
    try:
        return _kind_of(path.lstat().st_mode)
    except (OSError, ValueError):
        # Not there, a name that is too long, a folder that may not be looked into: not for us.
        return Kind.MISSING


def _kind_of(mode: int) -> Kind:
    if stat.S_ISREG(mode):
        return Kind.FILE
    if stat.S_ISDIR(mode):
        return Kind.FOLDER
    return Kind.LINK if stat.S_ISLNK(mode) else Kind.SPECIAL
