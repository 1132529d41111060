"""Where the fresh folders of one process lie, and the end of those that a killed one left behind.

Each process that makes such folders holds a note, locked as long as it lives, that names the one
folder they are all below. Whoever comes next removes what the notes of dead processes name: private
tests must not lie about because a runner was killed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trialbook.errors import EnvironmentProblem
from trialbook.storage.files import remove_tree
from trialbook.system import System


@contextmanager
def rooms(system: System) -> Iterator[Path]:
    """A folder below the work folder for this process's fresh folders; gone at the end.

    First removes what killed processes left, as the notes in the operator's cache say. The folder
    can be passed through by other users but not listed by them.

    Raises:
        EnvironmentProblem: no folder can be made there.
    """
    work, notes = system.work_folder(), system.cache_folder() / "rooms"
    sweep(notes)
    try:
        notes.mkdir(parents=True, exist_ok=True)
        work.mkdir(parents=True, exist_ok=True)
        folder = work / system.token(6)
        note = notes / folder.name
        with note.open("x") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            handle.write(str(folder))
            handle.flush()
            folder.mkdir()
            folder.chmod(0o711)
            try:
                yield folder
            finally:
                remove_tree(folder)
                note.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot make folders for trials below {work}: {error.strerror or error}",
            hint="set TRIALBOOK_WORK to a folder that you can write to",
        ) from error


def sweep(notes: Path) -> list[Path]:
    """Remove the folders of processes that are gone; gives those that were there."""
    swept: list[Path] = []
    for note in sorted(notes.glob("*")):
        try:
            descriptor = os.open(note, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        with os.fdopen(descriptor, "r+") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            named = handle.read()
            # An empty note is one that its process has not locked yet.
            if not named:
                continue
            folder = Path(named)
            if folder.is_absolute() and folder.name == note.name:
                if folder.is_dir() and not folder.is_symlink():
                    swept.append(folder)
                remove_tree(folder)
            note.unlink(missing_ok=True)
    return swept
