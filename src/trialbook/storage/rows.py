"""Every trial of a run in one short row: what counting needs, and nothing else."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import NamedTuple

from trialbook.model.deciding import is_judge
from trialbook.model.grade import GradeSummary
from trialbook.model.outcome import Outcome
from trialbook.model.plan import SlotKey
from trialbook.model.standing import Standing
from trialbook.model.trial import Trial
from trialbook.storage.collection import no_collection
from trialbook.storage.corrections import amendments, regraded, standing, standings
from trialbook.storage.reader import Reader
from trialbook.storage.runname import RunRef


class GradeRow(NamedTuple):
    """What a grader said of a trial, in numbers."""

    grader: str
    status: str
    accepted: bool | None
    passed: int
    total: int


class TrialRow(NamedTuple):
    """One trial as it counts now, amendments and later grades included.

    ``corrected`` says whether the outcome is not the recorded one, people's verdicts that were left
    to them apart; ``isolated`` is None where nothing ran.
    """

    task: str
    configuration: str
    repetition: int
    rerun: int
    outcome: Outcome
    corrected: bool
    started: str
    finished: str
    cost_usd: str | None
    basis: str
    isolated: bool | None
    grades: tuple[GradeRow, ...]

    @property
    def slot(self) -> SlotKey:
        """The slot that the trial belongs to."""
        return SlotKey(self.task, self.configuration, self.repetition)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Usage:
    cost_usd: str | None = None
    basis: str = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Isolation:
    isolated: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class _Recorded:
    """What of a trial's record goes into its row; the rest is not even looked at."""

    task: str
    configuration: str
    repetition: int
    rerun: int = 0
    outcome: Outcome
    started: str
    finished: str
    usage: _Usage = _Usage()
    isolation: _Isolation | None = None
    grades: tuple[GradeSummary, ...] = ()


def rows(reader: Reader, run: RunRef, known: Collection[Standing] | None = None) -> list[TrialRow]:
    """The trials of a run, by task, configuration, repetition and rerun.

    A reader with a cache reads a run once for as long as nothing is added to it. ``known`` are the
    run's trials as they stand, if they are at hand.

    Raises:
        RecordError: a record that cannot be read.
    """
    with no_collection():
        return reader.answer(run, "trial-rows", list[TrialRow], lambda: _read(reader, run, known))


def _read(reader: Reader, run: RunRef, known: Collection[Standing] | None) -> list[TrialRow]:
    if known is None and reader.plan(run).judgement is not None:
        # People may have settled any of them.
        known = standings(reader, run)
    if known is not None:
        return sorted((_row(one.trial, one.changed) for one in known), key=lambda row: row[:4])
    corrected = set(regraded(reader, run))
    found = []
    for path, record in reader.records(run, _Recorded):
        if path in corrected or amendments(reader, run, path):
            whole = standing(reader, run, path)
            found.append(_row(whole.trial, whole.changed))
        else:
            found.append(_row(record))
    return sorted(found, key=lambda row: row[:4])


def _row(trial: Trial | _Recorded, changed: bool = False) -> TrialRow:  # noqa: FBT001, FBT002 - facts
    return TrialRow(
        task=trial.task,
        configuration=trial.configuration,
        repetition=trial.repetition,
        rerun=trial.rerun,
        outcome=trial.outcome,
        corrected=changed,
        started=trial.started,
        finished=trial.finished,
        cost_usd=trial.usage.cost_usd,
        basis=trial.usage.basis,
        isolated=None if trial.isolation is None else trial.isolation.isolated,
        grades=tuple(
            GradeRow(grade.grader, grade.status, grade.accepted, grade.passed, grade.total)
            for grade in trial.grades
            if not is_judge(grade.grader)
        ),
    )
