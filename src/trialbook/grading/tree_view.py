"""Looks into a tree of the object store, for graders that need no folder of files."""

from __future__ import annotations

import os
from collections.abc import Mapping

from trialbook.errors import Refused
from trialbook.model.paths import path_to_text
from trialbook.model.treepath import name_problem
from trialbook.storage.repository import DIRECTORY, GITLINK, SYMLINK, TreeEntry
from trialbook.storage.trees import Objects

_KINDS = {DIRECTORY: "folder", SYMLINK: "link"}


class StoredTree:
    """A tree by its id: a `TreeView`.

    What could not be written to a folder is refused as it would be there, where it is met.
    """

    def __init__(self, store: Objects, tree: str) -> None:
        self._store = store
        self._folders: dict[bytes, dict[bytes, TreeEntry]] = {b"": self._entries(tree, b"")}

    def kinds(self, folder: str = "") -> Mapping[str, str]:
        """What stands in a folder, by name: ``file``, ``folder`` or ``link``."""
        entries = self._folder(_raw(folder))
        return {os.fsdecode(name): _KINDS.get(one.mode, "file") for name, one in entries.items()}

    def read(self, path: str, limit: int) -> bytes | None:
        """Up to ``limit`` bytes and one more of a file; None for anything else."""
        folder, _, name = _raw(path).rpartition(b"/")
        entry = self._folder(folder).get(name)
        if entry is None or entry.mode in _KINDS:
            return None
        return self._store.blob(entry.oid)[: limit + 1]

    def _folder(self, path: bytes) -> dict[bytes, TreeEntry]:
        known = self._folders.get(path)
        if known is None:
            above, _, name = path.rpartition(b"/")
            entry = self._folder(above).get(name)
            is_folder = entry is not None and entry.mode == DIRECTORY
            known = self._entries(entry.oid, path) if entry and is_folder else {}
            self._folders[path] = known
        return known

    def _entries(self, tree: str, path: bytes) -> dict[bytes, TreeEntry]:
        entries = {}
        for entry in self._store.tree(tree):
            problem = name_problem(entry.name) or ("is a submodule" * (entry.mode == GITLINK))
            if problem:
                shown = path_to_text(path + b"/" * bool(path) + entry.name)
                raise Refused(f"the tree entry {shown} {problem}")
            entries[entry.name] = entry
        return entries


def _raw(path: str) -> bytes:
    try:
        return os.fsencode(path)
    except UnicodeEncodeError:
        return b"\0"  # no name can be that
