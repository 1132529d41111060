"""Sees one process and all that it starts to the end, and reports it."""

from __future__ import annotations

import marshal
import os
import select
import signal
import sys
import time

from trialbook.supervision import descendants
from trialbook.supervision.launch import NotStarted, launch, open_file
from trialbook.supervision.output import Sink, write_all

TYPE_CHECKING = False  # the name is what type checkers look for; `typing` takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

KILL_SECONDS = 30.0
"""How long killing is tried before processes are given up as unkillable."""

clock = time.monotonic
"""Seconds on the clock that time limits are kept by."""

END = b"end\n"
"""The last line of every report that is whole."""

_TICK_SECONDS = 0.5
_IDLE_MILLISECONDS = 1000
_SETTLE_SECONDS = 0.25
_READ_BYTES = 1 << 20
_IGNORED = ("HUP", "INT", "QUIT", "TERM", "USR1", "USR2", "ALRM", "VTALRM", "PROF", "PIPE", "TSTP")


def ticks() -> int:
    """The time in the ticks in which the kernel says when a process started; 0 if not known."""
    try:
        return int(time.clock_gettime(time.CLOCK_BOOTTIME) * os.sysconf("SC_CLK_TCK"))
    except (AttributeError, OSError, ValueError):
        return 0


class Watch:
    """The process ``main``, begun at ``started``, until nothing of it is left."""

    def __init__(
        self, request: dict[str, Any], main: int, started: float, sinks: list[Sink], wake: int
    ) -> None:
        self._request = request
        self._main = main
        self._started = started
        self._sinks = {sink.pipe: sink for sink in sinks}
        self._wake = wake
        self._runner = os.getppid()
        self._poll = select.poll()
        for file in (0, wake, *self._sinks):
            self._poll.register(file, select.POLLIN)
        self.status: int | None = None
        self.seconds = 0.0
        self.rss = 0
        self.childless = False
        self.orphaned = False
        self.cancelled = False
        self.killed: set[int] = set()

    def follow(self) -> str:
        """See the process to its end, by itself or not; gives how it ended."""
        allowed = self._request["seconds"]
        deadline = None if allowed is None else self._started + allowed
        self._turn_until(deadline, lambda: self.status is not None or self.told)
        if self.status is not None:
            # Give a moment to what is just about to end, a `tee` at the end of a pipeline, say.
            self._turn_until(clock() + _SETTLE_SECONDS, lambda: self.childless or self.told)
            return "exited" if os.WIFEXITED(self.status) else "signalled"
        told = self.told
        if not self.orphaned:
            self._ask()
        return "cancelled" if told else "timed_out"

    @property
    def told(self) -> bool:
        """Whether it shall end because somebody says so, or because nobody is there any more."""
        return self.cancelled or self.orphaned

    def clear(self) -> None:
        """Kill until no child is left, or until killing has been tried for long enough."""
        deadline = clock() + KILL_SECONDS
        self._reap()
        if not self.childless:
            with descendants.hurrying():
                self._kill_until(deadline)
        self.killed.discard(self._main)
        if self.status is None:
            self.seconds = clock() - self._started

    def _kill_until(self, deadline: float) -> None:
        while not self.childless and clock() < deadline:
            self.killed |= descendants.kill_tree(_children)
            if self.status is None:
                descendants.send_group(self._main, signal.SIGKILL)
            self._turn(0.01)

    def _ask(self) -> None:
        reached = descendants.signal_tree(_children(), signal.SIGTERM)
        if not reached:
            descendants.send_group(self._main, signal.SIGTERM)
        for pid in reached:
            descendants.send(pid, signal.SIGCONT)  # a stopped process would not hear it otherwise
        grace = clock() + self._request["grace"]
        self._turn_until(grace, lambda: self.childless or self.orphaned)

    def _turn_until(self, deadline: float | None, done: Callable[[], bool]) -> None:
        while not done():
            left = _TICK_SECONDS if deadline is None else deadline - clock()
            if left <= 0:
                return
            self._turn(min(left, _TICK_SECONDS))

    def _turn(self, seconds: float) -> None:
        for file, _ in self._poll.poll(max(1, int(seconds * 1000))):
            if file == 0:
                self._listen()
            elif file == self._wake:
                os.read(file, 4096)
            elif self._sinks[file].pump() < 0:
                self._poll.unregister(file)
        # Somebody may hold the control pipe open; a runner that is gone is no parent any more.
        self.orphaned = self.orphaned or os.getppid() != self._runner
        self._reap()

    def _listen(self) -> None:
        if os.read(0, 100):
            self.cancelled = True
        else:
            self.orphaned = True
            self._poll.unregister(0)

    def _reap(self) -> None:
        try:
            while True:
                pid, status, usage = os.wait4(-1, os.WNOHANG)
                if pid == 0:
                    return
                self.rss = max(self.rss, usage.ru_maxrss)
                if pid == self._main:
                    self.status = status
                    self.seconds = clock() - self._started
        except ChildProcessError:
            self.childless = True


