"""Objects of a repository read fast, in bulk, each one checked against its name.

For the verification of whole ledgers: it reads every object there is, once, and believes none.
Object ids are 40 hexadecimal digits as ``bytes`` here, the way trees are parsed.
"""

from __future__ import annotations

import hashlib
import zlib
from binascii import unhexlify
from pathlib import Path

from trialbook.errors import TrialbookError
from trialbook.storage.packs import Bases, Pack
from trialbook.storage.repository import parse_tree

COMMIT, TREE, BLOB = 1, 2, 3
_KINDS = {1: b"commit", 2: b"tree", 3: b"blob", 4: b"tag"}
_NUMBERS = {name: number for number, name in _KINDS.items()}
_BAD = (ValueError, IndexError, zlib.error, KeyError, AssertionError, OSError)
_ALTERNATES_DEPTH = 5

Entry = tuple[bytes, int, bytes]
"""One entry of a tree: name, mode, id."""


class MissingObject(TrialbookError):
    """An object that is referred to and is not there."""


class DamagedObject(TrialbookError):
    """An object that cannot be read, or is not what its name says."""


class RawObjects:
    """The objects of one repository, alternates included. One per thread.

    ``count`` is how many were read. Contents are not kept, but for bases of deltas.
    """

    def __init__(self, objects: Path) -> None:
        self._folders = _with_alternates(objects, _ALTERNATES_DEPTH)
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
        name = unhexlify(oid)
        try:
            number, data = self._find(name, oid)
        except _BAD as error:
            raise DamagedObject(f"cannot be read: {error}") from error
        self.count += 1
        head = b"%b %d\0" % (_KINDS.get(number, b"?"), len(data))
        if hashlib.sha1(head + data, usedforsecurity=False).digest() != name:
            raise DamagedObject("its bytes hash to another name")
        if number != kind:
            raise DamagedObject(
                f"is a {_KINDS[number].decode()} where a {_KINDS[kind].decode()} is named"
            )
        return data

    def tree(self, oid: bytes) -> list[Entry]:
        """The entries of a tree.

        Raises:
            MissingObject, DamagedObject: as `read`.
        """
        data = self.read(oid, TREE)
        try:
            entries: list[Entry] = parse_tree(data, 20)  # type: ignore[assignment]
        except _BAD as error:
            raise DamagedObject(f"is no tree: {error}") from error
        return entries

    def _find(self, name: bytes, oid: bytes) -> tuple[int, bytes]:
        packed = self._packed(name)
        if packed is not None:
            return packed
        loose = self._loose(oid)
        if loose is not None:
            return loose
        # Somebody may have packed it in the meantime.
        self._scan()
        packed = self._packed(name)
        if packed is None:
            raise MissingObject("is not there")
        return packed

    def _packed(self, name: bytes) -> tuple[int, bytes] | None:
        order = self._order
        for place, pack in enumerate(order):
            offset = pack.find(name)
            if offset is not None:
                if place:
                    # The next object is likely to be in the same pack.
                    order.insert(0, order.pop(place))
                return pack.read(offset)
        return None

    def _loose(self, oid: bytes) -> tuple[int, bytes] | None:
        text = oid.decode("ascii")
        for folder in self._folders:
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
        for folder in self._folders:
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
