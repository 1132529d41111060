"""Judges compared with people: the records of it, and the same comparison made from the ledger.

`compared` is the one function that compares. The command that makes a record, the question how far
a judge is trusted, and verification all use it, so that a record holds only if the reviews and
grades of its commit give exactly it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from hashlib import sha256 as hash_of
from itertools import chain, zip_longest
from pathlib import Path

from trialbook.formats.records import RecordError, from_json
from trialbook.model.calibration import (
    Calibration,
    Cited,
    Draw,
    Drawn,
    JudgedChange,
    Label,
    Note,
    Numbers,
)
from trialbook.model.digest import sha256
from trialbook.model.grade import Grade, GradeStatus
from trialbook.model.judge import JUDGE_PREFIX
from trialbook.model.judgement import JudgeIdentity, identity_digest
from trialbook.model.ledgerfiles import calibration_path, calibrations_folder, records_folder
from trialbook.model.review import Reviewed
from trialbook.model.rubric import AnswerKind, Rubric
from trialbook.model.runfiles import reconciliation_path, regraded_grade
from trialbook.stats.calibrated import numbers_of
from trialbook.storage.corrections import regrades, reviews_of
from trialbook.storage.files import read_regular
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.reviews import RunReviews
from trialbook.storage.rubrics import rubric_of, rubric_path
from trialbook.system import parse_timestamp

_CLOCKS_APART = 3600
_TIME = re.compile(r"[0-9]{4}-[01][0-9]-[0-3][0-9]T[0-2][0-9]:[0-5][0-9]:[0-5][0-9]\.[0-9]{3}Z")

NO_VERDICT = "none"
"""What stands among a judge's votes for one that gave no verdict."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedGrade:
    """A grade that a judge gave: of which change, where it is, and what it says."""

    trial: str
    configuration: str
    cited: Cited
    created: str
    grade: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """A comparison. ``asked`` counts the judged changes that people are asked to review."""

    drawn: Drawn
    judged: tuple[JudgedChange, ...]
    labels: tuple[Label, ...]
    numbers: Numbers
    asked: int


def calibrations(reader: Reader, rubric: str) -> tuple[Calibration, ...]:
    """The calibrations with a rubric that can be read, oldest first; ``rubric`` is ``merge@1``."""
    folder = calibrations_folder(rubric)
    found = []
    for name in reader.ledger_names(folder):
        path = f"{folder}/{name}"
        data = reader.ledger_file(path)
        if data is None or records_folder(path) is None:
            continue
        try:
            record = from_json(Calibration, data, path)
        except RecordError:
            continue  # Verification says so; it lets nobody do anything.
        placed = record.rubric == rubric and calibration_path(rubric, record.id) == path
        if placed and _made(record) is not None:
            found.append(record)
    return tuple(sorted(found, key=_when))


def grades_of(reader: Reader, judge: str, rubric: Rubric) -> Iterator[JudgedGrade]:
    """Every grade that judges of a name gave by a rubric, oldest first in each run."""
    for run in reader.runs():
        for regrade in regrades(reader, run):
            for trial in regrade.trials:
                for use in trial.grades:
                    name = use.grader.partition("@")[0]
                    new = use.file == regraded_grade(regrade.id, use.grader)
                    if name != f"{JUDGE_PREFIX}{judge}" or not new:
                        continue
                    path = f"{trial.trial}/{use.file}"
                    grade = reader.record(Grade, run, path)
                    if _by(grade, rubric):
                        yield JudgedGrade(
                            trial=f"{run.path}/{trial.trial}",
                            configuration=f"{run.suite}/{trial.trial.split('/')[1]}",
                            cited=Cited(path=f"runs/{run.path}/{path}", sha256=use.sha256),
                            created=regrade.created,
                            grade=grade,
                        )


def newest_identity(grades: Iterable[JudgedGrade]) -> JudgeIdentity | None:
    """Who gave the newest of some grades; None without any."""
    found = max(grades, key=lambda one: one.created, default=None)
    judgement = None if found is None else found.grade.judgement
    return None if judgement is None else judgement.identity


