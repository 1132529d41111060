"""Git's deltas, written: a text as copies from one like it and what is new.

Made for what a ledger holds: trees that differ in one entry, and records of many lines that differ
in a few. It looks for a common beginning, a common end, and equal lines in between, no more.
"""

from __future__ import annotations

import struct
from itertools import accumulate, groupby
from operator import eq

_SMALLEST = 40
_LARGEST = 1 << 20
_LONGEST_COPY = 0xFFFF
_LONGEST_INSERT = 0x7F
_SHORTEST_LINE = 7
_FEW_LINES = 4
_BLOCK = 1024
_NEAR = struct.Struct("<BHH").pack
_FAR = struct.Struct("<BIH").pack


def make_delta(base: bytes, target: bytes, *, lines: bool) -> bytes | None:
    """The delta that makes ``target`` from ``base``; None if it would save less than a half.

    Args:
        base: What the reader has.
        target: What it wants.
        lines: Whether to look for equal lines, which only text has.
    """
    if not _SMALLEST <= len(target) <= _LARGEST or not base or len(base) > _LARGEST:
        return None
    old = base.splitlines(keepends=True) if lines else []
    ops = _by_ends(base, target) if len(old) < _FEW_LINES else _by_lines(base, old, target)
    delta = _encoded(len(base), len(target), ops)
    return delta if len(delta) * 2 < len(target) else None


def _common_start(one: bytes, other: bytes) -> int:
    limit = min(len(one), len(other))
    at = 0
    while at < limit and one[at : at + _BLOCK] == other[at : at + _BLOCK]:
        at += _BLOCK
    if at >= limit:
        return limit
    step = _BLOCK
    while step := step // 2:
        if one[at : at + step] == other[at : at + step]:
            at += step
    return min(at, limit)


def _common_end(one: bytes, other: bytes, limit: int) -> int:
    """How many bytes at the ends are the same, at most ``limit``."""
    a, b = len(one), len(other)
    at = 0
    while (
        at < limit
        and one[max(a - at - _BLOCK, 0) : a - at] == other[max(b - at - _BLOCK, 0) : b - at]
    ):
        at += _BLOCK
    step = _BLOCK
    while step := step // 2:
        if at + step <= limit and one[a - at - step : a - at] == other[b - at - step : b - at]:
            at += step
    return min(at, limit)


def _by_ends(base: bytes, target: bytes) -> list[tuple[int, int] | bytes]:
    head = _common_start(base, target)
    tail = _common_end(base, target, min(len(base), len(target)) - head)
    ops: list[tuple[int, int] | bytes] = []
    if head:
        ops.append((0, head))
    if middle := target[head : len(target) - tail]:
        ops.append(middle)
    if tail:
        ops.append((len(base) - tail, tail))
    return ops


def _by_lines(base: bytes, old: list[bytes], target: bytes) -> list[tuple[int, int] | bytes]:
    new = target.splitlines(keepends=True)
    places = list(accumulate(map(len, old), initial=0))
    if len(old) == len(new):
        return _aligned(old, new, places)
    return _scattered(base, new, dict(zip(old, places, strict=False)))


def _aligned(
    old: list[bytes], new: list[bytes], places: list[int]
) -> list[tuple[int, int] | bytes]:
    """For records of one form: line by line, each with the one at its own place."""
    ops: list[tuple[int, int] | bytes] = []
    at = 0
    for same, run in groupby(map(eq, old, new)):
        after = at + len(list(run))
        if same:
            ops.append((places[at], places[after] - places[at]))
        else:
            ops.append(b"".join(new[at:after]))
        at = after
    return ops


def _scattered(
    base: bytes, lines: list[bytes], places: dict[bytes, int]
) -> list[tuple[int, int] | bytes]:
    """For everything else: each line with an equal one wherever that is."""
    ops: list[tuple[int, int] | bytes] = []
    new: list[bytes] = []
    copied = length = 0
    for line in lines:
        size = len(line)
        if length and base.startswith(line, copied + length):
            length += size
            continue
        found = places.get(line) if size >= _SHORTEST_LINE else None
        if length:
            ops.append((copied, length))
            length = 0
        if found is None:
            new.append(line)
            continue
        if new:
            ops.append(b"".join(new))
            new = []
        copied, length = found, size
    if new:
        ops.append(b"".join(new))
    if length:
        ops.append((copied, length))
    return ops


def _encoded(base: int, target: int, ops: list[tuple[int, int] | bytes]) -> bytes:
    out = bytearray(_size(base) + _size(target))
    for op in ops:
        if isinstance(op, bytes):
            for at in range(0, len(op), _LONGEST_INSERT):
                part = op[at : at + _LONGEST_INSERT]
                out.append(len(part))
                out += part
        else:
            offset, length = op
            while length:
                part_length = min(length, _LONGEST_COPY)
                out += _copy(offset, part_length)
                offset += part_length
                length -= part_length
    return bytes(out)


def _copy(offset: int, length: int) -> bytes:
    # Bytes that are zero could be left out; deflated they take next to nothing.
    return _NEAR(0xB3, offset, length) if offset <= _LONGEST_COPY else _FAR(0xBF, offset, length)


def _size(value: int) -> bytes:
    out = bytearray()
    while rest := value >> 7:
        out.append(value & 0x7F | 0x80)
        value = rest
    out.append(value)
    return bytes(out)
