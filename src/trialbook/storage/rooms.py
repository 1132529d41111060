"""Where the fresh folders of one process lie, and the end of those that a killed one left behind.

Each process that makes such folders holds a note, locked as long as it lives, that names the one
folder they are all below. Whoever comes next removes what the notes of dead processes name: private
tests must not lie about because a runner was killed.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO

from trialbook.errors import EnvironmentProblem
from trialbook.storage.disk import doing
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
    folder = work / system.token(6)
    note = notes / folder.name
    with _noted(folder, note):
        try:
            yield folder
        finally:
            remove_tree(folder)
            with suppress(OSError):
                note.unlink(missing_ok=True)


def _noted(folder: Path, note: Path) -> IO[str]:
    """Make the folder and its note; gives the note, locked until it is closed."""
    try:
        for parent in (note.parent, folder.parent):
            parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            handle = stack.enter_context(_locked(note))
            handle.write(str(folder))
            handle.flush()
            folder.mkdir()
            folder.chmod(0o711)
            stack.pop_all()
            return handle
    except OSError as error:
        what, where, variable = "make folders for trials below", folder.parent, "TRIALBOOK_WORK"
        if error.filename and not Path(error.filename).is_relative_to(folder.parent):
            what, where, variable = "keep notes in", note.parent, "TRIALBOOK_CACHE"
        raise EnvironmentProblem(
            f"cannot {what} {where}: {error.strerror or error}",
            hint=f"set {variable} to a folder that you can write to, with space left",
        ) from error


def _locked(note: Path) -> IO[str]:
    while True:
        handle = note.open("x")
        fcntl.flock(handle, fcntl.LOCK_EX)
        if note.exists():
            return handle
        # It was swept before it was locked, as if its maker had been killed there.
        handle.close()


def sweep(notes: Path) -> list[Path]:
    """Remove the folders of processes that are gone; gives those that were there."""
    swept: list[Path] = []
    try:
        there = sorted(notes.iterdir())
    except OSError:
        # No note was ever made; or none can be, which is told where one is made.
        return swept
    for note in there:
        try:
            descriptor = os.open(note, os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC)
        except OSError:
            continue
        with os.fdopen(descriptor, "r+") as handle:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
            # One that is empty, or holds half a name, was left before its folder was made.
            folder = Path(handle.read())
            if folder.is_absolute() and folder.name == note.name:
                if folder.is_dir() and not folder.is_symlink():
                    swept.append(folder)
                remove_tree(folder)
            with doing(f"remove the note {note} of a process that is gone"):
                note.unlink(missing_ok=True)
    return swept