def supervise(request: dict[str, Any], wake: int) -> dict[str, Any]:
    """Do what the request says; gives the report.

    Raises:
        NotStarted: the process could not be started.
    """
    stdin = open_file(request["stdin"] or os.devnull.encode(), os.O_RDONLY, "input file")
    sinks = [Sink(request["stdout"], request["limit"])]
    if request["stderr"] != request["stdout"]:
        sinks.append(Sink(request["stderr"], request["limit"]))
    started = clock()  # not after it: a busy system may let the process run on for a while first
    main = launch(request, stdin, sinks[0].end, sinks[-1].end)
    for file in (stdin, *(sink.end for sink in sinks)):
        os.close(file)
    watch = Watch(request, main, started, sinks, wake)
    try:
        ended = watch.follow()
    finally:
        watch.clear()
        for sink in sinks:
            sink.finish()
    return _report(ended, watch, sinks)


def ignore_signals() -> None:
    """Ignore what a supervised process may send, all that can be ignored."""
    for name in _IGNORED:
        signal.signal(getattr(signal, f"SIG{name}"), signal.SIG_IGN)


def run(runner: int) -> None:
    """Supervise one process, as the runner at the other ends of the pipes asks, if it ever does.

    ``runner`` is its id: without it there is nothing to wait for.
    """
    ignore_signals()
    os.umask(0o022)
    descendants.become_subreaper()
    descendants.become_opaque()
    wake = _wake_up()
    try:
        _wait_for_request(runner)
        report = supervise(_request(), wake)
    except EOFError:
        return
    except NotStarted as error:
        report = {"ended": "not_started", "message": str(error)}
    except Exception as error:  # noqa: BLE001 - whatever it is, the runner must hear of it
        report = {"ended": "lost", "message": f"the supervisor failed: {error!r}"}
    lines = [f"{key}={' '.join(str(value).splitlines())}\n" for key, value in report.items()]
    write_all(1, "".join(lines).encode("utf-8", "backslashreplace") + END)


def _report(ended: str, watch: Watch, sinks: list[Sink]) -> dict[str, Any]:
    code = None if watch.status is None else os.waitstatus_to_exitcode(watch.status)
    notes = [f"output could not be kept: {sink.problem}" for sink in sinks if sink.problem]
    if not watch.childless:
        notes.append("processes are left that could not be killed")
    unit = 1 if sys.platform == "darwin" else 1024
    return {
        "ended": ended,
        "exit_code": "" if code is None or code < 0 else code,
        "signal": "" if code is None or code >= 0 else -code,
        "seconds": round(watch.seconds, 3),
        "leftover_processes": len(watch.killed),
        "stdout_bytes": sinks[0].written,
        "stderr_bytes": sinks[1].written if len(sinks) > 1 else 0,
        "output_cut": int(any(sink.cut for sink in sinks)),
        "max_rss_bytes": watch.rss * unit or "",
        "message": "; ".join(notes),
    }


def _children() -> list[int]:
    return descendants.children_of(os.getpid())


def _wake_up() -> int:
    # The end of a child makes this pipe readable, so that one poll waits for everything.
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    os.set_blocking(writer, False)
    signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    return reader


def _wait_for_request(runner: int) -> None:
    """Wait until there is something to read.

    Raises:
        EOFError: the runner is gone, though somebody may still hold the other end.
    """
    poll = select.poll()
    poll.register(0, select.POLLIN)
    while not poll.poll(_IDLE_MILLISECONDS):
        if os.getppid() != runner:
            raise EOFError


def _request() -> dict[str, Any]:
    # First in the control pipe: its length in eight bytes, then itself.
    size = int.from_bytes(_exactly(8), "big")
    request: dict[str, Any] = marshal.loads(_exactly(size))  # noqa: S302 - the runner wrote it
    return request


def _exactly(size: int) -> bytes:
    parts = []
    while size:
        part = os.read(0, min(size, _READ_BYTES))
        if not part:
            raise EOFError
        parts.append(part)
        size -= len(part)
    return b"".join(parts)
