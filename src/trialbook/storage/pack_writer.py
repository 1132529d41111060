"""A git pack and its index, written: deltas against what is alike and stands before.

The pack is built under a temporary name that git clears away by itself, and appears whole: first
the pack, then its index, without which nobody looks at it.
"""

from __future__ import annotations

import hashlib
import itertools
import os
import struct
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from trialbook.storage.delta import make_delta

DEEPEST = 50
"""How many deltas may have to be applied for one object; git's own limit."""

_TREE = 2
_OFFSET_DELTA = 6
_LARGEST_BASE = 1 << 20
# Where so many deltas in a row were of no use, only now and then another one is tried.
_PATIENCE, _AGAIN = 8, 32
_LARGE_OFFSET = 0x80000000
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_counter = itertools.count()


class Likeness(NamedTuple):
    """What an object is likely to resemble: the one before it at the same place, or of its class.

    Both are 32 bits of a checksum, and equal for what is only ever at its place once.
    """

    place: int
    kind: int


@dataclass(slots=True)
class _Base:
    """An object of this pack that a delta can stand on; ``read`` gives its bytes."""

    offset: int
    depth: int
    kind: int
    read: Callable[[], bytes]


class PackWriter:
    """One pack of exactly ``count`` objects, in a ``pack`` folder.

    Args:
        folder: The ``pack`` folder.
        count: How many objects will be added.
        share: Widens the permissions of what is made, as the repository wants them.
        level: How hard to compress, 1 (quick) to 9; by default zlib's own.
    """

    def __init__(
        self, folder: Path, count: int, share: Callable[[Path], None], *, level: int = -1
    ) -> None:
        self._folder = folder
        self._level = level
        self._share = share
        self._count = count
        self._temporary = folder / f"tmp_pack_{os.getpid()}_{next(_counter)}"
        self._file = os.fdopen(os.open(self._temporary, _NEW, 0o444), "wb")
        self._digest = hashlib.sha1(usedforsecurity=False)
        self._at = 0
        self._entries: list[tuple[bytes, int, int]] = []
        self._placed: dict[bytes, tuple[int, int]] = {}
        self._last: dict[int, _Base] = {}
        self._first: dict[int, _Base] = {}
        self._failed: dict[int, int] = {}
        self.likenesses: list[Likeness] = []
        self._put(b"PACK" + struct.pack(">II", 2, count))

    def __contains__(self, oid: bytes) -> bool:
        return oid in self._placed

    def depth(self, oid: bytes) -> int:
        """How many deltas stand below an object that was added."""
        return self._placed[oid][1]

    def add(self, oid: bytes, kind: int, data: bytes, like: Likeness, *, above: int = 0) -> None:
        """Add an object, as a delta if there is something like it.

        ``above`` is how many deltas will stand on it, one on the other.
        """
        offset = self._at
        depth = 0
        base, delta = self._delta(kind, data, like, DEEPEST - 1 - above)
        if base is not None:
            depth = base.depth + 1
            back = _back(offset - base.offset)
            self._entry(oid, _head(_OFFSET_DELTA, len(delta)) + back + self._deflated(delta), depth)
        else:
            self._entry(oid, _head(kind, len(data)) + self._deflated(data), depth)
        self.likenesses.append(like)
        if len(data) <= _LARGEST_BASE:
            self._known(_Base(offset, depth, kind, lambda: data), like)

    def copy(self, oid: bytes, base: bytes, delta: Delta) -> None:
        """Add an object as the delta it already is, on an object that was added before."""
        offset = self._at
        base_offset, base_depth = self._placed[base]
        start = _head(_OFFSET_DELTA, delta.size) + _back(offset - base_offset)
        self._entry(oid, start + delta.deflated, base_depth + 1)
        self.likenesses.append(delta.like)
        self._known(_Base(offset, base_depth + 1, delta.kind, delta.read), delta.like)

    @property
    def name(self) -> str:
        """What pack and index will be called, without the ending, if nothing more is added."""
        return f"pack-{self._digest.hexdigest()}"

    def finish(self, *, durable: bool) -> None:
        """Put pack and index in place. With ``durable`` both are on the disk when this returns."""
        if len(self._entries) != self._count:
            raise ValueError(f"{len(self._entries)} objects instead of {self._count}")
        name, checksum = self.name, self._digest.digest()
        self._file.write(checksum)
        self._close(durable=durable)
        index = self._temporary.with_name(self._temporary.name.replace("pack", "idx"))
        try:
            with os.fdopen(os.open(index, _NEW, 0o444), "wb") as file:
                file.write(index_bytes(self._entries, checksum))
                if durable:
                    file.flush()
                    os.fsync(file.fileno())
            self._share(self._temporary)
            self._share(index)
            self._temporary.replace(self._folder / f"{name}.pack")
            index.replace(self._folder / f"{name}.idx")
        except BaseException:
            index.unlink(missing_ok=True)
            raise
        if durable:
            _sync_folder(self._folder)

    def abandon(self) -> None:
        """Leave nothing behind."""
        with suppress(OSError):
            self._file.close()
        with suppress(OSError):
            self._temporary.unlink(missing_ok=True)

    def _delta(
        self, kind: int, data: bytes, like: Likeness, deepest: int
    ) -> tuple[_Base | None, bytes]:
        for key in dict.fromkeys(like):
            base = self._last.get(key)
            if base is not None and base.depth > deepest:
                base = self._first[key]
            if base is None or base.depth > deepest or base.kind != kind:
                continue
            failed = self._failed.get(key, 0)
            self._failed[key] = failed + 1
            if failed >= _PATIENCE and failed % _AGAIN:
                continue
            delta = make_delta(base.read(), data, lines=kind != _TREE)
            if delta is not None:
                self._failed[key] = 0
                return base, delta
        return None, b""

    def _known(self, base: _Base, like: Likeness) -> None:
        for key in like:
            self._last[key] = base
            if base.depth < self._first.setdefault(key, base).depth:
                self._first[key] = base

    def _entry(self, oid: bytes, raw: bytes, depth: int) -> None:
        self._entries.append((oid, zlib.crc32(raw), self._at))
        self._placed[oid] = self._at, depth
        self._put(raw)

    def _deflated(self, data: bytes) -> bytes:
        return zlib.compress(data, self._level)

    def _put(self, raw: bytes) -> None:
        self._file.write(raw)
        self._digest.update(raw)
        self._at += len(raw)

    def _close(self, *, durable: bool) -> None:
        self._file.flush()
        if durable:
            os.fsync(self._file.fileno())
        self._file.close()


