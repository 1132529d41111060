"""The runner's own notes on a run, outside the ledger: what is in flight, what is finished.

They live in the git folder, so that after a crash a resumed run knows which trials were cut off and
which were done but not yet committed. A note appears before its trial starts and goes when the
trial's record is in the ledger.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trialbook.formats.records import pack, unpack
from trialbook.model.digest import sha256
from trialbook.model.outcome import Outcome
from trialbook.model.trial import Trial, TrialBundle
from trialbook.storage.disk import doing
from trialbook.storage.files import remove_unfinished, write_atomic
from trialbook.workflow.series_notes import SeriesNotes
from trialbook.workflow.withheld import WithheldTrials


@dataclass(frozen=True, slots=True, kw_only=True)
class InFlight:
    """A trial that was started: its path inside the run, when, and the incident it is run for."""

    path: str
    started: str
    incident: str | None = None


class Journal:
    """The notes of one run, in ``folder``.

    Nothing secret is in them, but for ``withheld`` and ``series``.
    """

    def __init__(self, folder: Path) -> None:
        self.withheld = WithheldTrials(folder / "withheld")
        self.series = SeriesNotes(folder / "series")
        self._flight = folder / "in-flight"
        self._spool = folder / "spool"
        self.lock = folder / "lock"

    def clear(self) -> None:
        """Remove what a killed runner has not finished writing; for whoever holds ``lock``."""
        for folder in (self._flight, self._spool):
            remove_unfinished(folder)

    def started(self, path: str, moment: str, incident: str | None = None) -> None:
        """Note that a trial starts."""
        note = InFlight(path=path, started=moment, incident=incident)
        write_atomic(self._flight / _name(path), pack(note))

    def finished(self, bundle: TrialBundle) -> None:
        """Keep a finished trial until it is in the ledger, or for good if it may not be there.

        One that goes on later is not kept: its sessions are.
        """
        if self.goes_on(bundle.record):
            return
        if bundle.withheld:
            self.withheld.keep(bundle)
            return
        write_atomic(self._spool / _name(bundle.record.path), pack(bundle))

    def goes_on(self, trial: Trial | InFlight) -> bool:
        """Whether a trial that did not come to its end can go on with its next session."""
        ended = isinstance(trial, Trial) and trial.outcome is not Outcome.CANCELLED
        return not ended and trial.incident is None and self.series.holds(trial.path)

    def committed(self, path: str) -> None:
        """Forget a trial: its record is in the ledger, or it is withheld."""
        with doing(f"clear away the notes on {path} in {self._spool.parent}"):
            (self._spool / _name(path)).unlink(missing_ok=True)
            (self._flight / _name(path)).unlink(missing_ok=True)
        self.series.forget(path)

    def in_flight(self) -> list[InFlight]:
        """Trials that were started and are not known to be committed, in order of their path."""
        notes = [unpack(InFlight, path.read_bytes(), str(path)) for path in _files(self._flight)]
        return sorted(notes, key=lambda note: note.path)

    def spooled(self) -> Iterator[TrialBundle]:
        """Trials that were finished and are not known to be committed."""
        for path in _files(self._spool):
            yield unpack(TrialBundle, path.read_bytes(), str(path))


def _name(path: str) -> str:
    return sha256(path.encode())[:32]


def _files(folder: Path) -> list[Path]:
    # Unfinished temporary files of a killed writer have longer names.
    return sorted(path for path in folder.glob("*") if len(path.name) == len(_name("")))