def compared(
    reader: Reader,
    identity: JudgeIdentity,
    rubric: Rubric,
    drawn: Drawn,
    notes: Mapping[str, Note],
    before: tuple[str, str] | None = None,
) -> Compared:
    """Compare a judge with people on the changes that a seed draws.

    Whatever an earlier calibration of the same judge had a label for is among them: nobody can get
    rid of a label by drawing again.

    Args:
        reader: The ledger.
        identity: The judge.
        rubric: What both answered.
        drawn: Seed, way and number; what is waiting is worked out.
        notes: What people noted, by change; those that fit no disagreement are left out.
        before: Only calibrations before this time and id are earlier ones; None for all.
    """
    judged = tuple(_judged(reader, identity, rubric))
    said = {one.trial: one for one in judged}
    reviews = list(_reviews(reader, rubric))
    people = {one.trial: one for one in _labels(reader, rubric, reviews)}
    asked = _asked(reviews) & said.keys()
    earlier = {
        label.trial
        for one in calibrations(reader, rubric.reference)
        if one.judge == identity.sha256 and (before is None or _when(one) < before)
        for label in one.labels
    }
    first = sorted(earlier & said.keys())
    order = draw_order([said[trial] for trial in asked], drawn)
    chosen = first + [trial for trial in order if trial not in earlier]
    chosen = chosen[: max(drawn.wanted, len(first))]
    labels = tuple(
        _noted(people[trial], said[trial], notes) for trial in sorted(chosen) if trial in people
    )
    waiting = tuple(sorted(trial for trial in chosen if trial not in people))
    plain = draw_order([said[trial] for trial in asked], replace(drawn, how=Draw.PLAIN))
    fair = drawn.how is Draw.PLAIN and not drawn.chosen and not waiting
    # What nobody is asked about could be anything: then they speak only for the rest.
    whole = len(asked) == len(judged)
    at_random = fair and whole and set(chosen) == set(plain[: len(chosen)])
    found = replace(drawn, waiting=waiting, at_random=at_random)
    return Compared(
        drawn=found,
        judged=judged,
        labels=labels,
        numbers=numbers_of(judged, labels, found),
        asked=len(asked),
    )


def draw_order(judged: Sequence[JudgedChange], drawn: Drawn) -> list[str]:
    """Changes in the order in which a seed draws them."""
    ordered = sorted(judged, key=lambda one: _place(drawn.seed, one.trial))
    if drawn.how is Draw.PLAIN:
        return [one.trial for one in ordered]
    accepted = [one.trial for one in ordered if one.accepted]
    rejected = [one.trial for one in ordered if not one.accepted]
    pairs = chain.from_iterable(zip_longest(rejected, accepted))
    return [trial for trial in pairs if trial is not None]


def calibration_faults(root: Path, reader: Reader, record: Calibration) -> list[str]:
    """What a record says that the ledger, as it was when it was added, does not.

    Args:
        root: The ledger.
        reader: The ledger at the commit that added the record.
        record: The record.
    """
    rubric = rubric_at(root, reader, record.rubric, record.rubric_sha256)
    if rubric is None:
        return [f"there is no {record.rubric} with sha256 {record.rubric_sha256}"]
    if {record.judge, record.identity.sha256} != {identity_digest(record.identity)}:
        return ["its digest of the judge is not that of what it says of the judge"]
    made = _made(record)
    if made is None or made.timestamp() > reader.committed() + _CLOCKS_APART:
        return ["it was not made when it says: the commit that added it is older"]
    notes = {one.trial: one.note for one in record.labels if one.note is not None}
    drawn = replace(record.drawn, waiting=(), at_random=False)
    try:
        found = compared(reader, record.identity, rubric, drawn, notes, before=_when(record))
    except RecordError as error:
        return [error.message]
    told = {
        "the critical questions": (record.critical, rubric.critical),
        "what the judge said": (record.judged, found.judged),
        "what people said": (record.labels, found.labels),
        "what was drawn": (record.drawn, found.drawn),
        "the numbers": (_without_words(record.numbers), _without_words(found.numbers)),
    }
    return [f"{what}: not what the ledger gives" for what, (is_, was) in told.items() if is_ != was]


def rubric_at(root: Path, reader: Reader, reference: str, digest: str) -> Rubric | None:
    """A version of a rubric with those bytes, from the commit or else the folder; None without."""
    path = rubric_path(reference)
    for data in (reader.ledger_file(path), _in_folder(root, path)):
        if data is not None and sha256(data) == digest:
            return rubric_of(data.decode("utf-8", "replace"), reference)
    return None


# --- parts ---------------------------------------------------------------------------------------


