"""The files of a series in the ledger, read once for everything that is said of it."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeVar

from trialbook.formats.patch_lines import PatchLines, patch_lines
from trialbook.formats.records import RecordError, from_json
from trialbook.model.digest import sha256
from trialbook.model.grade import Grade
from trialbook.model.plan import Plan
from trialbook.model.review import Review
from trialbook.model.runfiles import (
    SERIES,
    TRAJECTORY,
    handover_path,
    notes_patch,
    planted_patch,
    session_grade,
    session_patch,
)
from trialbook.model.series import Moment, SessionPart
from trialbook.model.series_record import SeriesRecord
from trialbook.model.session import Handover, SessionRecord
from trialbook.model.trajectory import Trajectory
from trialbook.model.trial import Trial
from trialbook.reporting.trial_facts import TrialFacts, load_facts
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.series_reviews import opened, series_reviews, wanted_reviewers

_ATTEMPT = re.compile(r"sessions/(\d{1,6})/attempt-(\d{1,6})/" + re.escape(TRAJECTORY))

T = TypeVar("T")

GradeKey = tuple[int, SessionPart, Moment]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesFiles:
    """What is on record of a series.

    ``tried`` is None where the trial did not come so far, or its file cannot be read.
    ``grades`` are by session, part and moment. ``changes``, ``notes`` and ``planted`` are the lines
    of each session's patches, by session. ``trajectories`` are by session, in order of attempts.
    ``reviews`` are those that may be looked at, by rubric. ``key`` is the text of the sealed key as
    the suite has it, if that is the one of the plan.
    """

    trial: Trial
    sessions: tuple[SessionRecord, ...]
    handovers: Mapping[int, Handover]
    tried: SeriesRecord | None
    grades: Mapping[GradeKey, Grade]
    changes: Mapping[int, PatchLines]
    notes: Mapping[int, PatchLines]
    planted: Mapping[int, PatchLines]
    trajectories: Mapping[int, tuple[Trajectory, ...]]
    facts: TrialFacts
    reviews: Mapping[str, tuple[Review, ...]]
    key: str = ""

    @property
    def ran(self) -> tuple[SessionRecord, ...]:
        """The sessions that were not left out."""
        return tuple(one for one in self.sessions if one.outcome is not None)

    @property
    def notes_written(self) -> bool:
        """Whether any session changed a note."""
        return any(lines.changed_lines for lines in self.notes.values())

    def end_grades(self, session: int) -> dict[SessionPart, Grade]:
        """What the checks said at the end of a session."""
        return {
            part: grade
            for (number, part, moment), grade in self.grades.items()
            if number == session and moment is Moment.END
        }


def load_series(reader: Reader, run: RunRef, plan: Plan, trial: Trial) -> SeriesFiles | None:
    """The files of a series; None for a trial of an ordinary task.

    Raises:
        EnvironmentProblem: the ledger cannot be read.
        RecordError: what people answered cannot be.
    """
    if not trial.sessions:
        return None

    def data(path: str) -> bytes | None:
        return reader.file(run, f"{trial.path}/{path}")

    numbers = [one.session for one in trial.sessions]
    handovers = {n: _record(Handover, data(handover_path(n)), handover_path(n)) for n in numbers}
    grades = {
        (one.session, given.part, given.moment): _record(Grade, data(path), path)
        for one in trial.sessions
        for given in one.grades
        for path in (session_grade(one.session, given.part, given.moment),)
    }
    found: dict[int, list[Trajectory]] = {}
    for name in sorted(reader.files(run, trial.path), key=_order):
        match = _ATTEMPT.fullmatch(name)
        read = _record(Trajectory, data(name), name) if match else None
        if match and read is not None:
            found.setdefault(int(match[1]), []).append(read)
    tried = _record(SeriesRecord, data(SERIES), SERIES)
    return SeriesFiles(
        trial=trial,
        sessions=trial.sessions,
        handovers={n: one for n, one in handovers.items() if one is not None},
        tried=tried,
        grades={key: one for key, one in grades.items() if one is not None},
        changes=_lines({n: data(session_patch(n)) for n in numbers}),
        notes=_lines({n: data(notes_patch(n)) for n in numbers}),
        planted=_lines({n: data(planted_patch(n)) for n in numbers}),
        trajectories={n: tuple(each) for n, each in found.items()},
        facts=load_facts(reader, run, plan, trial),
        reviews=opened(series_reviews(reader, run, trial.path), wanted_reviewers(plan)),
        key=_key(reader, plan, trial, tried),
    )


def _key(reader: Reader, plan: Plan, trial: Trial, tried: SeriesRecord | None) -> str:
    """The sealed key, found by its digest among the files that the plan froze."""
    digest = tried.repair.key_sha256 if tried is not None and tried.repair is not None else None
    task = plan.tasks.get(trial.task)
    for path, known in task.files.items() if task is not None else ():
        if digest is not None and known == digest:
            found = reader.ledger_file(path) or b""
            return found.decode("utf-8", "replace") if sha256(found) == digest else ""
    return ""


def _order(name: str) -> tuple[int, int, str]:
    match = _ATTEMPT.fullmatch(name)
    return (int(match[1]), int(match[2]), "") if match else (0, 0, name)


def _lines(patches: Mapping[int, bytes | None]) -> dict[int, PatchLines]:
    found = {number: patch_lines(data) for number, data in patches.items()}
    return {number: lines for number, lines in found.items() if lines is not None}


def _record(kind: type[T], data: bytes | None, where: str) -> T | None:
    """What a file holds; None if it is not there, or says nothing that can be read."""
    if data is None:
        return None
    try:
        return from_json(kind, data, where)
    except RecordError:
        return None
