"""Forks supervisors for a runner, so that not each of them has to start an interpreter.

It never sees what is run: it gets the two pipes of a supervisor, hands them on, and forgets them.
What it forks is no child of its own but an orphan at once, which the runner adopts: for the runner
it is a child like one that it has started itself, and outlives this process.
"""

from __future__ import annotations

import fcntl  # noqa: F401 - what supervisors need is there before they are forked
import os
import select
import socket
import warnings  # noqa: F401 - likewise: finding a program on the PATH asks for it

from trialbook.supervision import descendants
from trialbook.supervision.watch import ignore_signals, run

SERVE = "serve"
"""The argument that makes a fork server of the script `trialbook.supervisor`."""

_TICK_MILLISECONDS = 1000
_ID_BYTES = 4
_PIPES = 2
_MOST_FILES = 64  # it never has more than a few open at once


def serve() -> None:
    """Give one supervisor for each request in the socket that is standard input, until its end.

    A request is one byte with the two pipes; the answer is the supervisor's id in four bytes, or
    zero if there is none.
    """
    ignore_signals()
    os.umask(0o022)
    descendants.become_opaque()
    runner = os.getppid()
    poll = select.poll()
    poll.register(0, select.POLLIN)
    with socket.socket(fileno=0) as channel:
        # Somebody may hold the other end of the socket; a runner that is gone is no parent.
        while os.getppid() == runner:
            if not poll.poll(_TICK_MILLISECONDS):
                continue
            request, pipes, _, _ = socket.recv_fds(channel, 1, _PIPES)
            if not request or len(pipes) != _PIPES:
                return
            pid = _forked(pipes[0], pipes[1], runner)
            for pipe in pipes:
                os.close(pipe)
            channel.sendall(pid.to_bytes(_ID_BYTES, "big"))


def answered(answer: bytes) -> int:
    """The id in an answer; zero if there was none."""
    return int.from_bytes(answer, "big") if len(answer) == _ID_BYTES else 0


def _forked(control: int, report: int, runner: int) -> int:
    """Fork twice, and see the one in between to its end: what it has forked is adopted then."""
    reader, writer = os.pipe()
    try:
        between = os.fork()
    except OSError:
        between = 0
    else:
        if between == 0:
            _fork_on((control, report), runner, writer)
    os.close(writer)
    said = os.read(reader, _ID_BYTES)
    os.close(reader)
    if between:
        os.waitpid(between, 0)
    return answered(said)


def _fork_on(pipes: tuple[int, int], runner: int, writer: int) -> None:
    try:
        supervisor = os.fork()
        if supervisor == 0:
            _supervise(pipes, runner, writer)
        os.write(writer, supervisor.to_bytes(_ID_BYTES, "big"))
    finally:
        os._exit(0)


def _supervise(pipes: tuple[int, int], runner: int, writer: int) -> None:
    # From here on this is what the script would have started, and nothing of the server is left.
    try:
        os.close(writer)
        os.setsid()
        control, report = pipes
        for source, target in ((control, 0), (report, 1), (report, 2)):
            os.dup2(source, target)
        os.closerange(3, _MOST_FILES)
        run(runner)
    finally:
        os._exit(0)
