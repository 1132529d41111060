"""Objects of a repository read fast, in bulk, each one checked against its name.

For the verification of whole ledgers: it reads every object there is, and believes none. Object
ids are the 20 bytes themselves here, as trees hold them.
"""

from __future__ import annotations

import hashlib
import re
import zlib
from pathlib import Path
from typing import NamedTuple

from trialbook.errors import TrialbookError
from trialbook.storage.packs import Bases, Pack

COMMIT, TREE, BLOB = 1, 2, 3
_KINDS = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}
_HEADS = {number: name + b" %d\0" for number, name in _KINDS.items()}
_NUMBERS = {name: number for number, name in _KINDS.items()}
_BAD = (ValueError, IndexError, zlib.error, KeyError, AssertionError, OSError)
_ALTERNATES_DEPTH = 5

_ENTRY = re.compile(rb"[0-7]{5,6} [^\0/]+\0.{20}", re.DOTALL)
_ID = 20
_sha1 = hashlib.sha1
_MODES = {b"%o" % mode: mode for mode in (0o40000, 0o100644, 0o100755, 0o120000, 0o160000)}
_entry = tuple.__new__  # Made by the hundred thousand: this is quicker than by name.


class Entry(NamedTuple):
    """One entry of a tree."""

    name: bytes
    mode: int
    oid: bytes


def entry_of(raw: bytes) -> Entry:
    """What the bytes of one entry say."""
    mode, _, name = raw[: -_ID - 1].partition(b" ")
    return _entry(Entry, (name, _MODES.get(mode) or int(mode, 8), raw[-_ID:]))


def split_tree(data: bytes) -> list[bytes]:
    """The entries of a tree as they stand in its bytes.

    Raises:
        DamagedObject: these are no tree's bytes.
    """
    entries = _ENTRY.findall(data)
    if sum(map(len, entries)) != len(data):
        raise DamagedObject("is no tree")
    return entries


class MissingObject(TrialbookError):
    """An object that is referred to and is not there."""


class DamagedObject(TrialbookError):
    """An object that cannot be read, or is not what its name says."""


class RawObjects:
    """The objects of one repository, alternates included. One per thread.

    ``count`` is how many were read. Contents are not kept, but for bases of deltas. ``folders`` are
    the repository's ``objects`` and those of its alternates.
    """

    def __init__(self, objects: Path) -> None:
        self.folders = _with_alternates(objects, _ALTERNATES_DEPTH)
        self._bases = Bases()
        self._packs: dict[Path, Pack] = {}
        self._order: list[Pack] = []
        self.broken: dict[Path, str] = {}
        self.count = 0
        self._scan()

    def read(self, oid: bytes, kind: int) -> bytes:
        """The bytes of an object, which are what its name says.

        Raises:
            MissingObject: there is no such object.
            DamagedObject: it cannot be read, is of another kind, or hashes to another name.
        """
        order = self._order
        try:
            number, data = (order and order[0].get(oid)) or self._find(oid)
        except _BAD as error:
            raise DamagedObject(f"cannot be read: {error}") from error
        self.count += 1
        head = _HEADS.get(number, b"? %d\0") % len(data)
        if _sha1(head + data, usedforsecurity=False).digest() != oid:
            raise DamagedObject("its bytes hash to another name")
        if number != kind:
            raise DamagedObject(
                f"is a {_KINDS[number].decode()} where a {_KINDS[kind].decode()} is named"
            )
        return data

    @property
    def packed(self) -> int:
        """How many objects there are in packs, those that are in several counted each time."""
        return sum(pack.size for pack in self._packs.values())

    def any_kind(self, oid: bytes) -> bytes:
        """The bytes of an object of whatever kind, without a look at whether they are its name's.

        Raises:
            MissingObject, DamagedObject: as `read`.
        """
        try:
            return self._find(oid)[1]
        except _BAD as error:
            raise DamagedObject(f"cannot be read: {error}") from error

    def tree(self, oid: bytes) -> list[bytes]:
        """The entries of a tree as they stand there (see `entry_of`): equal if they say the same.

        Raises:
            MissingObject, DamagedObject: as `read`.
        """
        return split_tree(self.read(oid, TREE))

    def _find(self, oid: bytes) -> tuple[int, bytes]:
        found = self._packed(oid) or self._loose(oid)
        if found is None:
            # Somebody may have packed it in the meantime.
            self._scan()
            found = self._packed(oid)
        if found is None:
            raise MissingObject("is not there")
        return found

    def _packed(self, oid: bytes) -> tuple[int, bytes] | None:
        order = self._order
        for place, pack in enumerate(order):
            found = pack.get(oid)
            if found is not None:
                if place:
                    # The next object is likely to be in the same pack.
                    order.insert(0, order.pop(place))
                return found
        return None

    def _loose(self, oid: bytes) -> tuple[int, bytes] | None:
        text = oid.hex()
        for folder in self.folders:
            try:
                with open(f"{folder}/{text[:2]}/{text[2:]}", "rb") as file:  # noqa: PTH123 - speed
                    raw = zlib.decompress(file.read())
            except FileNotFoundError:
                continue
            head, _, data = raw.partition(b"\0")
            kind, _, size = head.partition(b" ")
            if int(size) != len(data):
                raise ValueError("it has another size than it says")
            return _NUMBERS[kind], data
        return None

    def _scan(self) -> None:
        for folder in self.folders:
            for index in sorted((folder / "pack").glob("*.idx")):
                if index in self._packs or index in self.broken:
                    continue
                try:
                    self._packs[index] = Pack(index, len(self._packs), self._bases)
                    self._order.append(self._packs[index])
                except FileNotFoundError:
                    continue
                except (ValueError, OSError) as error:
                    self.broken[index] = str(error)

    def close(self) -> None:
        """Free the files."""
        for pack in self._packs.values():
            pack.close()
        self._packs.clear()
        self._order.clear()


def _with_alternates(objects: Path, depth: int) -> list[Path]:
    found = [objects]
    try:
        text = (objects / "info" / "alternates").read_text(errors="surrogateescape")
    except OSError:
        return found
    for line in text.splitlines():
        if depth and line and not line.startswith("#"):
            found += _with_alternates((objects / line).resolve(), depth - 1)
    return list(dict.fromkeys(found))
