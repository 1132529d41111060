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

    It always forks one supervisor ahead: while a command runs, the next one's is made ready.
    ``start`` makes a server that reads from the socket it is given.
    """

    def __init__(self, start: Callable[[socket.socket], Child]) -> None:
        self._start = start
        self._child: Child | None = None
        self._channel: socket.socket | None = None
        self._owner = 0
        self._asked: tuple[int, int] | None = None  # our ends of the pipes of one that is to come
        self._ahead: Forked | None = None

    @property
    def pid(self) -> int:
        """The id of the server's process; 0 if there is none."""
        return self._child.pid if self._child else 0

    def known(self) -> set[int]:
        """The ids of all children of ours that are the server's or wait to be given."""
        with contextlib.suppress(OSError):
            self._receive()
        return {child.pid for child in (self._child, self._ahead) if child is not None}

    def fork(self) -> Forked:
        """A supervisor, which waits for its request.

        No other thread may ask meanwhile, nor look for children that are not `known`.

        Raises:
            OSError: there can be no such server here, or it does not do its part.
            EnvironmentProblem: it cannot be started.
        """
        try:
            channel = self._ready()
            self._receive()
            if self._ahead is None or self._ahead.poll() is not None:
                self._drop()
                self._ask(channel)
                self._receive()
            given, self._ahead = self._ahead, None
            if given is None:
                raise OSError("the fork server gave no child of ours")  # noqa: TRY301
        except BaseException:
            # Whatever has become of it: what was forked, or will be, ends for want of a runner.
            self.close()
            raise
        # Trouble with the next one is met when it is needed.
        with contextlib.suppress(OSError):
            self._ask(channel)
        return given

    def close(self) -> None:
        """End the server, and whom it has forked ahead; whom it has given goes on."""
        with contextlib.suppress(OSError):
            self._receive()
        self._drop()
        child, channel = self._child, self._channel
        self._child = self._channel = None
        if channel is not None:
            channel.close()
        if child is not None and self._owner == os.getpid():
            child.kill()
            child.wait()

    def _ask(self, channel: socket.socket) -> None:
        control, report = os.pipe(), os.pipe()  # each: where to read from, where to write to
        self._asked = control[1], report[0]
        try:
            socket.send_fds(channel, [b"f"], [control[0], report[1]])
        finally:
            os.close(control[0])
            os.close(report[1])

    def _receive(self) -> None:
        """Take what was asked for, if something was and is not here yet."""
        if self._asked is None or self._channel is None or self._owner != os.getpid():
            return
        (control, report), self._asked = self._asked, None
        try:
            pid = self._answer(self._channel)
            known = descendants.facts(pid)
            if known is None or known.parent != self._owner:
                raise OSError("the fork server gave no child of ours")  # noqa: TRY301
        except BaseException:
            os.close(control)
            os.close(report)
            raise
        self._ahead = Forked(pid, control, report)

    def _drop(self) -> None:
        """Let go of what was not given to anybody; without a runner it ends."""
        if self._asked is not None:
            for end in self._asked:
                os.close(end)
        ahead, self._asked, self._ahead = self._ahead, None, None
        if ahead is not None:
            ahead.stdin.close()
            ahead.stdout.close()
            if self._owner == os.getpid():
                ahead.kill()
                ahead.wait()

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
