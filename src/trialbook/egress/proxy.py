"""The proxy of one trial: what its sandbox asks for is judged, resolved once, and passed on or not.

Every connection brings one request and is closed after it, so that each is judged by itself. The
address that was judged is the one that is connected to: a name is never looked up twice.
"""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import re
import socket
import threading
import weakref
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field

from trialbook.egress.head import (
    PING,
    PONG,
    BadHead,
    Request,
    Response,
    parse_request,
    parse_response,
)
from trialbook.egress.judge import LOOPBACK, Forbidden, Judge
from trialbook.egress.log import Log, Row, Verdict
from trialbook.egress.streams import Connection, Count, Idle, Pace, pass_body, pump, send, together
from trialbook.model.hosts import LOCALHOST, Address, Host, HostError

Resolve = Callable[[str, int], Iterable[str]]
"""Gives the addresses of a name, as text; raises OSError where it has none. May take its time."""

Dial = Callable[[str, int], Awaitable[Connection]]
"""Connects to an address, never to a name."""

_CONNECTED = b"HTTP/1.1 200 Connection established\r\n\r\n"
_MOST_ADDRESSES = 4
_SWITCHING = 101
_PIECE = 1 << 16
_TURNS = 4
_LOST = "the connection was lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ceilings:
    """What the proxy takes from a sandbox at most; times in seconds."""

    connections: int = 64
    head_bytes: int = 32_768
    head_seconds: float = 20.0
    lookups: int = 8
    lookup_seconds: float = 15.0
    dial_seconds: float = 15.0
    idle_seconds: float = 900.0
    half_seconds: float = 60.0
    goodbye_seconds: float = 2.0
    last_seconds: float = 1.0


class _Failed(Exception):
    """A request that is allowed and cannot be had: status for the client, and why."""

    def __init__(self, status: str, reason: str) -> None:
        super().__init__(reason)
        self.status = status


def look_up(name: str, port: int) -> list[str]:
    """The addresses that this host's resolver gives for a name."""
    found = socket.getaddrinfo(name, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(entry[4][0]) for entry in found))


async def dial(address: str, port: int) -> Connection:
    """Connect to an address over the network."""
    return Connection(*await asyncio.open_connection(address, port, limit=_PIECE))


