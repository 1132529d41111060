"""Git's packs, read: where an object lies in one, and its bytes with all deltas applied.

Nothing is checked here but form: whether an object is what its id says is the caller's to check.
"""

from __future__ import annotations

import mmap
import struct
import zlib
from pathlib import Path

from trialbook.storage.repository import apply_delta

__all__ = ["Bases", "Pack"]

_INDEX_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_NAMES_AT = 8 + 256 * 4
_PACK_MAGIC = b"PACK\x00\x00\x00\x02"
_ID = 20
_LARGE = 0x80000000
_OFFSET_DELTA = 6
_REFERENCE_DELTA = 7
_LAST_WHOLE = 4
_ASKED_OFTEN = 16
_NEAR = 48
_LARGEST_GUESS = 1 << 20
_BASES_BYTES = 24 << 20
_KEPT_BASE_BYTES = 1 << 20

_decompress = zlib.decompress
_word = struct.Struct(">I").unpack_from
_double = struct.Struct(">Q").unpack_from


class Bases:
    """Objects that deltas were applied to, kept because the next delta often wants the same one.

    Known by the number of the pack and the offset in it.
    """

    def __init__(self) -> None:
        self._young: dict[tuple[int, int], tuple[int, bytes]] = {}
        self._old: dict[tuple[int, int], tuple[int, bytes]] = {}
        self._bytes = 0

    def get(self, key: tuple[int, int]) -> tuple[int, bytes] | None:
        """Kind and bytes of what was kept."""
        return self._young.get(key) or self._old.get(key)

    def keep(self, key: tuple[int, int], kind: int, data: bytes) -> None:
        """Keep an object; what was kept longest goes when there are too many bytes."""
        if len(data) > _KEPT_BASE_BYTES:
            return
        if self._bytes > _BASES_BYTES:
            self._old, self._young, self._bytes = self._young, {}, 0
        self._young[key] = kind, data
        self._bytes += len(data)


