"""Compares a judge with people, and puts on record what comes of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from trialbook import __version__
from trialbook.errors import UserError
from trialbook.formats.nearest import nearest
from trialbook.formats.records import to_json
from trialbook.model.calibration import Calibration, Draw, Drawn, Note
from trialbook.model.judge import JUDGE_PREFIX
from trialbook.model.judgement import JudgeIdentity
from trialbook.model.ledgerfiles import calibration_path
from trialbook.model.rubric import Rubric
from trialbook.storage.calibrations import (
    Compared,
    calibrations,
    compared,
    grades_of,
    newest_identity,
)
from trialbook.storage.corrections import regrades, reviews_of
from trialbook.storage.ledger import Ledger
from trialbook.storage.messages import calibration_message
from trialbook.storage.reader import Reader, RunRef
from trialbook.system import System, timestamp
from trialbook.workflow.authorship import author_of, worded
from trialbook.workflow.judge_setup import used_rubric
from trialbook.workflow.rubrics import latest_reference

DEFAULT_SAMPLE = 20
_SEED_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationRequest:
    """What to compare. Without ``seed``, the judge's own digest is the seed.

    ``notes`` has what somebody found when reading, by change.
    """

    judge: str
    rubric: str
    sample: int = DEFAULT_SAMPLE
    seed: str | None = None
    draw: Draw = Draw.EVEN
    notes: Mapping[str, str] = field(default_factory=dict)
    author: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToReview:
    """A run whose reviews a sample waits for: ``changes`` of the sample are in it.

    ``sealed`` says that nobody may look at the reviews yet. ``packets`` are, by reviewer, all that
    wait, in their order: which of them are of the sample would tell a reviewer which are not.
    """

    run: RunRef
    sealed: bool
    changes: int
    packets: Mapping[str, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibrated:
    """What came of it. ``commit`` is None if there is nothing new, or nothing to compare yet."""

    identity: JudgeIdentity
    rubric: Rubric
    compared: Compared
    record: Calibration | None
    commit: str | None
    to_review: tuple[ToReview, ...]
    warnings: tuple[str, ...]


def calibrate(root: Path, system: System, request: CalibrationRequest) -> Calibrated:
    """Compare a judge with people.

    Raises:
        UserError: no such judge or rubric, nothing judged, or a note on what nobody disputes.
        EnvironmentProblem: the ledger cannot be written.
    """
    ledger = Ledger.open(root, system)
    reader = Reader.open(root, ledger.ref)
    rubric = used_rubric(root, latest_reference(root, request.rubric), reader)
    if not rubric.verdicts:
        raise UserError(
            f"{rubric.reference} asks for no verdict, and a judge is calibrated by its verdicts",
            hint="calibrate it with a rubric that has verdicts, such as merge",
        )
    identity = newest_identity(grades_of(reader, request.judge, rubric))
    if identity is None:
        raise _nothing_judged(reader, request.judge, rubric)
    chosen = request.seed is not None
    drawn = Drawn(
        seed=request.seed if request.seed is not None else identity.sha256[:_SEED_DIGITS],
        chosen=chosen,
        how=request.draw,
        wanted=request.sample,
    )
    earlier = [
        one for one in calibrations(reader, rubric.reference) if one.judge == identity.sha256
    ]
    notes = _notes(earlier, request, ledger, system)
    found = compared(reader, identity, rubric, drawn, notes)
    _check_notes(request.notes, found)
    record, commit = _put(ledger, system, request, _Comparison(rubric, identity, found, earlier))
    return Calibrated(
        identity=identity,
        rubric=rubric,
        compared=found,
        record=record,
        commit=commit,
        to_review=tuple(_to_review(reader, found)),
        warnings=tuple(ledger.warnings),
    )


@dataclass(frozen=True, slots=True)
class _Comparison:
    rubric: Rubric
    identity: JudgeIdentity
    found: Compared
    earlier: list[Calibration]


def _put(
    ledger: Ledger, system: System, request: CalibrationRequest, made: _Comparison
) -> tuple[Calibration | None, str | None]:
    """Put a comparison on record, unless the last one says the same or there is no label yet."""
    found = made.found
    if not found.labels:
        return None, None
    record = Calibration(
        id=system.unique_name(),
        created=timestamp(system.now()),
        author=author_of(ledger, request.author),
        trialbook=__version__,
        rubric=made.rubric.reference,
        rubric_sha256=made.rubric.sha256,
        judge=made.identity.sha256,
        identity=made.identity,
        critical=made.rubric.critical,
        drawn=found.drawn,
        judged=found.judged,
        labels=found.labels,
        numbers=found.numbers,
    )
    last = made.earlier[-1] if made.earlier else None
    if last is not None and _same(last, record):
        return last, None
    path = calibration_path(record.rubric, record.id)
    return record, ledger.commit({path: to_json(record)}, calibration_message(record))


def _nothing_judged(reader: Reader, judge: str, rubric: Rubric) -> UserError:
    known = sorted({name for run in reader.runs() for name in _judges(reader, run)})
    return UserError(
        f"no judge {judge!r} has judged anything by {rubric.reference}",
        hint=nearest(judge, known)
        or f"have it judge a run first: trialbook judge RUN --judge {judge} "
        f"--rubric {rubric.reference}",
    )


def _judges(reader: Reader, run: RunRef) -> set[str]:
    return {
        use.grader.removeprefix(JUDGE_PREFIX).partition("@")[0]
        for one in regrades(reader, run)
        for use in one.graders
        if use.grader.startswith(JUDGE_PREFIX)
    }


def _notes(
    earlier: list[Calibration], request: CalibrationRequest, ledger: Ledger, system: System
) -> dict[str, Note]:
    """What is noted already, and what comes now, which stands above it."""
    found = {
        label.trial: label.note
        for record in earlier
        for label in record.labels
        if label.note is not None
    }
    if request.notes:
        author = author_of(ledger, request.author)
        now = timestamp(system.now())
        for trial, text in request.notes.items():
            found[trial] = Note(author=author, created=now, text=worded("note", text))
    return found


def _check_notes(notes: Mapping[str, str], found: Compared) -> None:
    """A note is about a disagreement."""
    disputed = set(found.numbers.disagreements)
    for trial in notes:
        if trial not in disputed:
            raise UserError(
                f"judge and people do not differ on {trial}",
                hint=f"they differ on {', '.join(sorted(disputed)) or 'nothing'}",
            )


def _same(one: Calibration, other: Calibration) -> bool:
    """Whether a comparison says nothing that another one does not say."""
    return one == replace(
        other, id=one.id, created=one.created, author=one.author, trialbook=one.trialbook
    )


def _to_review(reader: Reader, found: Compared) -> list[ToReview]:
    """Where the changes of a sample that have no label wait."""
    changes = Counter(RunRef(*trial.split("/")[:2]) for trial in found.drawn.waiting)
    waiting = []
    for run, count in sorted(changes.items()):
        people = reviews_of(reader, run)
        if people is None:
            continue
        packets = {name: tuple(one.id for one in people.waiting(name)) for name in people.reviewers}
        waiting.append(
            ToReview(
                run=run,
                sealed=people.sealed,
                changes=count,
                packets={name: ids for name, ids in packets.items() if ids},
            )
        )
    return waiting
