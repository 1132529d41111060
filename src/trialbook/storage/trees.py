"""Git trees as values: written out to a folder, and cut, laid over one another, put elsewhere.

Everything works on objects; nothing here converts line ends, reads attributes or runs git.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from trialbook.errors import Refused
from trialbook.model.paths import path_to_text, text_to_path
from trialbook.model.treepath import name_problem, path_problem
from trialbook.storage.disk import doing
from trialbook.storage.folders import FolderTree, tree_of_folder
from trialbook.storage.repository import (
    DIRECTORY,
    EXECUTABLE,
    GITLINK,
    SYMLINK,
    Store,
    TreeEntry,
)

__all__ = [
    "Edit",
    "EditedTrees",
    "FolderTree",
    "Objects",
    "count_files",
    "edit_tree",
    "fresh",
    "materialise",
    "overlay_tree",
    "place",
    "remove_paths",
    "replace_with",
    "subtree",
    "tree_of_folder",
]

Edit = Callable[[TreeEntry | None], TreeEntry | None]
"""What becomes of the entry at a path (None: nothing there)."""

_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Objects(Protocol):
    """Where trees and files are read from; `Store` is one."""

    def tree(self, oid: str) -> list[TreeEntry]:
        """The entries of a tree."""
        ...

    def blob(self, oid: str) -> bytes:
        """The bytes of a file."""
        ...


class EditedTrees(Protocol):
    """Where trees are read and put; `Store` is one."""

    def tree(self, oid: str) -> list[TreeEntry]:
        """The entries of a tree."""
        ...

    def add_tree(self, entries: Iterable[TreeEntry]) -> str:
        """Take a tree; gives its id."""
        ...


def materialise(store: Objects, tree: str, destination: Path) -> None:
    """Write a tree into a fresh folder: exact bytes, 0644 or 0755, links as links.

    ``destination`` is made, or is an empty folder. Nothing is overwritten and no link is written
    through.

    Raises:
        Refused: the folder is not empty, or an entry cannot stand in a folder.
        EnvironmentProblem: the folder cannot be written.
        KeyError: an object is missing.
    """
    with fresh(destination) as handle:
        _write_entries(store, tree, handle, b"")


@contextmanager
def fresh(destination: Path) -> Iterator[int]:
    """A folder that is made, or is empty, open by descriptor for writing into it.

    Raises:
        Refused: there is something in it.
        EnvironmentProblem: it cannot be made, or not be written into.
    """
    with doing(f"write into {destination}"):
        destination.mkdir(parents=True, exist_ok=True)
        handle = os.open(destination, _FOLDER)
        try:
            if os.listdir(handle):  # noqa: PTH208 - an open folder, not a path
                raise Refused(f"{destination} is not empty; what goes there needs a fresh folder")
            yield handle
        finally:
            os.close(handle)


def _write_entries(store: Objects, tree: str, parent: int, prefix: bytes) -> None:
    for name, mode, oid in store.tree(tree):
        if problem := name_problem(name):
            raise Refused(f"the tree entry {path_to_text(prefix + name)} {problem}")
        try:
            if mode == DIRECTORY:
                os.mkdir(name, 0o755, dir_fd=parent)
                _write_folder(store, oid, parent, prefix + name)
            elif mode == SYMLINK:
                os.symlink(store.blob(oid), name, dir_fd=parent)
            elif mode == GITLINK:
                raise Refused(f"{path_to_text(prefix + name)} is a submodule")
            else:
                _write_file(parent, name, store.blob(oid), 0o755 if mode == EXECUTABLE else 0o644)
        except FileExistsError:
            raise Refused(
                f"{path_to_text(prefix + name)} is there twice, or differs from another name only "
                "in a way that this file system does not keep"
            ) from None


def _write_folder(store: Objects, tree: str, parent: int, path: bytes) -> None:
    handle = os.open(path.rpartition(b"/")[2], _FOLDER, dir_fd=parent)
    try:
        os.fchmod(handle, 0o755)
        _write_entries(store, tree, handle, path + b"/")
    finally:
        os.close(handle)


def _write_file(parent: int, name: bytes, data: bytes, mode: int) -> None:
    handle = os.open(name, _NEW_FILE, mode, dir_fd=parent)
    try:
        # Whatever the operator's umask is, two machines get the same modes.
        if os.fstat(handle).st_mode & 0o777 != mode:
            os.fchmod(handle, mode)
        done = os.write(handle, data)
        while done < len(data):
            done += os.write(handle, data[done:])
    finally:
        os.close(handle)


def overlay_tree(store: Store, base: str, top: str) -> str:
    """The files of ``top`` laid over ``base``. A file replaces a folder, and the reverse."""
    if base == top:
        return base
    entries = {entry.name: entry for entry in store.tree(base)}
    for entry in store.tree(top):
        below = entries.get(entry.name)
        if below is not None and below.mode == DIRECTORY == entry.mode:
            oid = overlay_tree(store, below.oid, entry.oid)
            entries[entry.name] = TreeEntry(entry.name, DIRECTORY, oid)
        else:
            entries[entry.name] = entry
    return store.add_tree(entries.values())


def subtree(store: Store, tree: str, path: str) -> str:
    """The tree of a folder inside a tree (``.`` is the tree itself).

    Raises:
        Refused: there is no such folder.
    """
    if path == ".":
        return tree
    entry = store.lookup(_checked(path), tree)
    if entry is None or entry.mode != DIRECTORY:
        what = "is no folder" if entry else "does not exist"
        raise Refused(f"{path} {what} in the source", hint="correct the snapshot's `path`")
    return entry.oid


def place(store: Store, tree: str, into: str) -> str:
    """A tree that holds ``tree`` in the folder ``into`` (``.``: at the top) and nothing else."""
    if into == ".":
        return tree
    for name in reversed(_checked(into).split(b"/")):
        tree = store.add_tree([TreeEntry(name, DIRECTORY, tree)])
    return tree


def remove_paths(store: Store, tree: str, paths: Iterable[str]) -> str:
    """The tree without some files or folders; a folder that is then empty goes too.

    Raises:
        Refused: one of them is not there.
    """
    for path in paths:
        raw = _checked(path)
        if store.lookup(raw, tree) is None:
            raise Refused(
                f"{path} is to be removed, but the source has no such path",
                hint="correct the snapshot's `remove`",
            )
        tree = edit_tree(store, tree, {raw: replace_with(None)})
    return tree


def replace_with(entry: TreeEntry | None) -> Edit:
    """The edit that puts an entry at its path (None: takes away what is there)."""
    return lambda _: entry


def edit_tree(store: EditedTrees, tree: str, edits: dict[bytes, Edit]) -> str:
    """Apply edits by path, making the folders they need and dropping the ones they empty.

    Folders that an edit passes through replace files of the same name.
    """
    if not edits:
        return tree
    return _edited(store, tree, edits) or store.add_tree([])


def _edited(store: EditedTrees, tree: str | None, edits: dict[bytes, Edit]) -> str | None:
    entries = {entry.name: entry for entry in store.tree(tree)} if tree else {}
    deeper: dict[bytes, dict[bytes, Edit]] = {}
    for path, edit in edits.items():
        name, slash, rest = path.partition(b"/")
        if slash:
            deeper.setdefault(name, {})[rest] = edit
        else:
            _set(entries, name, edit(entries.get(name)))
    for name, inner in deeper.items():
        below = entries.get(name)
        is_folder = below is not None and below.mode == DIRECTORY
        oid = _edited(store, below.oid if below and is_folder else None, inner)
        if oid is not None:
            entries[name] = TreeEntry(name, DIRECTORY, oid)
        elif is_folder:
            del entries[name]
    return store.add_tree(entries.values()) if entries else None


def _set(entries: dict[bytes, TreeEntry], name: bytes, entry: TreeEntry | None) -> None:
    if entry is None:
        entries.pop(name, None)
    else:
        entries[name] = entry


def count_files(store: Store, tree: str) -> int:
    """How many files and links a tree has."""
    return sum(1 for _ in store.walk(tree))


def _checked(path: str) -> bytes:
    raw = text_to_path(path)
    if problem := path_problem(raw):
        raise Refused(f"the path {path} {problem}; paths are relative and stay inside the source")
    return raw
