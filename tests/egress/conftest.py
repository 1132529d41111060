"""A world for proxies: names in a table, public addresses that lead to servers of this test."""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from trialbook.egress.proxy import Ceilings
from trialbook.egress.streams import Connection
from trialbook.egress.way import Way, World, way_out

PUBLIC = "93.184.215.14"
OTHER = "93.184.215.15"

Serve = Callable[[socket.socket], None]


@dataclass
class Net:
    """Names and addresses; ``dialled`` and ``looked_up`` say what was asked for."""

    names: dict[str, Sequence[str]] = field(default_factory=dict)
    ports: dict[tuple[str, int], int] = field(default_factory=dict)
    dialled: list[tuple[str, int]] = field(default_factory=list)
    looked_up: list[str] = field(default_factory=list)

    def resolve(self, name: str, port: int) -> list[str]:
        self.looked_up.append(name)
        if name not in self.names:
            raise OSError("no such name")
        return list(self.names[name])

    async def dial(self, address: str, port: int) -> Connection:
        self.dialled.append((address, port))
        if (address, port) not in self.ports:
            raise ConnectionRefusedError("refused")
        return Connection(
            *await asyncio.open_connection("127.0.0.1", self.ports[address, port], limit=1 << 16)
        )

    @property
    def world(self) -> World:
        return World(resolve=self.resolve, dial=self.dial, ceilings=SHORT)


SHORT = Ceilings(
    connections=4,
    head_bytes=4096,
    head_seconds=1.0,
    lookup_seconds=1.0,
    dial_seconds=1.0,
    idle_seconds=1.5,
    half_seconds=1.0,
    goodbye_seconds=1.0,
)


@contextmanager
def serving(serve: Serve) -> Iterator[int]:
    """A server on the loopback address; gives its port."""

    def accept() -> None:
        while True:
            try:
                connection, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=one, args=(connection,), daemon=True).start()

    def one(connection: socket.socket) -> None:
        with connection:
            try:
                serve(connection)
            except OSError:
                return

    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
    thread.join(5)


def everything(connection: socket.socket) -> bytes:
    """All that comes until the other side ends."""
    found = b""
    try:
        while data := connection.recv(65536):
            found += data
    except ConnectionResetError:
        pass
    return found


def head_of(connection: socket.socket) -> bytes:
    """A head, byte by byte, so that nothing after it is taken."""
    found = b""
    while not found.endswith(b"\r\n\r\n"):
        byte = connection.recv(1)
        if not byte:
            break
        found += byte
    return found


@dataclass
class Client:
    """Talks to a proxy by its socket."""

    way: Way

    def connect(self) -> socket.socket:
        connection = socket.socket(socket.AF_UNIX)
        connection.settimeout(20)
        connection.connect(str(self.way.socket))
        return connection

    def ask(self, data: bytes) -> bytes:
        """Send something and read to the end."""
        with self.connect() as connection:
            connection.sendall(data)
            return everything(connection)

    def get(self, url: str, **fields: str) -> bytes:
        lines = [f"GET {url} HTTP/1.1", *(f"{name}: {value}" for name, value in fields.items())]
        return self.ask("".join(f"{line}\r\n" for line in (*lines, "")).encode())


@dataclass
class Scene:
    net: Net
    folder: Path
    stack: ExitStack
    count: int = 0

    def serve(self, serve: Serve, name: str = "", address: str = PUBLIC, port: int = 80) -> None:
        self.net.ports[address, port] = self.stack.enter_context(serving(serve))
        if name:
            self.net.names[name] = [address]

    def way(self, *allow: str, ceilings: Mapping[str, float] | None = None) -> Client:
        self.count += 1
        folder = self.folder / str(self.count)
        folder.mkdir()
        world = replace(self.net.world, ceilings=replace(SHORT, **(ceilings or {})))  # type: ignore[arg-type]
        way = self.stack.enter_context(
            way_out(folder / "socket", allow, lambda: datetime.now(UTC), world)
        )
        return Client(way)


@pytest.fixture
def scene(tmp_path: Path) -> Iterator[Scene]:
    with ExitStack() as stack:
        yield Scene(Net(), tmp_path, stack)
