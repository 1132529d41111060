"""What a run's folder holds beyond its first records: amendments, incidents, later generations.

Read-only, from git objects. `standings` is what every count and page is made from; a trial's own
record stays as `Reader.trials` gives it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import TypeVar

from trialbook.errors import UserError
from trialbook.formats.records import RecordError
from trialbook.model.acceptance import PolicyError, parse_policy
from trialbook.model.amendment import Amendment
from trialbook.model.deciding import answer_of, decided
from trialbook.model.generation import Generation
from trialbook.model.grade import Grade
from trialbook.model.incident import ClosedIncident, Incident, OpenedIncident
from trialbook.model.outcome import Outcome
from trialbook.model.regrade import Regrade, RegradedTrial
from trialbook.model.runfiles import (
    AMENDMENTS,
    GENERATION,
    GENERATIONS,
    INCIDENTS,
    REGRADES,
    FileKind,
    place_of,
)
from trialbook.model.standing import Standing, standing_of
from trialbook.storage.authored_records import read_authored
from trialbook.storage.reader import Reader
from trialbook.storage.reviews import RunReviews, run_reviews
from trialbook.storage.runname import RunRef

T = TypeVar("T")


def amendments(reader: Reader, run: RunRef, trial_path: str) -> tuple[Amendment, ...]:
    """The amendments of a trial, oldest first.

    Raises:
        RecordError: one that cannot be read.
    """
    paths = _of_kind(reader, run, f"{trial_path}/{AMENDMENTS}", FileKind.AMENDMENT)
    found = [reader.record(Amendment, run, path) for path in paths]
    return tuple(sorted(found, key=lambda one: (one.created, one.id)))


def regrades(reader: Reader, run: RunRef) -> tuple[Regrade, ...]:
    """The later generations of grades, oldest first.

    Raises:
        RecordError: one that cannot be read.
    """
    paths = _of_kind(reader, run, REGRADES, FileKind.REGRADE)
    found = [reader.record(Regrade, run, path) for path in paths]
    return tuple(sorted(found, key=lambda one: (one.created, one.id)))


def generations(reader: Reader, run: RunRef) -> tuple[Generation, ...]:
    """The later generations of results, oldest first.

    Raises:
        RecordError: one that cannot be read.
    """
    paths = [
        path
        for name in reader.names(run, GENERATIONS)
        if reader.file(run, path := f"{GENERATIONS}/{name}/{GENERATION}") is not None
        and place_of(path)
    ]
    found = [reader.record(Generation, run, path) for path in paths]
    return tuple(sorted(found, key=lambda one: (one.created, one.id)))


def incidents(reader: Reader, run: RunRef) -> tuple[Incident, ...]:
    """The incidents of a run, oldest first.

    Raises:
        RecordError: a file that cannot be read as an incident, or a closing without its incident.
    """
    closings: dict[str, list[ClosedIncident]] = {}
    for path in _of_kind(reader, run, INCIDENTS, FileKind.INCIDENT_CLOSING):
        closed = _authored(reader, run, path, read_closing)
        _check_name(run, path, closed.incident)
        closings.setdefault(closed.incident, []).append(closed)
    found = []
    for path in _of_kind(reader, run, INCIDENTS, FileKind.INCIDENT):
        opened = _authored(reader, run, path, read_opening)
        _check_name(run, path, opened.incident)
        mine = sorted(closings.pop(opened.incident, []), key=lambda one: one.closed)
        found.append(Incident(opened=opened, closings=tuple(mine)))
    if closings:
        raise RecordError(f"runs/{run.path}/{INCIDENTS}: closed, and never opened: {min(closings)}")
    return tuple(sorted(found, key=lambda one: (one.opened.opened, one.id)))


def standings(reader: Reader, run: RunRef) -> list[Standing]:
    """Every trial of a run as it stands now, in the order of `Reader.trials`.

    Raises:
        RecordError: a record that cannot be read.
    """
    found = before_people(reader, run)
    people = run_reviews(reader, run, (one.trial for one in found))
    if people is None:
        return found
    return [_with_people(reader, run, one, people) for one in found]


def reviews_of(reader: Reader, run: RunRef) -> RunReviews | None:
    """What people said of a run; None if its plan asks nobody.

    Raises:
        RecordError: a record that cannot be read.
    """
    if reader.plan(run).judgement is None:
        return None
    return run_reviews(reader, run, (one.trial for one in before_people(reader, run)))


def before_people(reader: Reader, run: RunRef) -> list[Standing]:
    """Every trial of a run as it stands without what people who review said.

    Raises:
        RecordError: a record that cannot be read.
    """
    later = regraded(reader, run)
    return [
        standing_of(
            record,
            amendments=amendments(reader, run, record.path),
            regrade=later[record.path][0] if record.path in later else None,
            regraded=later[record.path][1] if record.path in later else None,
        )
        for record in reader.trials(run)
    ]


def standing(reader: Reader, run: RunRef, trial_path: str) -> Standing:
    """One trial as it stands now.

    Raises:
        UserError: there is no such trial.
        RecordError: a record that cannot be read.
    """
    name, found = regraded(reader, run).get(trial_path, (None, None))
    alone = standing_of(
        reader.trial(run, trial_path),
        amendments=amendments(reader, run, trial_path),
        regrade=name,
        regraded=found,
    )
    people = reviews_of(reader, run)
    return alone if people is None else _with_people(reader, run, alone, people)


def grades(reader: Reader, run: RunRef, standing: Standing) -> tuple[Grade, ...]:
    """The grades that stand for a trial, in the order of its record.

    Raises:
        UserError: one is not there.
        RecordError: one cannot be read.
    """
    folder = standing.record.path
    return tuple(reader.record(Grade, run, f"{folder}/{file}") for file in standing.grade_files)


def regraded(reader: Reader, run: RunRef) -> Mapping[str, tuple[str, RegradedTrial]]:
    """By trial: the newest generation that has it, and what that says of it."""
    found: dict[str, tuple[str, RegradedTrial]] = {}
    for generation in regrades(reader, run):
        found |= {trial.trial: (generation.id, trial) for trial in generation.trials}
    return found


def _with_people(reader: Reader, run: RunRef, alone: Standing, people: RunReviews) -> Standing:
    """A trial with what reviewers agreed on, which decides what the graders leave to them."""
    reviewed = people.of_trial(alone.record.path)
    if reviewed is None:
        return alone
    found = replace(alone, reviewed=reviewed)
    before = alone.trial.outcome
    if reviewed.verdict is None or before is not Outcome.NEEDS_REVIEW:
        return found
    try:
        policy = parse_policy(reader.plan(run).accept)
    except PolicyError:
        return found  # Nothing can follow from it; `verify` says what is wrong.
    answers = map(answer_of, grades(reader, run, alone))
    outcome, reason = decided(policy, answers, reviewed.verdict)
    trial = replace(alone.trial, outcome=outcome, reason=reason)
    return replace(found, trial=trial, unreviewed=before)


def _of_kind(reader: Reader, run: RunRef, folder: str, kind: FileKind) -> list[str]:
    paths = (f"{folder}/{name}" for name in reader.names(run, folder))
    return [path for path in paths if (place := place_of(path)) is not None and place.kind is kind]


def _check_name(run: RunRef, path: str, name: str) -> None:
    place = place_of(path)
    if place is None or place.id != name:
        raise RecordError(f"runs/{run.path}/{path}: speaks of another incident: {name!r}")


def _authored(reader: Reader, run: RunRef, path: str, read: Callable[[bytes, str], T]) -> T:
    data = reader.file(run, path)
    if data is None:
        raise UserError(f"the run {run.path} has no {path}")
    return read(data, f"runs/{run.path}/{path}")


def read_opening(data: bytes, shown: str) -> OpenedIncident:
    """The opening of an incident that a file holds; ``shown`` is the file, for messages.

    Raises:
        RecordError: it cannot be read as one.
    """
    return read_authored(data, shown, OpenedIncident, "incident")


def read_closing(data: bytes, shown: str) -> ClosedIncident:
    """The closing of an incident that a file holds.

    Raises:
        RecordError: it cannot be read as one.
    """
    return read_authored(data, shown, ClosedIncident, "incident_closing")
