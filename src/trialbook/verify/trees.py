"""Trees of a history, read when they are needed and kept for the commit that comes next."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from trialbook.model.paths import path_to_text
from trialbook.storage.objects import DIRECTORY, GITLINK
from trialbook.storage.raw_objects import (
    BLOB,
    TREE,
    DamagedObject,
    Entry,
    MissingObject,
    RawObjects,
    entry_of,
    split_tree,
)
from trialbook.verify.codes import Code
from trialbook.verify.findings import Findings

_MOST_ENTRIES = 60_000
_ID = 20
_WIDE = 1_000


class _Tree(NamedTuple):
    """A tree that was read: its entries, and where in its bytes each one ends."""

    entries: frozenset[bytes]
    data: bytes
    ends: list[int]

    def with_other_id(self, data: bytes) -> _Tree | None:
        """The tree of other bytes, if they differ in the id of one entry and in nothing else."""
        if len(data) != len(self.data) or len(data) < _WIDE or data == self.data:
            return None
        low, high = 0, len(data)
        while high - low > 1:
            middle = (low + high) // 2
            if data[low:middle] == self.data[low:middle]:
                low = middle
            else:
                high = middle
        place = bisect_right(self.ends, low)
        start, end = self.ends[place - 1] if place else 0, self.ends[place]
        if low < end - _ID or data[end:] != self.data[end:]:
            return None
        entries = self.entries.difference((self.data[start:end],)).union((data[start:end],))
        return _Tree(entries, data, self.ends)


class Trees:
    """Reads trees and blobs; whatever is missing or damaged becomes a fault, once.

    ``prefix`` is the folder of the ledger in its repository, with a slash at its end.
    """

    def __init__(self, objects: RawObjects, findings: Findings, prefix: bytes) -> None:
        self.objects = objects
        self._findings = findings
        self._prefix = prefix
        self._young: dict[bytes, _Tree] = {}
        self._old: dict[bytes, _Tree] = {}
        self._entries = 0
        self._told: set[bytes] = set()

    def entries(
        self, oid: bytes, path: bytes, commit: bytes, like: bytes | None = None
    ) -> frozenset[bytes] | None:
        """The entries of a tree as they stand there, kept for the next time; None if unreadable.

        ``like`` is a tree that may differ in little; it makes this quicker, and nothing else.
        """
        kept = self._young.get(oid)
        if kept is not None:
            return kept.entries
        kept = self._old.get(oid)
        if kept is None:
            try:
                kept = self._opened(oid, like)
            except (MissingObject, DamagedObject) as error:
                self.tell(error, oid, path, commit)
                return None
        if self._entries > _MOST_ENTRIES:
            # What nobody asked for since the last time goes.
            self._old, self._young, self._entries = self._young, {}, 0
        self._young[oid] = kept
        self._entries += len(kept.entries)
        return kept.entries

    def _opened(self, oid: bytes, like: bytes | None) -> _Tree:
        data = self.objects.read(oid, TREE)
        other = self._young.get(like) if like else None
        changed = other.with_other_id(data) if other else None
        if changed is not None:
            return changed
        entries = split_tree(data)
        return _Tree(frozenset(entries), data, list(accumulate(map(len, entries))))

    def listing(self, oid: bytes, path: bytes, commit: bytes) -> list[Entry]:
        """What is in a tree, in git's order and not kept; nothing if it cannot be read."""
        try:
            return [entry_of(raw) for raw in self.objects.tree(oid)]
        except (MissingObject, DamagedObject) as error:
            self.tell(error, oid, path, commit)
        return []

    def blob(self, oid: bytes, path: bytes, commit: bytes) -> bytes | None:
        """The bytes of a file; None if they cannot be read."""
        try:
            return self.objects.read(oid, BLOB)
        except (MissingObject, DamagedObject) as error:
            self.tell(error, oid, path, commit)
        return None

    def check(self, entry: Entry, path: bytes, commit: bytes) -> None:
        """Read what an entry names, and everything below it, to see that it is all there."""
        _, mode, oid = entry
        if mode == DIRECTORY:
            for inside in self.listing(oid, path, commit):
                self.check(inside, path + b"/" + inside.name, commit)
        elif mode != GITLINK:
            self.blob(oid, path, commit)

    def files(self, oid: bytes, path: bytes, commit: bytes) -> Iterator[tuple[bytes, Entry]]:
        """Every file below a tree with its path, which begins with ``path``."""
        for entry in self.listing(oid, path, commit):
            inside = path + b"/" + entry.name
            if entry.mode == DIRECTORY:
                yield from self.files(entry.oid, inside, commit)
            else:
                yield inside, entry

    def shown(self, path: bytes) -> str:
        """A path of the repository as people read it: relative to the ledger's root."""
        return path_to_text(path.removeprefix(self._prefix))

    def tell(self, error: Exception, oid: bytes, path: bytes, commit: bytes) -> None:
        """An object that was to be read at a path is missing or damaged."""
        if oid in self._told:
            return
        self._told.add(oid)
        code = Code.OBJECT_MISSING if isinstance(error, MissingObject) else Code.OBJECT_DAMAGED
        detail = f"the object {oid.hex()} {error}"
        self._findings.fault(code, detail, path=self.shown(path), commit=commit.hex())
