"""Bytes from one connection to another: whole streams, and bodies of messages, never more."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Callable, Coroutine
from dataclasses import dataclass

from trialbook.egress.head import BadHead, Body

_PIECE = 1 << 16
_CHUNK_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;[\t\x20-\x7e\x80-\xff]*)?\r\n")
_MOST_TRAILERS = 100

Count = Callable[[int], None]


class Idle(Exception):
    """Nothing was sent either way for too long."""


@dataclass(frozen=True, slots=True)
class Connection:
    """Both directions of a connection."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter

    def __post_init__(self) -> None:
        # To drain is to hand everything to the system: what ends afterwards loses nothing.
        self.writer.transport.set_write_buffer_limits(high=0)

    def end(self) -> None:
        """End it at once; what it was still going to send is dropped."""
        self.writer.transport.abort()

    async def close(self, seconds: float) -> None:
        """End it politely: what was written arrives, even while the other side still sends."""
        with contextlib.suppress(OSError, asyncio.TimeoutError):
            async with asyncio.timeout(seconds):
                await self.writer.drain()
                if self.writer.can_write_eof():
                    self.writer.write_eof()
                while await self.reader.read(_PIECE):
                    pass
        self.end()


class Pace:
    """Knows when something was last sent either way between two connections.

    Args:
        seconds: How long nothing may be sent.
        half_seconds: The same, once one side has said all it had to say.
    """

    def __init__(self, seconds: float, half_seconds: float) -> None:
        self._seconds = seconds
        self._half_seconds = half_seconds
        self._last = _clock()

    def half(self) -> None:
        """One side has ended."""
        self._seconds = min(self._seconds, self._half_seconds)
        self.touch()

    def touch(self) -> None:
        """Something was sent."""
        self._last = _clock()

    async def watch(self) -> None:
        """Return never.

        Raises:
            Idle: nothing was sent for too long.
        """
        while (left := self._last + self._seconds - _clock()) > 0:  # noqa: ASYNC110 - time passes
            await asyncio.sleep(min(left, self._half_seconds))
        raise Idle("nothing was sent for too long")


async def pump(source: Connection, target: Connection, pace: Pace, count: Count) -> None:
    """Pass on everything until the source ends, and then that it has ended."""
    while data := await source.reader.read(_PIECE):
        await send(target, data, pace, count)
    pace.half()
    if target.writer.can_write_eof():
        target.writer.write_eof()


async def pass_body(
    source: Connection, target: Connection, body: Body, pace: Pace, count: Count
) -> None:
    """Pass on one body, chunks written anew, and not a byte of what comes after it.

    Raises:
        BadHead: its chunks are malformed.
        asyncio.IncompleteReadError: it ends too early.
    """
    if not body.chunked:
        await _exactly(source, target, body.length, pace, count)
        return
    while size := await _chunk_size(source.reader):
        await send(target, b"%x\r\n" % size, pace, count)
        await _exactly(source, target, size, pace, count)
        if await source.reader.readexactly(2) != b"\r\n":
            raise BadHead("a chunk has no end")
        await send(target, b"\r\n", pace, count)
    for _ in range(_MOST_TRAILERS):
        if await source.reader.readuntil(b"\r\n") == b"\r\n":
            break
    else:
        raise BadHead("there are too many fields")
    await send(target, b"0\r\n\r\n", pace, count)


async def together(pace: Pace, *works: Coroutine[object, object, None]) -> None:
    """Do some things at once until all are done; the first that fails ends the others.

    Raises:
        Idle: nothing was sent for too long.
    """
    tasks = [asyncio.create_task(work) for work in works]
    watch = asyncio.ensure_future(pace.watch())
    every = asyncio.gather(*tasks)
    try:
        done, _ = await asyncio.wait((every, watch), return_when=asyncio.FIRST_COMPLETED)
        for one in done:
            await one
    finally:
        for task in (*tasks, watch):
            task.cancel()
        await asyncio.gather(*tasks, every, watch, return_exceptions=True)


async def _exactly(
    source: Connection, target: Connection, size: int, pace: Pace, count: Count
) -> None:
    while size > 0:
        data = await source.reader.read(min(size, _PIECE))
        if not data:
            raise asyncio.IncompleteReadError(b"", size)
        size -= len(data)
        await send(target, data, pace, count)


async def send(target: Connection, data: bytes, pace: Pace, count: Count) -> None:
    """Pass on some bytes, as fast as the target takes them."""
    pace.touch()
    target.writer.write(data)
    count(len(data))
    await target.writer.drain()
    pace.touch()


async def _chunk_size(reader: asyncio.StreamReader) -> int:
    found = _CHUNK_SIZE.fullmatch(await reader.readuntil(b"\r\n"))
    if found is None:
        raise BadHead("a chunk's size is malformed")
    return int(found[1], 16)


def _clock() -> float:
    return asyncio.get_running_loop().time()
