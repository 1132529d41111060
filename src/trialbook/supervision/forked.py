"""The runner's side of the fork server: asks it for supervisors, and holds those it gives."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import socket
from collections.abc import Callable, Iterator
from typing import IO, Protocol

from trialbook.supervision import adoption, descendants
from trialbook.supervision.forkserver import answered
from trialbook.supervision.watch import clock

_PATIENCE_SECONDS = 10.0
_TICK_SECONDS = 0.5


class Child(Protocol):
    """A supervisor, or a fork server, as its runner holds it; what `subprocess` starts is one."""

    @property
    def pid(self) -> int:
        """Its id."""

    @property
    def stdin(self) -> IO[bytes] | None:
        """The pipe that it reads from."""

    @property
    def stdout(self) -> IO[bytes] | None:
        """The pipe that it writes into."""

    def poll(self) -> int | None:
        """Its status if it has ended, negative for the signal that ended it."""

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for its end; gives its status."""

    def send_signal(self, sig: int, /) -> None:
        """Send it a signal, if it is still there."""

    def kill(self) -> None:
        """End it."""


class Forked:
    """A supervisor that is a child of ours, though we have not started it.

    The same to use as a child of `subprocess`; ``stdin`` and ``stdout`` are its pipes.
    """

    def __init__(self, pid: int, control: int, report: int) -> None:
        self.pid = pid
        self.stdin = open(control, "wb", buffering=0)  # noqa: SIM115 - a descriptor
        self.stdout = open(report, "rb", buffering=0)  # noqa: SIM115 - a descriptor
        self._status: int | None = None

    def poll(self) -> int | None:
        """Its status if it has ended, negative for the signal that ended it."""
        if self._status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:
                self._status = 0  # somebody else took note of its end
            else:
                if pid:
                    self._status = os.waitstatus_to_exitcode(status)
        return self._status

    def wait(self, timeout: float | None = None) -> int | None:
        """Wait for its end, at most so many seconds; gives its status, None if it goes on."""
        deadline = None if timeout is None else clock() + timeout
        poll = select.poll()
        with _watched(self.pid) as file:
            tick = 0.001 if file is None else _TICK_SECONDS
            if file is not None:
                poll.register(file, select.POLLIN)
            while self.poll() is None and (deadline is None or clock() < deadline):
                poll.poll(tick * 1000)
                tick = min(tick * 2, _TICK_SECONDS)
        return self._status

    def send_signal(self, number: int) -> None:
        """Send it a signal, if it is still there."""
        if self.poll() is None:
            descendants.send(self.pid, number)

    def kill(self) -> None:
        """End it."""
        self.send_signal(signal.SIGKILL)


class ForkServer:
    """The fork server of this process, started when it is first needed and when it is gone.

    ``start`` makes one that reads from the socket it is given.
    """

    def __init__(self, start: Callable[[socket.socket], Child]) -> None:
        self._start = start
        self._child: Child | None = None
        self._channel: socket.socket | None = None
        self._owner = 0

    @property
    def pid(self) -> int:
        """The id of the server's process; 0 if there is none."""
        return self._child.pid if self._child else 0

    def fork(self) -> Forked:
        """A supervisor, which waits for its request.

        No other thread may ask meanwhile, nor look for children that it does not know.

        Raises:
            OSError: there can be no such server here, or it does not do its part.
            EnvironmentProblem: it cannot be started.
        """
        try:
            channel = self._ready()
        except BaseException:
            self.close()
            raise
        control, report = os.pipe(), os.pipe()  # each: where to read from, where to write to
        try:
            try:
                socket.send_fds(channel, [b"f"], [control[0], report[1]])
            finally:
                os.close(control[0])
                os.close(report[1])
            pid = self._answer(channel)
            known = descendants.facts(pid)
            if known is None or known.parent != self._owner:
                raise OSError("the fork server gave no child of ours")  # noqa: TRY301
            return Forked(pid, control[1], report[0])
        except BaseException:
            # Whatever has become of it: what was forked, or will be, ends for want of a runner.
            os.close(control[1])
            os.close(report[0])
            self.close()
            raise

    def close(self) -> None:
        """End the server; what it has forked goes on."""
        child, channel = self._child, self._channel
        self._child = self._channel = None
        if channel is not None:
            channel.close()
        if child is not None and self._owner == os.getpid():
            child.kill()
            child.wait()

    def _ready(self) -> socket.socket:
        # In a fork of a runner the server is still that of the other.
        ours = self._owner == os.getpid()
        if ours and self._channel and self._child and self._child.poll() is None:
            return self._channel
        self.close()
        if not adoption.adopt_orphans(os.getpid()):
            raise OSError("nobody would adopt what a fork server forks")
        self._owner = os.getpid()
        self._channel, its = socket.socketpair()
        self._channel.settimeout(_TICK_SECONDS)
        with its:
            self._child = self._start(its)
        return self._channel

    def _answer(self, channel: socket.socket) -> int:
        deadline = clock() + _PATIENCE_SECONDS
        while True:
            try:
                return answered(channel.recv(16))
            except TimeoutError:
                if clock() > deadline:
                    raise
                if self._child is not None:
                    self._child.send_signal(signal.SIGCONT)  # whoever stopped it


@contextlib.contextmanager
def _watched(pid: int) -> Iterator[int | None]:
    """A file that can be read from once the process has ended; None where there is no such."""
    file = None
    with contextlib.suppress(OSError, AttributeError):
        file = os.pidfd_open(pid)
    try:
        yield file
    finally:
        if file is not None:
            os.close(file)
