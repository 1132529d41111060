"""A small pack read from beginning to end, entry by entry, to be put together with others."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import NamedTuple

from trialbook.storage.files import read_regular
from trialbook.storage.repository import apply_delta

_INDEX_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_NAMES_AT = 8 + 256 * 4
_ID = 20
_TRAILER = 20
_OFFSET_DELTA = 6
_PLAIN = range(1, 5)


class Part(NamedTuple):
    """One entry as it stands in a pack.

    ``kind`` is 1 commit, 2 tree, 3 blob, 4 tag. If it is a delta, ``base`` is the offset of what it
    stands on. ``size`` is that of the inflated bytes, which begin at ``at``.
    """

    oid: bytes
    offset: int
    end: int
    kind: int
    base: int | None
    size: int
    at: int


class PackSource:
    """A pack in memory, with every entry checked against the checksum that its index has.

    Raises:
        ValueError: it is damaged, or not as `PackWriter` writes packs.
    """

    def __init__(self, pack: Path) -> None:
        self._data = read_regular(pack) or b""
        index = read_regular(pack.with_suffix(".idx")) or b""
        if not index.startswith(_INDEX_MAGIC) or not self._data.startswith(b"PACK"):
            raise ValueError(f"{pack.name} cannot be read")
        self._by_offset: dict[int, Part] = {}
        try:
            self._take_in(index)
        except (IndexError, KeyError, struct.error) as error:
            raise ValueError(f"{pack.name} is not put together as it should be") from error
        self.parts = list(self._by_offset.values())

    def deflated(self, part: Part) -> bytes:
        """The entry's bytes as they are deflated there."""
        return self._data[part.at : part.end]

    def base_of(self, part: Part) -> bytes | None:
        """The id of what an entry is a delta on, or None if it is none."""
        return None if part.base is None else self._by_offset[part.base].oid

    def read(self, part: Part) -> tuple[int, bytes]:
        """Kind and bytes of an object.

        Raises:
            ValueError, zlib.error: it is damaged.
        """
        deltas: list[bytes] = []
        while part.base is not None:
            deltas.append(zlib.decompress(self.deflated(part)))
            part = self._by_offset[part.base]
        data = zlib.decompress(self.deflated(part))
        while deltas:
            data = b"".join(apply_delta(data, deltas.pop()))
        return part.kind, data

    def heights(self) -> dict[int, int]:
        """By offset: how many deltas stand on an entry, one on the other."""
        found: dict[int, int] = {}
        for part in reversed(self.parts):
            if part.base is not None:
                below = found.get(part.base, 0)
                found[part.base] = max(below, found.get(part.offset, 0) + 1)
        return found

    def _take_in(self, index: bytes) -> None:
        (count,) = struct.unpack_from(">I", index, _NAMES_AT - 4)
        sums_at = _NAMES_AT + count * _ID
        sums = struct.unpack_from(f">{count}I", index, sums_at)
        offsets = struct.unpack_from(f">{count}I", index, sums_at + count * 4)
        order = sorted(range(count), key=offsets.__getitem__)
        ends = [offsets[place] for place in order[1:]] + [len(self._data) - _TRAILER]
        for place, end in zip(order, ends, strict=True):
            offset = offsets[place]
            if zlib.crc32(self._data[offset:end]) != sums[place]:
                raise ValueError(f"the entry at {offset} is damaged")
            name = _NAMES_AT + place * _ID
            self._by_offset[offset] = self._part(index[name : name + _ID], offset, end)

    def _part(self, oid: bytes, offset: int, end: int) -> Part:
        at = offset
        byte = self._data[at]
        kind, size, shift = byte >> 4 & 7, byte & 15, 4
        while byte & 0x80:
            at += 1
            byte = self._data[at]
            size |= (byte & 0x7F) << shift
            shift += 7
        at += 1
        base = None
        if kind == _OFFSET_DELTA:
            byte = self._data[at]
            back = byte & 0x7F
            while byte & 0x80:
                at += 1
                byte = self._data[at]
                back = (back + 1 << 7) | byte & 0x7F
            at += 1
            base = offset - back
            kind = self._by_offset[base].kind
        elif kind not in _PLAIN:
            raise ValueError(f"the entry at {offset} is of a kind that is not written here")
        return Part(oid, offset, end, kind, base, size, at)
