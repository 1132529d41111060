"""Loose objects of a git object store, written the way git writes them.

To a temporary file that is then renamed: a process that dies leaves no lock and no half an object,
and two processes that write the same object do not disturb each other. `git gc` knows the temporary
names and clears them away.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from trialbook.errors import EnvironmentProblem

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_counter = itertools.count()


def write_loose(target: Path, data: bytes, *, durable: bool, share: Callable[[Path], None]) -> None:
    """Write an object's file, compressed bytes as they are.

    ``durable`` waits for the disk. ``share`` widens the permissions of what is made.

    Raises:
        EnvironmentProblem: no permission, no space.
    """
    temporary = target.with_name(f"tmp_obj_{os.getpid()}_{next(_counter)}")
    try:
        if not target.parent.is_dir():
            target.parent.mkdir(exist_ok=True)
            share(target.parent)
        with os.fdopen(os.open(temporary, _NEW, 0o444), "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        share(temporary)
        temporary.replace(target)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise EnvironmentProblem(
            f"cannot write to the object store {target.parent.parent}: {error.strerror or error}",
            hint="check its permissions and the space that is left",
        ) from error