class Pack:
    """One pack and its index.

    Raises:
        ValueError: a file of it is not one of git's version 2.
        OSError: a file of it cannot be read.
    """

    def __init__(self, index: Path, number: int, bases: Bases) -> None:
        self._number = number
        self._bases = bases
        self._index = _mapped(index, _INDEX_MAGIC)
        self._data = _mapped(index.with_suffix(".pack"), _PACK_MAGIC)
        self._view = memoryview(self._data)
        self._known: list[dict[bytes, int] | None] = [None] * 256
        self._asked = [0] * 256
        counts = struct.unpack_from(">256I", self._index, 8)
        self._fanout = (0, *counts)
        self._count: int = counts[255]
        self._offsets_at = _NAMES_AT + self._count * (_ID + 4)
        if len(self._index) < self._offsets_at + self._count * 4:
            raise ValueError(f"{index.name} ends too early")

    @property
    def size(self) -> int:
        """How many objects it has."""
        return self._count

    def get(self, oid: bytes) -> tuple[int, bytes] | None:
        """Kind (1 commit, 2 tree, 3 blob, 4 tag) and bytes of an object by its id, or None.

        Raises:
            ValueError, IndexError, zlib.error: the pack is damaged there.
        """
        known = self._known[oid[0]]
        at = self.find(oid) if known is None else known.get(oid)
        if at is None:
            return None
        pack = self._data
        byte = pack[at]
        kind, size, shift = byte >> 4 & 7, byte & 15, 4
        if kind <= _LAST_WHOLE:
            # Most objects by far: no delta, nothing to look up, nothing to keep.
            at += 1
            while byte & 0x80:
                byte = pack[at]
                at += 1
                size |= (byte & 0x7F) << shift
                shift += 7
            data = _decompress(self._view[at:], bufsize=min(size, _LARGEST_GUESS) or 1)
            if len(data) != size:
                raise ValueError("it has another size than its pack says")
            return kind, data
        return self._read(at)

    def find(self, oid: bytes) -> int | None:
        """The offset of an object by its 20 bytes of id, or None."""
        first = oid[0]
        known = self._known[first]
        if known is not None:
            return known.get(oid)
        low, high = self._fanout[first], self._fanout[first + 1]
        self._asked[first] += 1
        if self._asked[first] * _ASKED_OFTEN > high - low:
            # So many are wanted that it pays to unpack this part of the index.
            self._known[first] = known = self._unpacked(low, high)
            return known.get(oid)
        # Ids are spread evenly: look where this one should be, and around it.
        guess = low + ((high - low) * (oid[1] << 8 | oid[2]) >> 16)
        start = _NAMES_AT + max(low, guess - _NEAR) * _ID
        found = self._index.find(oid, start, _NAMES_AT + min(high, guess + _NEAR) * _ID)
        at, rest = divmod(found - _NAMES_AT, _ID)
        if found < 0 or rest:
            slow = self._within(oid, low, high)
            if slow is None:
                return None
            at = slow
        return self._offset(_word(self._index, self._offsets_at + at * 4)[0])

    def _unpacked(self, low: int, high: int) -> dict[bytes, int]:
        """The offsets of the objects in a part of the index."""
        names = self._index[_NAMES_AT + low * _ID : _NAMES_AT + high * _ID]
        offsets = struct.unpack_from(f">{high - low}I", self._index, self._offsets_at + low * 4)
        return {
            names[at * _ID : at * _ID + _ID]: self._offset(offset)
            for at, offset in enumerate(offsets)
        }

    def _offset(self, offset: int) -> int:
        if offset & _LARGE:
            table = self._offsets_at + self._count * 4
            offset = _double(self._index, table + (offset - _LARGE) * 8)[0]
        return offset

    def _within(self, oid: bytes, start: int, end: int) -> int | None:
        at, limit = _NAMES_AT + start * _ID, _NAMES_AT + end * _ID
        while (at := self._index.find(oid, at, limit)) >= 0:
            place, rest = divmod(at - _NAMES_AT, _ID)
            if not rest:
                return place
            at += 1
        return None

    def _read(self, offset: int) -> tuple[int, bytes]:
        deltas: list[tuple[int, bytes]] = []
        while (known := self._bases.get((self._number, offset))) is None:
            kind, base, data = self._entry(offset)
            if base is None:
                known = kind, data
                if deltas:
                    self._bases.keep((self._number, offset), kind, data)
                break
            if len(deltas) > self._count:
                raise ValueError("its deltas go in a circle")
            deltas.append((offset, data))
            offset = base
        kind, data = known
        while deltas:
            place, delta = deltas.pop()
            data = b"".join(apply_delta(data, delta))
            self._bases.keep((self._number, place), kind, data)
        return kind, data

    def _entry(self, offset: int) -> tuple[int, int | None, bytes]:
        """Kind, offset of the delta's base if it is a delta, and the bytes as they stand there."""
        pack, at = self._data, offset
        byte = pack[at]
        kind, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & 0x80:
            at += 1
            byte = pack[at]
            size |= (byte & 0x7F) << shift
            shift += 7
        at += 1
        base = None
        if kind == _OFFSET_DELTA:
            back, at = self._back(at)
            base = offset - back
        elif kind == _REFERENCE_DELTA:
            base = self.find(pack[at : at + _ID])
            at += _ID
            if base is None:
                raise ValueError("the base of its delta is not in the pack")
        data = zlib.decompress(self._view[at:], bufsize=min(size, _LARGEST_GUESS) or 1)
        if len(data) != size:
            raise ValueError("it has another size than its pack says")
        return kind, base, data

    def _back(self, at: int) -> tuple[int, int]:
        byte = self._data[at]
        value = byte & 0x7F
        while byte & 0x80:
            at += 1
            byte = self._data[at]
            value = (value + 1 << 7) | byte & 0x7F
        if not value:
            raise ValueError("a delta names itself as its base")
        return value, at + 1

    def close(self) -> None:
        """Free the files."""
        self._view.release()
        self._data.close()
        self._index.close()


def _mapped(path: Path, magic: bytes) -> mmap.mmap:
    with path.open("rb") as file:
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    if data[: len(magic)] != magic:
        data.close()
        raise ValueError(f"{path.name} is not of a kind that can be read")
    return data
