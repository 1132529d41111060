"""Tree surgery: new files put into a tree by rewriting only the trees on their paths.

Nothing else of the tree is read. What is there already stays: the same bytes are no change, other
bytes are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple, Protocol

from trialbook.errors import Refused
from trialbook.model.paths import path_to_text
from trialbook.storage.repository import DIRECTORY, REGULAR, Store
from trialbook.storage.tree_folder import Folder

_New = dict[bytes, "str | _New"]


class Trees(Protocol):
    """Where trees come from and go to; `Batch` is one."""

    def folder_of(self, tree: str) -> Folder:
        """A tree as a folder, to keep and to change."""
        ...

    def add_folder(self, content: Folder, path: bytes) -> str:
        """Take a folder that is at a path; gives the tree's id."""
        ...


class Grafted(NamedTuple):
    """The new tree, and the paths (with their blobs) that the old one did not have."""

    tree: str
    added: dict[bytes, str]


def graft(trees: Trees, tree: str | None, files: Mapping[bytes, str]) -> Grafted:
    """Put files into a tree (None: an empty one).

    Args:
        trees: Where the trees are.
        tree: The tree to start from.
        files: Blob ids by slash-separated path.

    Raises:
        Refused: a path is there with other bytes or as something else than a file, or one path is
            a folder of another.
    """
    added: dict[bytes, str] = {}
    return Grafted(_graft(trees, tree, _nested(files), b"", added), added)


def missing(store: Store, old: str | None, new: str | None, below: bytes) -> dict[bytes, str]:
    """Files below a folder that the tree ``old`` has and ``new`` lacks; equal parts are skipped."""
    before = store.lookup(below, old) if old else None
    after = store.lookup(below, new) if new else None
    if before is None or before.mode != DIRECTORY:
        return {}
    there = after.oid if after is not None and after.mode == DIRECTORY else None
    return dict(_missing(store, before.oid, there, below + b"/"))


def _missing(store: Store, old: str, new: str | None, prefix: bytes) -> Iterator[tuple[bytes, str]]:
    if old == new:
        return
    after = {entry.name: entry for entry in store.tree(new)} if new else {}
    for entry in store.tree(old):
        there = after.get(entry.name)
        if entry.mode == DIRECTORY:
            inside = there.oid if there is not None and there.mode == DIRECTORY else None
            if there is None or inside is not None:
                yield from _missing(store, entry.oid, inside, prefix + entry.name + b"/")
        elif there is None:
            yield prefix + entry.name, entry.oid


def _nested(files: Mapping[bytes, str]) -> _New:
    top: _New = {}
    for path, oid in files.items():
        *folders, name = path.split(b"/")
        here = top
        for folder in folders:
            inside = here.setdefault(folder, {})
            if isinstance(inside, str):
                raise _refusal(path, "lies below another file of the same commit")
            here = inside
        if name in here:
            raise _refusal(path, "is a folder of another file of the same commit")
        here[name] = oid
    return top


def _graft(
    trees: Trees, tree: str | None, new: _New, prefix: bytes, added: dict[bytes, str]
) -> str:
    folder = trees.folder_of(tree) if tree else Folder()
    before = len(added)
    for name, what in new.items():
        path = prefix + name
        there = folder.get(name)
        if isinstance(what, str):
            if there is None:
                added[path] = what
                folder.put(name, REGULAR, what)
            elif (there.mode, there.oid) != (REGULAR, what):
                raise _refusal(path, "is in the ledger with other content")
        elif there is not None and there.mode != DIRECTORY:
            raise _refusal(path, "is in the ledger and is no folder")
        else:
            inside = _graft(trees, there.oid if there else None, what, path + b"/", added)
            folder.put(name, DIRECTORY, inside)
    if tree is not None and len(added) == before:
        return tree
    return trees.add_folder(folder, prefix.rstrip(b"/"))


def _refusal(path: bytes, why: str) -> Refused:
    return Refused(
        f"{path_to_text(path)} {why}",
        hint="the ledger is only ever added to; write under a new name",
    )