@dataclass(slots=True, kw_only=True)
class Proxy:
    """Serves the connections of one trial.

    ``greetings`` counts how often somebody asked whether it is there.
    """

    judge: Judge
    log: Log
    resolve: Resolve = look_up
    dial: Dial = dial
    ceilings: Ceilings = field(default_factory=Ceilings)
    greetings: int = 0
    _open: dict[asyncio.Task[None], Connection] = field(default_factory=dict)
    _turned_away: weakref.WeakSet[asyncio.StreamWriter] = field(default_factory=weakref.WeakSet)
    _lookups: asyncio.Semaphore | None = None

    def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Take on a connection, and serve it to its end.

        Not a coroutine: one that is cancelled before its first step could not end its connection.
        """
        client = Connection(reader, writer)
        if len(self._open) >= self.ceilings.connections:
            self._turn_away(client)
            return
        task = asyncio.get_running_loop().create_task(self._serve(client))
        self._open[task] = client
        task.add_done_callback(self._over)

    async def stop(self) -> None:
        """End every connection; those whose other side is gone end by themselves first."""
        await _turns()  # what the system had accepted already gets here
        open_ones = list(self._open)
        if open_ones:
            await asyncio.wait(open_ones, timeout=self.ceilings.last_seconds)
        for task in open_ones:
            task.cancel()
        await asyncio.gather(*open_ones, return_exceptions=True)
        for writer in list(self._turned_away):
            writer.transport.abort()
        await _turns()  # an aborted connection is closed by the loop's next turn

    def _over(self, task: asyncio.Task[None]) -> None:
        self._open.pop(task).end()

    def _turn_away(self, client: Connection) -> None:
        row = self.log.begin()
        row.reason = f"more than {self.ceilings.connections} connections at once"
        self.log.add(row)
        client.writer.write(_answer("503 Service Unavailable", row.reason))
        client.writer.close()
        self._turned_away.add(client.writer)

    async def _serve(self, client: Connection) -> None:
        loop = asyncio.get_running_loop()
        began, row = loop.time(), self.log.begin()
        try:
            data = await self._head(client)
            if data is None:
                return
            if data == PING:
                self.greetings += 1
                client.writer.write(PONG)
                await client.close(self.ceilings.goodbye_seconds)
                return
            await self._judged(client, data, row)
        except _Failed as failure:
            await self._refuse(client, row, failure.status, str(failure))
        except Exception as error:  # noqa: BLE001 - one request's trouble is told, and no other's
            row.reason = f"unexpected {type(error).__name__}: {error}"
        finally:
            row.seconds = loop.time() - began
            if row.reason or row.verdict is Verdict.ALLOWED:
                self.log.add(row)

    async def _judged(self, client: Connection, data: bytes, row: Row) -> None:
        try:
            request = _request(data, row)
            server = await self._reached(request, row)
        except (BadHead, HostError) as error:
            row.verdict = Verdict.REFUSED
            await self._refuse(client, row, "400 Bad Request", str(error))
            return
        except Forbidden as error:
            row.verdict = Verdict.REFUSED
            await self._refuse(client, row, "403 Forbidden", str(error))
            return
        except asyncio.CancelledError:
            row.reason = "the trial was over"
            raise
        row.verdict = Verdict.ALLOWED
        try:
            await self._passed_on(client, server, request, row)
        except asyncio.CancelledError:
            row.reason = "open when the trial was over"
            raise
        except (OSError, EOFError, asyncio.LimitOverrunError, BadHead, Idle) as error:
            row.reason = str(error) if isinstance(error, BadHead | Idle) else _LOST
            if not request.tunnel and row.received == 0:
                await self._refuse(client, row, "502 Bad Gateway", row.reason)
        finally:
            server.end()

    async def _head(self, client: Connection) -> bytes | None:
        """The head of a request; None if nothing at all comes."""
        try:
            async with asyncio.timeout(self.ceilings.head_seconds):
                return await client.reader.readuntil(b"\r\n\r\n")
        except asyncio.IncompleteReadError as error:
            if not error.partial:
                return None
            raise _Failed("400 Bad Request", "the request ended in its head") from None
        except (asyncio.LimitOverrunError, ValueError):
            what = f"the head is longer than {self.ceilings.head_bytes} bytes"
            raise _Failed("431 Request Header Fields Too Large", what) from None
        except TimeoutError:
            what = f"no whole head came within {self.ceilings.head_seconds:g} seconds"
            raise _Failed("408 Request Timeout", what) from None
        except OSError:
            return None

    async def _reached(self, request: Request, row: Row) -> Connection:
        """A connection to where the request goes, if that is allowed."""
        self.judge.by_name(request.host, request.port)
        found = await self._addresses(request.host, request.port)
        trouble = ""
        for address in self.judge.by_address(request.host, request.port, found)[:_MOST_ADDRESSES]:
            row.address = str(address)
            try:
                async with asyncio.timeout(self.ceilings.dial_seconds):
                    return await self.dial(str(address), request.port)
            except (OSError, TimeoutError) as error:
                trouble = f"{address} cannot be reached: {str(error) or 'it does not answer'}"
        raise _Failed("502 Bad Gateway", trouble)

    async def _addresses(self, host: Host, port: int) -> list[Address]:
        if host.address is not None:
            return [host.address]
        if host.text == LOCALHOST:
            return list(LOOPBACK)
        if self._lookups is None:
            self._lookups = asyncio.Semaphore(self.ceilings.lookups)
        try:
            async with asyncio.timeout(self.ceilings.lookup_seconds), self._lookups:
                found = await _in_thread(lambda: list(self.resolve(host.text, port)))
                return list(dict.fromkeys(ipaddress.ip_address(text) for text in found))
        except TimeoutError:
            raise _Failed("504 Gateway Timeout", "looking up the name takes too long") from None
        except (OSError, ValueError) as error:
            raise _Failed("502 Bad Gateway", f"the name has no address: {error}") from None

    async def _passed_on(
        self, client: Connection, server: Connection, request: Request, row: Row
    ) -> None:
        pace = Pace(self.ceilings.idle_seconds, self.ceilings.half_seconds)

        def sent(size: int) -> None:
            row.sent += size

        def received(size: int) -> None:
            row.received += size

        if request.tunnel:
            client.writer.write(_CONNECTED)
            there, back = pump(client, server, pace, sent), pump(server, client, pace, received)
            await together(pace, there, back)
            return
        await send(server, request.head, pace, sent)
        await together(
            pace,
            _exchange(
                pass_body(client, server, request.body, pace, sent),
                _answered(client, server, request, (pace, received)),
            ),
        )
        await client.close(self.ceilings.goodbye_seconds)

    async def _refuse(self, client: Connection, row: Row, status: str, reason: str) -> None:
        row.reason = reason
        client.writer.write(_answer(status, f"{row.place}: {reason}"))
        await client.close(self.ceilings.goodbye_seconds)


def _request(data: bytes, row: Row) -> Request:
    # What was asked for is on record also where it cannot be understood.
    row.method = data.split(b" ", 1)[0][:20].decode("latin-1")
    try:
        request = parse_request(data)
    except (BadHead, HostError):
        words = data.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
        target = words[1].rpartition("://")[2].rpartition("@")[2] if len(words) > 1 else ""
        row.host = re.split(r"[/?#]", target)[0] or None
        raise
    row.host, row.port = request.host.text, request.port
    return request


async def _exchange(body: Awaitable[None], answer: Awaitable[None]) -> None:
    """Send a body while the answer comes; when the answer is over, so is everything."""
    tasks = [asyncio.ensure_future(body), asyncio.ensure_future(answer)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        if tasks[0].done():
            with contextlib.suppress(OSError):  # who takes no more of it may still answer
                tasks[0].result()
        await tasks[1]
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


async def _answered(
    client: Connection, server: Connection, request: Request, to: tuple[Pace, Count]
) -> None:
    response = await _response(server, request)
    while response.status < 200:  # noqa: PLR2004 - the real answer is still to come
        await send(client, response.head, *to)
        response = await _response(server, request)
    await send(client, response.head, *to)
    left = response.length
    while left is None or left > 0:
        data = await server.reader.read(_PIECE if left is None else min(left, _PIECE))
        if not data:
            break
        await send(client, data, *to)
        left = None if left is None else left - len(data)


async def _response(server: Connection, request: Request) -> Response:
    response = parse_response(await server.reader.readuntil(b"\r\n\r\n"), request.method)
    if response.status == _SWITCHING:
        raise BadHead("the server switches to another protocol, which nobody asked for")
    return response


async def _turns() -> None:
    """Let the loop do what is due already, and what that makes due."""
    for _ in range(_TURNS):
        await asyncio.sleep(0)


async def _in_thread(work: Callable[[], list[str]]) -> list[str]:
    """Wait for something that blocks, in a thread that nobody has to wait for at the end."""
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[list[str]] = loop.create_future()

    def give(result: list[str] | None, error: Exception | None) -> None:
        if answer.done():
            return
        if error is not None:
            answer.set_exception(error)
        else:
            answer.set_result(result or [])

    def run() -> None:
        result: list[str] | None = None
        error: Exception | None = None
        try:
            result = work()
        except Exception as problem:  # noqa: BLE001 - it is raised where it is waited for
            error = problem
        with contextlib.suppress(RuntimeError):  # the loop is over
            loop.call_soon_threadsafe(give, result, error)

    threading.Thread(target=run, daemon=True).start()
    return await answer


def _answer(status: str, text: str) -> bytes:
    body = f"trialbook: {text}\n".encode("ascii", "replace")
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    ).encode("ascii") + body
