"""Git's own lock files (``<file>.lock``), taken so that a crash of ours never leaves one for good.

A process that is killed leaves its lock file behind, and git then refuses to work until somebody
removes it. So what we put into a lock file is written down beforehand; whoever comes next can tell
our own leftover from a lock that somebody else holds, and removes it. Everything here is done while
the ledger's lock is held: one process at a time.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from trialbook.errors import EnvironmentProblem
from trialbook.storage.files import read_regular, sync, write_atomic

_LIMIT = 4096
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC


class Claims:
    """Lock files inside one git folder, each with its note in ``<git folder>/trialbook/claims``."""

    def __init__(self, common_folder: Path) -> None:
        self._base = common_folder.resolve()
        self._folder = self._base / "trialbook" / "claims"
        self._notes: dict[Path, Path] = {}

    def take(self, lock: Path, content: bytes, *, durable: bool = False) -> bool:
        """Make a lock file with this content, which is nobody else's; False if there is one.

        The file is whole from the first moment; with ``durable`` its content is on the disk.
        """
        note = self._note(lock)
        write_atomic(note, content)
        try:
            if durable:
                # The bytes only: the names follow in the order in which they are made.
                sync(note)
            lock.parent.mkdir(parents=True, exist_ok=True)
            _create_whole(note, lock, content)
        except FileExistsError:
            _forget(note)
            return False
        except OSError as error:
            _forget(note)
            raise EnvironmentProblem(
                f"cannot make the lock file {lock}: {error.strerror or error}",
                hint="check the permissions of the git folder and the space that is left",
            ) from error
        return True

    def complete(self, lock: Path) -> None:
        """Put the lock file in the place of the file that it locks."""
        lock.replace(lock.with_suffix(""))
        _forget(self._note(lock))

    def drop(self, lock: Path) -> None:
        """Remove the lock file, unless it was completed.

        Raises:
            EnvironmentProblem: it cannot be removed; `heal` will, when it can.
        """
        note = self._note(lock)
        if os.path.lexists(note):
            _remove(lock)
            _forget(note)

    def heal(self) -> None:
        """Remove the lock files that a killed process of ours left behind.

        Raises:
            EnvironmentProblem: one cannot be removed.
        """
        for note in sorted(_files_below(self._folder)):
            lock = self._base / note.relative_to(self._folder)
            content = read_regular(note, _LIMIT)
            if content and read_regular(lock, _LIMIT) == content:
                _remove(lock)
            _forget(note)

    def _note(self, lock: Path) -> Path:
        known = self._notes.get(lock)
        if known is None:
            known = self._folder / (lock.parent.resolve() / lock.name).relative_to(self._base)
            self._notes[lock] = known
        return known


def _files_below(folder: Path) -> Iterator[Path]:
    for top, _, names in os.walk(folder):
        yield from (Path(top, name) for name in names)


def _remove(lock: Path) -> None:
    try:
        lock.unlink(missing_ok=True)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot remove the lock file {lock}: {error.strerror or error}",
            hint="check the permissions of the git folder; the next trialbook command removes it",
        ) from error


def _forget(note: Path) -> None:
    """Remove a note whose lock file is gone. If it stays, it is in nobody's way: see `heal`."""
    with suppress(OSError):
        note.unlink(missing_ok=True)


def _create_whole(note: Path, lock: Path, content: bytes) -> None:
    try:
        os.link(note, lock)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links: the file is made, then filled. A process that is killed
        # between the two leaves an empty lock file that nobody can tell from a stranger's.
        with suppress(FileNotFoundError), os.fdopen(os.open(lock, _NEW, 0o644), "wb") as file:
            file.write(content)
