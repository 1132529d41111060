"""Objects worked on in memory: read from a store, made, and never written anywhere."""

from __future__ import annotations

from collections.abc import Iterable

from trialbook.storage.folders import IdsOnly
from trialbook.storage.objects import DIRECTORY, TreeEntry, blob_oid
from trialbook.storage.repository import Store

_MOST_BYTES = 32 << 20
_MOST_TREES = 20_000


class DryStore:
    """What applying patches needs of a store. What was read is kept, within limits.

    Trees that were made are known until `forget`; files that were made only have an id.
    """

    def __init__(self, source: Store) -> None:
        self._source = source
        self._blobs: dict[str, bytes] = {}
        self._bytes = 0
        self._trees: dict[str, dict[bytes, TreeEntry]] = {}
        self._made: dict[str, dict[bytes, TreeEntry]] = {}

    def blob(self, oid: str) -> bytes:
        """The bytes of a file.

        Raises:
            KeyError: there is no such object.
        """
        data = self._blobs.get(oid)
        if data is None:
            data = self._source.blob(oid)
            if self._bytes > _MOST_BYTES:
                self._blobs.clear()
                self._bytes = 0
            self._blobs[oid] = data
            self._bytes += len(data)
        return data

    def tree(self, oid: str) -> list[TreeEntry]:
        """The entries of a tree.

        Raises:
            KeyError: there is no such object.
        """
        return list(self._entries(oid).values())

    def lookup(self, path: bytes, tree: str) -> TreeEntry | None:
        """The entry at a slash-separated path below a tree, or None."""
        entry = TreeEntry(b"", DIRECTORY, tree)
        for part in path.split(b"/") if path else []:
            if entry.mode != DIRECTORY:
                return None
            found = self._entries(entry.oid).get(part)
            if found is None:
                return None
            entry = found
        return entry

    def add_blob(self, data: bytes) -> str:
        """The id of a file with these bytes."""
        return blob_oid(data)

    def add_tree(self, entries: Iterable[TreeEntry]) -> str:
        """The id of a tree; it can be read until it is forgotten."""
        known = {entry.name: entry for entry in entries}
        oid = IdsOnly().add_tree(known.values())
        self._made[oid] = known
        return oid

    def forget(self) -> None:
        """Drop the trees that were made."""
        self._made.clear()

    def _entries(self, oid: str) -> dict[bytes, TreeEntry]:
        found = self._made.get(oid)
        if found is None:
            found = self._trees.get(oid)
        if found is None:
            if len(self._trees) > _MOST_TREES:
                self._trees.clear()
            found = self._trees[oid] = {entry.name: entry for entry in self._source.tree(oid)}
        return found