def _judged(reader: Reader, identity: JudgeIdentity, rubric: Rubric) -> Iterator[JudgedChange]:
    """What one identity said of every change; one whose last grade has no verdict is left out."""
    found: dict[str, list[JudgedGrade]] = {}
    for one in grades_of(reader, identity.judge, rubric):
        judgement = one.grade.judgement
        if judgement is None or judgement.identity != identity:
            continue
        mine = found.setdefault(one.trial, [])
        # What was taken over is no new answer.
        if all(judgement.votes != _votes(other) for other in mine):
            mine.append(one)
    for trial, grades in sorted(found.items()):
        last = grades[-1].grade
        if last.status is not GradeStatus.GRADED or last.judgement is None:
            continue
        yield JudgedChange(
            trial=trial,
            configuration=grades[0].configuration,
            verdict=last.judgement.verdict or NO_VERDICT,
            accepted=bool(last.accepted),
            grades=tuple(one.cited for one in grades),
            votes=tuple(vote.verdict or NO_VERDICT for one in grades for vote in _votes(one)),
        )


def _votes(one: JudgedGrade) -> tuple:  # type: ignore[type-arg]
    return () if one.grade.judgement is None else one.grade.judgement.votes


def _by(grade: Grade, rubric: Rubric) -> bool:
    judgement = grade.judgement
    wanted = rubric.reference, rubric.sha256
    return judgement is not None and (judgement.rubric, judgement.rubric_sha256) == wanted


def _reviews(reader: Reader, rubric: Rubric) -> Iterator[tuple[RunRef, RunReviews]]:
    for run in reader.runs():
        judgement = reader.plan(run).judgement
        wanted = rubric.reference, rubric.sha256
        if judgement is None or (judgement.rubric, judgement.rubric_sha256) != wanted:
            continue
        people = reviews_of(reader, run)
        if people is not None:
            yield run, people


def _asked(reviews: Iterable[tuple[RunRef, RunReviews]]) -> set[str]:
    """The changes that people are asked to review."""
    return {
        f"{run.path}/{packet.item.trial}"
        for run, people in reviews
        for packet in people.packets.of("")
        if packet.item.trial
    }


def _labels(
    reader: Reader, rubric: Rubric, reviews: Iterable[tuple[RunRef, RunReviews]]
) -> Iterator[Label]:
    """What people agreed on, of every change whose reviews are open."""
    for run, people in reviews:
        if people.sealed:
            continue
        for trial in people.packets.trials:
            reviewed = people.of_trial(trial.path)
            if reviewed is not None and reviewed.verdict is not None:
                label = _label(f"{run.path}/{trial.path}", reviewed, rubric)
                yield replace(
                    label,
                    reviews=tuple(
                        Cited(path=f"runs/{run.path}/{one.path}", sha256=one.sha256)
                        for one in people.originals(trial.path)
                    ),
                    reconciliations=tuple(
                        _cited(reader, run, reconciliation_path(trial.path, one.id))
                        for one in reviewed.reconciliations
                    ),
                )


def _label(trial: str, reviewed: Reviewed, rubric: Rubric) -> Label:
    """A label without the files that it comes from."""
    verdict = reviewed.verdict or NO_VERDICT
    return Label(
        trial=trial,
        verdict=verdict,
        accepted=verdict == rubric.verdicts[0],
        people=len(reviewed.reviews),
        agreed=reviewed.agreed.value,
        refused=tuple(one for one in rubric.critical if _refused(reviewed, one)),
        reviews=(),
    )


def _cited(reader: Reader, run: RunRef, path: str) -> Cited:
    return Cited(path=f"runs/{run.path}/{path}", sha256=sha256(reader.file(run, path) or b""))


def _refused(reviewed: Reviewed, question: str) -> bool:
    """Whether people answer a question with *no*; while they have not settled it, one is enough."""
    settled = reviewed.settled(question)
    if settled is not None and settled.final in tuple(AnswerKind):
        return settled.final == AnswerKind.NO
    return any(one.answer(question) == AnswerKind.NO for one in reviewed.reviews)


def _noted(label: Label, said: JudgedChange, notes: Mapping[str, Note]) -> Label:
    if label.accepted == said.accepted:
        return label
    return replace(label, note=notes.get(label.trial))


def _place(seed: str, trial: str) -> str:
    return hash_of(f"{seed}\x1f{trial}".encode("utf-8", "surrogateescape")).hexdigest()


def _when(record: Calibration) -> tuple[str, str]:
    return record.created, record.id


def _made(record: Calibration) -> datetime | None:
    """When a record says that it was made; None if that is no time."""
    try:
        return parse_timestamp(record.created) if _TIME.fullmatch(record.created) else None
    except ValueError:
        return None


def _without_words(numbers: Numbers) -> Numbers:
    """Numbers without the sentences that say them, which may be put better one day."""
    unmet = tuple(replace(one, message="") for one in numbers.unmet)
    return replace(
        numbers, unmet=unmet, rates=tuple(replace(one, because="") for one in numbers.rates)
    )


def _in_folder(root: Path, path: str) -> bytes | None:
    return read_regular(root / path)
