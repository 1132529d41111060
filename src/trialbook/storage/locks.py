"""Locks between processes: a file that one of them holds, freed by the kernel when it dies."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from trialbook.errors import EnvironmentProblem


@contextmanager
def exclusive(path: Path) -> Iterator[None]:
    """Hold the lock file ``path`` (made if needed), waiting for whoever has it.

    The file stays: removing it would let two processes lock two files of one name.

    Raises:
        EnvironmentProblem: the file cannot be made.
    """
    with _opened(path) as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def exclusive_or_none(path: Path) -> Iterator[bool]:
    """Hold the lock file ``path`` if nobody has it; gives whether it is held.

    Raises:
        EnvironmentProblem: the file cannot be made.
    """
    with _opened(path) as handle:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            yield False
            return
        yield True


def _opened(path: Path) -> IO[str]:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return path.open("a")
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot use the lock file {path}: {error.strerror or error}",
            hint="check the folder's permissions and the space that is left",
        ) from error
