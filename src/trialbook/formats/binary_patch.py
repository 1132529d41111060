"""The binary half of git's patches: base 85, zlib and deltas, read and bounded.

Sizes are checked before memory is used: a few bytes of a patch cannot ask for gigabytes.
"""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Callable
from dataclasses import dataclass

from trialbook.errors import Refused

LARGEST_BYTES = 1 << 30
"""No file of a patch may become larger than this."""

_PART = re.compile(rb"(literal|delta) (\d{1,12})\Z")
_OFFSET_BITS = (1, 2, 4, 8)
_SIZE_BITS = (16, 32, 64)
_COPY = 0x80
_DEFAULT_COPY = 0x10000


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One direction of a binary patch: the new bytes whole (``literal``), or a delta to them.

    ``size`` is the number of bytes after unpacking.
    """

    delta: bool
    size: int
    packed: bytes

    def unpack(self) -> bytes:
        """The bytes that were packed.

        Raises:
            Refused: they are damaged, or not as many as announced.
        """
        if self.size > LARGEST_BYTES:
            raise Refused(f"a binary part of {self.size} bytes is more than a patch may hold")
        stream = zlib.decompressobj()
        try:
            data = stream.decompress(self.packed, self.size + 1)
        except zlib.error as error:
            raise Refused(f"a binary part is damaged: {error}") from error
        if len(data) != self.size or not (stream.eof or self._ends(stream)):
            raise Refused(f"a binary part does not have the {self.size} bytes that it announces")
        return data

    def added(self) -> bytes:
        """The bytes of the new file that the patch itself holds.

        Of a delta, those that do not come from the old file; where some do, a zero byte stands.

        Raises:
            Refused: they are damaged.
        """
        data = self.unpack()
        return _added(data) if self.delta else data

    @staticmethod
    def _ends(stream: zlib._Decompress) -> bool:
        # All bytes are out, the checksum at the end may still be unread.
        return not stream.decompress(stream.unconsumed_tail, 1) and stream.eof


@dataclass(frozen=True, slots=True, kw_only=True)
class Binary:
    """A binary patch: forward, and backward if it has that half too."""

    forward: Part
    backward: Part | None = None

    def apply(self, old: bytes) -> bytes:
        """The bytes of the new file.

        Raises:
            Refused: the patch is damaged, or made for other bytes.
        """
        data = self.forward.unpack()
        return apply_delta(old, data) if self.forward.delta else data


def parse_binary(
    take: Callable[[], bytes],
    peek: Callable[[], bytes | None],
    refusal: Callable[[str], Refused],
) -> Binary:
    """Read what follows a line ``GIT binary patch``, by way of a reader of lines."""
    forward = _parse_part(take, peek, refusal)
    following = peek()
    has_backward = following is not None and _PART.match(following) is not None
    backward = _parse_part(take, peek, refusal) if has_backward else None
    return Binary(forward=forward, backward=backward)


def _parse_part(
    take: Callable[[], bytes],
    peek: Callable[[], bytes | None],
    refusal: Callable[[str], Refused],
) -> Part:
    match = _PART.match(take())
    if match is None:
        raise refusal("a binary part begins with neither `literal` nor `delta`")
    packed = []
    while line := peek():
        take()
        try:
            packed.append(_decode_line(line))
        except ValueError:
            raise refusal("a line of a binary part is not base 85") from None
    if peek() is None:
        raise refusal("a binary part has no end")
    take()
    return Part(delta=match.group(1) == b"delta", size=int(match.group(2)), packed=b"".join(packed))


def _decode_line(line: bytes) -> bytes:
    letter = line[:1]
    if letter.isupper():
        length = ord(letter) - ord("A") + 1
    elif letter.islower():
        length = ord(letter) - ord("a") + 27
    else:
        raise ValueError("no length")
    data = base64.b85decode(line[1:])
    if not length <= len(data) < length + 4 or len(line) % 5 != 1:
        raise ValueError("wrong length")
    return data[:length]


def apply_delta(base: bytes, delta: bytes) -> bytes:
    """Make the bytes that a git delta describes.

    Raises:
        Refused: it is damaged, or made for another base.
    """
    try:
        base_size, at = _number(delta, 0)
        size, at = _number(delta, at)
        if base_size != len(base):
            raise Refused("a binary delta was made for a file of another size")
        if size > LARGEST_BYTES:
            raise Refused(f"a binary delta asks for {size} bytes, more than a patch may hold")
        return _run_delta(base, delta, at, size)
    except IndexError:
        raise Refused("a binary delta ends too early") from None


def _run_delta(base: bytes, delta: bytes, at: int, size: int) -> bytes:
    out = bytearray()
    while at < len(delta):
        code = delta[at]
        at += 1
        if code & _COPY:
            offset, at = _fields(delta, at, code, _OFFSET_BITS)
            length, at = _fields(delta, at, code, _SIZE_BITS)
            length = length or _DEFAULT_COPY
            piece = base[offset : offset + length]
        else:
            length = code
            piece = delta[at : at + length]
            at += length
        if not length or len(piece) != length or len(out) + length > size:
            raise Refused("a binary delta reaches outside of its file")
        out += piece
    if len(out) != size:
        raise Refused("a binary delta does not give as many bytes as it announces")
    return bytes(out)


def _added(delta: bytes) -> bytes:
    out = bytearray()
    try:
        _, at = _number(delta, 0)
        _, at = _number(delta, at)
        while at < len(delta):
            code = delta[at]
            at += 1
            if code & _COPY:
                _, at = _fields(delta, at, code, _OFFSET_BITS)
                _, at = _fields(delta, at, code, _SIZE_BITS)
                out += b"\0"
            else:
                out += delta[at : at + code]
                at += code
    except IndexError:
        raise Refused("a binary delta ends too early") from None
    return bytes(out)


def _number(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if not byte & 0x80:
            return value, at


def _fields(data: bytes, at: int, code: int, bits: tuple[int, ...]) -> tuple[int, int]:
    value = 0
    for position, bit in enumerate(bits):
        if code & bit:
            value |= data[at] << (8 * position)
            at += 1
    return value, at
