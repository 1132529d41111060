"""What Linux knows of processes: who descends from whom, and how to end all of them.

Elsewhere there is no ``/proc`` and every list is empty.
"""

from __future__ import annotations

import contextlib
import os
import signal

TYPE_CHECKING = False  # the name is what type checkers look for; `typing` takes long to import
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_FREEZE_PASSES = 20
_SUBREAPER, _DUMPABLE = 36, 4  # of <linux/prctl.h>


def become_subreaper() -> bool:
    """Make orphaned descendants children of this process; False where that is not possible."""
    return _prctl(_SUBREAPER, 1)


def become_opaque() -> bool:
    """Keep other processes of this user out of this one's memory and pipes, as far as it goes."""
    return _prctl(_DUMPABLE, 0)


class Facts:
    """One process as the kernel lists it: state letter, parent, session, start time in ticks."""

    __slots__ = ("parent", "session", "started", "state", "threads")

    def __init__(self, line: bytes) -> None:
        # The name stands in parentheses and may hold anything, so count from the last one.
        fields = line[line.rindex(b")") + 2 :].split()
        self.state = fields[0].decode()
        self.parent = int(fields[1])
        self.session = int(fields[3])
        self.threads = int(fields[17])
        self.started = int(fields[19])

    @property
    def alive(self) -> bool:
        """Whether it still runs, and is not just waiting for its parent to take note."""
        return self.state not in "ZX"


def facts(pid: int) -> Facts | None:
    """What is known of a process; None if there is none."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - pathlib is slow to import
            return Facts(file.read())
    except (OSError, ValueError):
        return None


def processes() -> Iterator[int]:
    """Every process of this machine, or of the part of it that we can see."""
    try:
        names = os.listdir("/proc")  # noqa: PTH208 - pathlib is slow to import
    except OSError:
        return
    yield from (int(name) for name in names if name.isdigit())


def children_of(pid: int) -> list[int]:
    """The children of a process, those of all its threads. May miss some while others end."""
    found: list[int] = []
    try:
        for task in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208 - pathlib is slow to import
            with open(f"/proc/{pid}/task/{task}/children", "rb") as file:  # noqa: PTH123
                found += [int(number) for number in file.read().split()]
    except FileNotFoundError:
        # It ended; or this kernel has no such files, and every process must be looked at.
        own = os.getpid()
        if not os.path.exists(f"/proc/{own}/task/{own}/children"):  # noqa: PTH110
            found = [other for other in processes() if _has_parent(other, pid)]
    except OSError:
        pass  # ended while we read
    return found


def signal_tree(roots: Iterable[int], number: int) -> set[int]:
    """Send a signal to all that lives at or below some processes, parents first.

    Gives the ids of those it reached; one of another user (setuid) may be out of reach.
    """
    reached: set[int] = set()
    met: set[int] = set()
    waiting = list(roots)
    while waiting:
        pid = waiting.pop()
        known = facts(pid)
        if pid in met or known is None or not known.alive:
            continue
        met.add(pid)
        # Looked up before the kill, which would hang them elsewhere.
        waiting += children_of(pid)
        if send(pid, number):
            reached.add(pid)
    return reached


def kill_tree(roots: Callable[[], Iterable[int]]) -> set[int]:
    """Stop, then kill, all that lives at or below some processes; gives the ids of those it hit.

    Everything is stopped before anything is killed, until no new process turns up, so that nobody
    can start another in answer to a death. One call may not be enough: repeat until none is left.

    Args:
        roots: Gives the processes to begin at, as they are at that moment.
    """
    seen: set[int] = set()
    for _ in range(_FREEZE_PASSES):
        found = signal_tree(roots(), signal.SIGSTOP)
        if found <= seen:
            break
        seen |= found
    return signal_tree(roots(), signal.SIGKILL)


def send(pid: int, number: int) -> bool:
    """Send a signal; False if the process is gone or out of reach."""
    try:
        os.kill(pid, number)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def send_group(group: int, number: int) -> None:
    """Send a signal to a process group, if there is one."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, number)


@contextlib.contextmanager
def hurrying() -> Iterator[None]:
    """Let this thread run before others, where the system lets us.

    Against a crowd of processes that start others, their killer needs more than its fair share.
    """
    before = os.getpriority(os.PRIO_PROCESS, 0)
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, 0, -20)
    try:
        yield
    finally:
        with contextlib.suppress(OSError):
            os.setpriority(os.PRIO_PROCESS, 0, before)


def _has_parent(pid: int, parent: int) -> bool:
    known = facts(pid)
    return known is not None and known.parent == parent


def _prctl(option: int, value: int) -> bool:
    try:
        import ctypes  # noqa: PLC0415 - costs a quarter of the supervisor's start-up

        return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
    except (ImportError, OSError, AttributeError):
        return False
