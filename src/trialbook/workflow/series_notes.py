"""The runner's own notes on series that are being done: the sessions of a trial that are over.

What an agent left stands here as it is, before anything secret was taken out; so the notes are in
the run's own folder inside the git folder, readable by their owner only, until the trial's record
is in the ledger.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from trialbook.errors import TrialbookError
from trialbook.execution.session_done import DoneSession, SoFar
from trialbook.formats.records import pack, unpack
from trialbook.model.digest import sha256
from trialbook.storage.files import remove_tree, remove_unfinished, write_atomic

_PRIVATE_FOLDER = 0o700
_PRIVATE_FILE = 0o600
_HEAD = "begun"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Head:
    """When the trial began, and how often each of its sessions did."""

    started: str
    begun: dict[int, int] = field(default_factory=dict)


class SeriesNotes:
    """The notes on the series of one run, in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of_trial(self, path: str) -> TrialNotes:
        """The notes on one trial, by its path in the run."""
        return TrialNotes(self._folder / sha256(path.encode())[:32])

    def holds(self, path: str) -> bool:
        """Whether a session of the trial is over, so that another runner can go on after it."""
        return self.of_trial(path).any_done

    def forget(self, path: str) -> None:
        """Forget a trial: its record is in the ledger, or it is withheld."""
        self.of_trial(path).remove()


class TrialNotes:
    """Keeps what is done of one trial, as a `Progress`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def any_done(self) -> bool:
        """Whether a session is over."""
        return self._session(1).is_file()

    def so_far(self) -> SoFar | None:
        """What an earlier runner left; None if there is nothing, or nothing that can be read."""
        if not self._folder.is_dir():
            return None
        remove_unfinished(self._folder)
        done: list[DoneSession] = []
        try:
            head = self._head()
            while (path := self._session(len(done) + 1)).is_file():
                done.append(unpack(DoneSession, path.read_bytes(), path.name))
        except (TrialbookError, OSError):
            # Of another version, say: the trial begins anew.
            self.remove()
            return None
        return SoFar(started=head.started, done=tuple(done), begun=head.begun)

    def begin(self, session: int, started: str) -> None:
        """Note that a session begins."""
        head = self._head() if self._head_path.is_file() else _Head(started=started)
        begun = {**head.begun, session: head.begun.get(session, 0) + 1}
        self._write(self._head_path, pack(_Head(started=head.started, begun=begun)))

    def keep(self, done: DoneSession) -> None:
        """Keep a session that is over; it appears whole or not at all."""
        self._write(self._session(done.record.session), pack(done))

    def remove(self) -> None:
        """Remove all notes on the trial."""
        if self._folder.is_dir():
            remove_tree(self._folder)
            with suppress(OSError):
                self._folder.parent.rmdir()  # Others may be in it.

    @property
    def _head_path(self) -> Path:
        return self._folder / _HEAD

    def _session(self, number: int) -> Path:
        return self._folder / f"session-{number}"

    def _head(self) -> _Head:
        return unpack(_Head, self._head_path.read_bytes(), _HEAD)

    def _write(self, path: Path, data: bytes) -> None:
        self._folder.mkdir(parents=True, exist_ok=True)
        self._folder.chmod(_PRIVATE_FOLDER)
        write_atomic(path, data, _PRIVATE_FILE)
