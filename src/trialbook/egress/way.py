"""A proxy that runs while a trial's agent does, in a thread of the runner.

It ends with the trial, and with the runner however that ends. What it saw is there afterwards.
"""

from __future__ import annotations

import asyncio
import os
import socket
import sys
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from trialbook.egress import forward
from trialbook.egress.judge import Judge
from trialbook.egress.log import Log
from trialbook.egress.proxy import Ceilings, Dial, Proxy, Resolve, dial, look_up
from trialbook.errors import EnvironmentProblem
from trialbook.model.hosts import HostError

FORWARDER = Path(forward.__file__)
"""The script that makes the proxy reachable inside; it needs the standard library only."""

_FORWARD = f"""\
for python in "$1" python3; do
  command -v "$python" >/dev/null && "$python" -I -S -B "$2" "$3" && exit 0
done
command -v socat >/dev/null || {{
  echo "it takes python3 or socat to reach the proxy" >&2
  exit 1
}}
socat TCP-LISTEN:{forward.PORT},bind={forward.HOST},fork,reuseaddr UNIX-CONNECT:"$3" \\
  </dev/null >/dev/null 2>&1 &
for try in 1 2 3 4 5 6 7 8 9 10; do
  printf 'OPTIONS * HTTP/1.1\\r\\nHost: proxy\\r\\n\\r\\n' |
    socat -t 20 - TCP:{forward.HOST}:{forward.PORT} 2>/dev/null | grep -q " 204 " && exit 0
  sleep 0.1
done
echo "the way to the proxy cannot be laid" >&2
exit 1
"""
_START_SECONDS = 20.0
_END_SECONDS = 10.0
_BACKLOG = 64


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """What the proxy knows the world by: how names are looked up, how addresses are reached."""

    resolve: Resolve = look_up
    dial: Dial = dial
    ceilings: Ceilings = field(default_factory=Ceilings)


@dataclass(frozen=True, slots=True, kw_only=True)
class Way:
    """A way out: the proxy's socket, and its log, which is complete when the way is closed."""

    socket: Path
    proxy: Proxy

    @property
    def log(self) -> Log:
        """What was seen."""
        return self.proxy.log


def proxy_environment(allow: Iterable[str]) -> Mapping[str, str]:
    """The variables by which programs in a sandbox find the proxy; some only know small letters.

    Servers of the sandbox's own are reached without it, unless the list means those of the host.
    """
    url = f"http://{forward.HOST}:{forward.PORT}"
    listed = {entry.host.text for entry in Judge.of(allow).entries}
    own = ",".join(name for name in ("localhost", "127.0.0.1", "::1") if name not in listed)
    found = {"no_proxy": own, "NO_PROXY": own, "NODE_USE_ENV_PROXY": "1"}
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        found |= {name: url, name.upper(): url}
    return found


def forwarder_command(python: str, script: Path) -> tuple[str, ...]:
    """The command that makes the proxy reachable inside; the socket's path is its last argument.

    Where the files of the host are not there, ``python`` may not run; then it is a Python of what
    is there, or ``socat``.
    """
    return ("/bin/sh", "-c", _FORWARD, "sh", python, str(script))


@contextmanager
def way_out(
    path: Path, allow: Iterable[str], now: Callable[[], datetime], world: World | None = None
) -> Iterator[Way]:
    """A proxy at a socket, until the block is left.

    Args:
        path: Where the socket is made; its folder must be there, and hold nothing else.
        allow: The hosts that it lets through.
        now: The time.
        world: For tests, which have a world of their own.

    Raises:
        EnvironmentProblem: it cannot be started.
    """
    world = world or World()
    try:
        judge = Judge.of(allow)
    except HostError as error:
        raise EnvironmentProblem(f"the list of allowed hosts cannot be read: {error}") from None
    proxy = Proxy(
        judge=judge,
        log=Log(now),
        resolve=world.resolve,
        dial=world.dial,
        ceilings=world.ceilings,
    )
    serving = _Serving(proxy, _listener(path))
    try:
        serving.start()
        yield Way(socket=path, proxy=proxy)
    finally:
        serving.end()
        path.unlink(missing_ok=True)


class _Serving:
    """Serves a socket in a thread and an event loop of its own."""

    def __init__(self, proxy: Proxy, listener: socket.socket) -> None:
        self._thread = threading.Thread(target=self._run, name="egress", daemon=True)
        self._proxy = proxy
        self._listener = listener
        self._ready = threading.Event()
        self._trouble = ""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._stop: asyncio.Event | None = None

    def _run(self) -> None:
        try:
            with self._listener:
                asyncio.run(self._serve())
        except OSError as error:
            self._trouble = str(error)
            self._ready.set()

    async def _serve(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._loop.set_exception_handler(_ignore)
        self._stop = asyncio.Event()
        limit = self._proxy.ceilings.head_bytes
        server = await asyncio.start_unix_server(
            self._proxy.accept, sock=self._listener, limit=limit, backlog=_BACKLOG
        )
        self._ready.set()
        await self._stop.wait()
        # Closing the server first would lose, unclosed, what it has accepted and not yet taken on.
        self._loop.remove_reader(self._listener)
        await self._proxy.stop()
        server.close()

    def start(self) -> None:
        """Start, and wait until it serves.

        Raises:
            EnvironmentProblem: it does not.
        """
        self._thread.start()
        if not self._ready.wait(_START_SECONDS) or self._trouble:
            why = self._trouble or "it takes too long"
            raise EnvironmentProblem(f"the proxy for the network cannot be started: {why}")

    def end(self) -> None:
        """Stop, and wait for it, but not forever."""
        if self._loop is not None and self._stop is not None:
            try:
                self._loop.call_soon_threadsafe(self._stop.set)
            except RuntimeError:
                return  # it is over already
            self._thread.join(_END_SECONDS)


def _ignore(loop: asyncio.AbstractEventLoop, context: dict[str, object]) -> None:
    """What goes wrong with one connection is in the log; nothing belongs on the terminal."""
    del loop, context


def _listener(path: Path) -> socket.socket:
    """A socket at a path of any length."""
    listener = socket.socket(socket.AF_UNIX)
    try:
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            short = f"/proc/self/fd/{folder}/{path.name}" if sys.platform == "linux" else str(path)
            listener.bind(short)
        finally:
            os.close(folder)
        # Whoever a sandbox's processes are, they may connect; no other sandbox has the file.
        path.chmod(0o666)
        listener.listen(_BACKLOG)
    except OSError as error:
        listener.close()
        raise EnvironmentProblem(f"the proxy's socket {path} cannot be made: {error}") from error
    return listener
