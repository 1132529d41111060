"""What in a tree cannot be handed to an agent without loss, danger or a declaration."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field

from trialbook.model.paths import path_to_text
from trialbook.model.treepath import leaving_links, name_problem
from trialbook.storage.folders import DEEPEST, LONGEST_PATH_BYTES
from trialbook.storage.repository import (
    DIRECTORY,
    EXECUTABLE,
    GITLINK,
    REGULAR,
    SYMLINK,
    Store,
    TreeEntry,
)

_MODES = frozenset({DIRECTORY, EXECUTABLE, GITLINK, REGULAR, SYMLINK})
_REGULAR_KIND = 0o100000
_POINTER = re.compile(rb"version https://(?:git-lfs\.github\.com|hawser\.github\.com)/spec/")
_LONGEST_POINTER = 1024


@dataclass(slots=True)
class Survey:
    """What was found, each as paths in text form."""

    submodules: list[str] = field(default_factory=list)
    lfs: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    case: list[str] = field(default_factory=list)
    unusable: list[str] = field(default_factory=list)


def survey_tree(store: Store, tree: str) -> Survey:
    """Look at every entry of a tree."""
    found = Survey()
    links: dict[bytes, bytes] = {}
    for path, entry in _walk(store, tree, b"", found):
        shown = path_to_text(path)
        if entry.mode == GITLINK:
            found.submodules.append(shown)
        elif entry.mode == SYMLINK:
            links[path] = store.blob(entry.oid)
        elif entry.mode & _REGULAR_KIND != _REGULAR_KIND:
            found.unusable.append(f"{shown} (mode {entry.mode:o})")
        elif _is_pointer(store.blob(entry.oid)):
            found.lfs.append(shown)
    found.links = [
        f"{path_to_text(path)} -> {path_to_text(links[path])}" for path in leaving_links(links)
    ]
    return found


def _walk(
    store: Store, tree: str, prefix: bytes, found: Survey
) -> Iterator[tuple[bytes, TreeEntry]]:
    entries = store.tree(tree)
    found.case += _collisions(prefix, entries)
    names: set[bytes] = set()
    for entry in entries:
        path = prefix + entry.name
        problem = name_problem(entry.name)
        if entry.name in names:
            problem = "is there twice"
        elif len(path) > LONGEST_PATH_BYTES or path.count(b"/") > DEEPEST:
            problem = "is nested too deep"
        names.add(entry.name)
        if problem:
            found.unusable.append(f"{path_to_text(path)} ({problem})")
        elif entry.mode == DIRECTORY:
            yield from _walk(store, entry.oid, path + b"/", found)
        else:
            yield path, entry


def _collisions(prefix: bytes, entries: list[TreeEntry]) -> list[str]:
    """Names of one folder that are one name where case or composition does not count."""
    groups: dict[str, list[str]] = {}
    for entry in entries:
        name = entry.name.decode("utf-8", "surrogateescape")
        key = unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())
        groups.setdefault(key, []).append(path_to_text(prefix + entry.name))
    return [" / ".join(group) for group in groups.values() if len(group) > 1]


def _is_pointer(data: bytes) -> bool:
    return len(data) <= _LONGEST_POINTER and _POINTER.match(data) is not None


def normal_tree(store: Store, tree: str) -> str:
    """The tree as a folder of its content would give it, most often the tree itself.

    Submodules and empty folders are gone, and modes are those of today (old git wrote 100664).
    """
    entries = []
    for name, mode, oid in store.tree(tree):
        if mode == GITLINK:
            continue
        if mode == DIRECTORY:
            below = normal_tree(store, oid)
            if store.tree(below):
                entries.append(TreeEntry(name, mode, below))
        elif mode in _MODES:
            entries.append(TreeEntry(name, mode, oid))
        else:
            entries.append(TreeEntry(name, EXECUTABLE if mode & 0o100 else REGULAR, oid))
    return store.add_tree(entries)
