"""What the runner does about the children of a supervisor that was killed: they become its own."""

from __future__ import annotations

import contextlib
import functools
import os
import select
from collections.abc import Container

from trialbook.supervision import descendants
from trialbook.supervision.watch import KILL_SECONDS, clock

_REST_MILLISECONDS = 2


@functools.cache
def adopt_orphans(process: int) -> bool:
    """Make what a dead supervisor leaves a child of this process, and not of the system.

    Done once per ``process`` (our own id): the attribute does not survive a fork.
    """
    del process
    return descendants.become_subreaper()


def sweep(since: int, ours: Container[int]) -> int:
    """End what a dead supervisor has left to us; gives how many processes had to be killed.

    Ours by adoption is a child that is none of ``ours``, that lives in a session other than our own
    (a supervised process always does, and of the rest only ``ours`` do), and that is not older than
    its request (``since``). No new child may be made meanwhile.
    """
    killed: set[int] = set()
    deadline = clock() + KILL_SECONDS
    with descendants.hurrying():
        while (orphans := _orphans(since, ours)) and clock() < deadline:
            killed |= descendants.kill_tree(lambda: _orphans(since, ours))
            for pid in orphans:
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
            select.poll().poll(_REST_MILLISECONDS)
    return len(killed)


def _orphans(since: int, ours: Container[int]) -> list[int]:
    session = os.getsid(0)
    found = []
    for pid in descendants.children_of(os.getpid()):
        known = descendants.facts(pid)
        if pid in ours or known is None or known.session == session:
            continue
        if known.started >= since:
            found.append(pid)
    return found
