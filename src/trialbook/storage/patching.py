"""Applying a patch to a git tree, object by object, without a folder and without git."""

from __future__ import annotations

from typing import Protocol

from trialbook.errors import Refused
from trialbook.formats.patch import parse_patch
from trialbook.formats.patch_apply import Content, apply_patch
from trialbook.model.paths import path_to_text
from trialbook.storage.repository import DIRECTORY, GITLINK, TreeEntry
from trialbook.storage.trees import Edit, EditedTrees, edit_tree, replace_with


class Patched(EditedTrees, Protocol):
    """Where files are read that a patch changes, and put when it did; `Store` is one."""

    def blob(self, oid: str) -> bytes:
        """The bytes of a file."""
        ...

    def lookup(self, path: bytes, tree: str) -> TreeEntry | None:
        """The entry at a path below a tree, or None."""
        ...

    def add_blob(self, data: bytes) -> str:
        """Take a file; gives its id."""
        ...


def apply_to_tree(store: Patched, tree: str, patch: bytes) -> str:
    """The tree that a patch makes of ``tree``.

    Strict: every hunk at its exact place with its exact context.

    Raises:
        Refused: the patch is damaged, unsafe, or made for another tree; nothing is left half done.
    """

    def read(path: bytes) -> Content | None:
        entry = store.lookup(path, tree)
        if entry is None or entry.mode == DIRECTORY:
            # A folder may make room for a file: whether it did is seen when all parts are known.
            return None
        if entry.mode == GITLINK:
            raise Refused(f"{path_to_text(path)} is a submodule; a patch cannot change it")
        return Content(entry.mode, store.blob(entry.oid))

    changes = apply_patch(parse_patch(patch), read)
    removed = edit_tree(
        store, tree, {path: replace_with(None) for path, new in changes.items() if new is None}
    )
    written = {path: new for path, new in changes.items() if new is not None}
    _check_room(store, removed, written)
    return edit_tree(
        store, removed, {path: _entry(store, path, new) for path, new in written.items()}
    )


def _entry(store: Patched, path: bytes, content: Content) -> Edit:
    name = path.rpartition(b"/")[2]
    return replace_with(TreeEntry(name, content.mode, store.add_blob(content.data)))


def _check_room(store: Patched, tree: str, written: dict[bytes, Content]) -> None:
    """Refuse a file where a folder stays, and a file below what stays a file."""
    for path in written:
        there = store.lookup(path, tree)
        if there is not None and there.mode == DIRECTORY:
            raise Refused(f"the patch makes a file of {path_to_text(path)}, which is a folder")
        if there is not None:
            continue  # A file in its place: so are the folders that it is in.
        parent = path
        while slash := parent.rpartition(b"/")[0]:
            parent = slash
            entry = store.lookup(parent, tree)
            if parent in written or (entry is not None and entry.mode != DIRECTORY):
                raise Refused(
                    f"the patch makes {path_to_text(path)}, but {path_to_text(parent)} is a file"
                )
