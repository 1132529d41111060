"""Holds the folders of a trial to a size while its processes run: no sandbox can cap a folder.

Measured every few seconds, so that a fast writer gets somewhat over before it is ended.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from trialbook.api import Ended, ProcessResult
from trialbook.errors import EnvironmentProblem
from trialbook.process import tool

_EVERY_SECONDS = 1.0
_SHARE = 20  # measuring takes at most one part in so many of the time
_KILLED = 9
_KILOBYTE = 1024


class SizeWatch(threading.Event):
    """Set when a run is cancelled, or when its folders are too large (then ``exceeded``)."""

    def __init__(self, cancel: threading.Event, limit_mb: float | None) -> None:
        super().__init__()
        self._cancel = cancel
        self._limit = limit_mb
        self.exceeded = False

    def is_set(self) -> bool:
        """Whether the process has to end."""
        return self.exceeded or self._cancel.is_set()

    def judged(self, result: ProcessResult) -> ProcessResult:
        """The result; one that ended for the size of its folders was killed, not cancelled."""
        if not self.exceeded or result.ended is not Ended.CANCELLED or self._cancel.is_set():
            return result
        return replace(
            result,
            ended=Ended.SIGNALLED,
            signal=_KILLED,
            message=f"its folders grew over the limit of {self._limit:g} MB",
        )


@contextmanager
def watching(
    folders: Sequence[Path], limit_mb: float | None, cancel: threading.Event
) -> Iterator[SizeWatch]:
    """Watch some folders together; the event that it gives goes to whoever runs the process."""
    watch = SizeWatch(cancel, limit_mb)
    if limit_mb is None:
        yield watch
        return
    over = threading.Event()
    thread = threading.Thread(target=_look, args=(watch, folders, limit_mb, over), daemon=True)
    thread.start()
    try:
        yield watch
    finally:
        over.set()
        thread.join()


def _look(
    watch: SizeWatch, folders: Sequence[Path], limit_mb: float, over: threading.Event
) -> None:
    pause = _EVERY_SECONDS
    while not over.wait(pause):
        size, seconds = _measured(folders)
        if size is not None and size > limit_mb * 1_000_000:
            watch.exceeded = True
            return
        pause = max(_EVERY_SECONDS, seconds * _SHARE)


def _measured(folders: Sequence[Path]) -> tuple[int | None, float]:
    """What is on disk below the folders, in bytes, and how long it took to see.

    Files that vanish meanwhile, and folders that cannot be read, do not count.
    """
    argv = ("du", "--summarize", "--one-file-system", "--total", "--block-size=1024", "--")
    try:
        done = tool(
            (*argv, *map(str, folders)), cwd=Path("/"), environment=_ENVIRONMENT, timeout=600
        )
    except EnvironmentProblem:
        return None, _EVERY_SECONDS
    last = done.stdout.decode("utf-8", "replace").strip().rpartition("\n")[2].split("\t")[0]
    return (int(last) * _KILOBYTE if last.isdigit() else None), done.seconds


_ENVIRONMENT = {"PATH": "/usr/bin:/bin", "LC_ALL": "C"}