class Delta(NamedTuple):
    """An object as it stands in another pack: the size of its delta and that, deflated.

    ``read`` gives the object itself.
    """

    kind: int
    size: int
    deflated: bytes
    like: Likeness
    read: Callable[[], bytes]


def index_bytes(entries: list[tuple[bytes, int, int]], checksum: bytes) -> bytes:
    """A pack's index, version 2, from id, checksum and offset of each object."""
    ordered = sorted(entries)
    counts = [0] * 256
    for oid, _, _ in ordered:
        counts[oid[0]] += 1
    far: list[int] = []
    offsets = []
    for _, _, offset in ordered:
        if offset < _LARGE_OFFSET:
            offsets.append(offset)
        else:
            offsets.append(_LARGE_OFFSET | len(far))
            far.append(offset)
    many = len(ordered)
    raw = b"".join(
        (
            b"\xfftOc\x00\x00\x00\x02",
            struct.pack(">256I", *itertools.accumulate(counts)),
            b"".join(oid for oid, _, _ in ordered),
            struct.pack(f">{many}I", *(crc for _, crc, _ in ordered)),
            struct.pack(f">{many}I", *offsets),
            struct.pack(f">{len(far)}Q", *far),
            checksum,
        )
    )
    return raw + hashlib.sha1(raw, usedforsecurity=False).digest()


def _head(kind: int, size: int) -> bytes:
    out = bytearray()
    byte = kind << 4 | size & 15
    size >>= 4
    while size:
        out.append(byte | 0x80)
        byte = size & 0x7F
        size >>= 7
    out.append(byte)
    return bytes(out)


def _back(distance: int) -> bytes:
    out = [distance & 0x7F]
    while distance := distance >> 7:
        distance -= 1
        out.append(distance & 0x7F | 0x80)
    return bytes(reversed(out))


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
