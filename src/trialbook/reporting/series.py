"""What is said of one series: every question with its answer, counts by dimension, the timeline.

Nothing of it is stored: it follows from the ledger, and is made whenever somebody looks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan
from trialbook.model.review import Review
from trialbook.model.series import (
    REVIEWER,
    Answer,
    ConflictOutcome,
    Moment,
    RepairClass,
    Said,
    SessionPart,
)
from trialbook.model.series_questions import (
    BY_NAME,
    CONTINUITY,
    MAINTAINABILITY,
    QUESTIONS,
    REPAIR,
    TRAJECTORY,
    SeriesQuestion,
)
from trialbook.model.series_record import Stated
from trialbook.model.session import SessionRecord
from trialbook.model.trial import Trial
from trialbook.reporting.series_conduct import again, conduct_hints, maintainability_hints
from trialbook.reporting.series_continuity import (
    conflict_of,
    continuity_answers,
    continuity_hints,
    holds_at,
    reworks,
)
from trialbook.reporting.series_files import SeriesFiles, load_series
from trialbook.reporting.series_repair import repair_answers, repair_hints
from trialbook.reporting.series_words import HintGiven, some
from trialbook.reporting.wording import number_of
from trialbook.stats.rediscovery import Rediscovered
from trialbook.stats.rework import Rework
from trialbook.stats.series import OUTCOME, Score, conflict_outcome, repair_class, scores
from trialbook.storage.reader import Reader, RunRef

_OURS = frozenset({Outcome.ENVIRONMENT_FAILURE, Outcome.PROVIDER_OUTAGE, Outcome.CANCELLED})
_UNKNOWN = _OURS | {Outcome.GRADER_FAILURE, Outcome.NEEDS_REVIEW}
_WITHHELD = "withheld until the answers to the repair are in"
_NOBODY = "nobody has answered yet"


class Became(StrEnum):
    """What has become of a decision by the end of a session."""

    KEPT = "kept"
    REVISED = "revised"
    CONTRADICTED = "contradicted"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionView:
    """A decision, with what became of it by the end of each session from its own on."""

    stated: Stated
    became: Mapping[int, Became]
    evidence: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesView:
    """All that is said of one series.

    ``scores`` are by dimension, and never added up. ``verdicts`` are what reviewers would do with
    the whole change, by name. ``key_open`` says whether the sealed key may be looked at.
    """

    files: SeriesFiles
    answers: tuple[Answer, ...]
    scores: tuple[Score, ...]
    conflict: ConflictOutcome | None
    repair: RepairClass | None
    decisions: tuple[DecisionView, ...]
    rework: tuple[Rework, ...]
    again: tuple[Rediscovered, ...]
    verdicts: Mapping[str, str]
    key_open: bool

    def answer(self, question: str) -> Answer:
        """The answer to a question, by its name.

        Raises:
            KeyError: there is no such question.
        """
        return {one.question: one for one in self.answers}[question]


def series_of(reader: Reader, run: RunRef, plan: Plan, trial: Trial) -> SeriesView | None:
    """What is said of a trial's sessions; None for one of an ordinary task.

    Raises:
        EnvironmentProblem: the ledger cannot be read.
        RecordError: what people answered cannot be.
    """
    files = load_series(reader, run, plan, trial)
    return None if files is None else view_of(files)


def series_views(reader: Reader, run: RunRef, trials: Iterable[Trial]) -> dict[str, SeriesView]:
    """What is said of those trials of a run that have several sessions, by path.

    Raises:
        EnvironmentProblem: the ledger cannot be read.
        RecordError: what people answered cannot be.
    """
    found = {}
    for trial in trials:
        if trial.sessions:
            view = series_of(reader, run, reader.plan(run), trial)
            if view is not None:
                found[trial.path] = view
    return found


def view_of(files: SeriesFiles) -> SeriesView:
    """The same from its files."""
    key_open = REPAIR in files.reviews or files.tried is None or files.tried.repair is None
    answers = (*_sessions(files), *_questions(files, key_open=key_open))
    said = {one.question: one.answer for one in answers}
    tried = files.tried
    decision = conflict_of(tried)
    conflict = None
    if decision is not None and decision.conflict is not None:
        held = holds_at(tried, decision.id, decision.conflict)
        conflict = conflict_outcome(
            None if held is None else held.holds,
            said[f"{CONTINUITY}/changes-named"],
            said[f"{CONTINUITY}/one-path"],
        )
    return SeriesView(
        files=files,
        answers=answers,
        scores=scores(answers),
        conflict=conflict,
        repair=repair_class(
            said[f"{REPAIR}/reported-passes"],
            said[f"{REPAIR}/siblings-pass"],
            said[f"{REPAIR}/cause-changed"],
        ),
        decisions=tuple(_decisions(files, conflict)),
        rework=tuple(reworks(files)),
        again=tuple(again(files)),
        verdicts={
            one.reviewer: one.verdict
            for one in files.reviews.get(MAINTAINABILITY, ())
            if one.verdict is not None
        },
        key_open=key_open,
    )


# --- the outcome of each session -----------------------------------------------------------------


def _sessions(files: SeriesFiles) -> Iterator[Answer]:
    """Whether each session ended green. What siblings say belongs to the repair alone."""
    for one in files.sessions:
        said, evidence = _green(files, one)
        hint = "" if evidence else one.reason
        yield Answer(question=f"{OUTCOME}/{one.name}", answer=said, evidence=evidence, hint=hint)


def _green(files: SeriesFiles, record: SessionRecord) -> tuple[Said, tuple[str, ...]]:
    if record.outcome is None:
        return Said.NOT_APPLICABLE, ()
    if record.outcome in _UNKNOWN:
        return Said.UNKNOWN, (f"session {record.session}: {record.outcome.value}",)
    grades = files.end_grades(record.session)
    repair = None if files.tried is None else files.tried.repair
    siblings = repair.siblings if repair and repair.session == record.session else ()
    at = f"@{record.end.tree[:12]}"
    asked = [
        (f"{part.value} {one.id}{at}", one.passed)
        for part, grade in grades.items()
        for one in grade.checks
        if not (part is SessionPart.PRIVATE and one.id in siblings)
    ]
    failed = [name for name, passed in asked if passed is False]
    if record.outcome not in (Outcome.ACCEPTED, Outcome.REJECTED):
        return Said.NO, some([f"session {record.session}: {record.outcome.value}", *failed])
    if failed:
        return Said.NO, some(failed)
    # A check without an answer did not fail, and does not show that nothing did.
    untold = [f"{name} is not known" for name, passed in asked if passed is None]
    ended = {given.part for given in record.grades if given.moment is Moment.END}
    untold += [f"what {part.value} said{at} is not on record" for part in sorted(ended - {*grades})]
    if untold:
        return Said.UNKNOWN, some(untold)
    told = [
        f"{part.value}: {_passed(grade.checks, siblings)}{at}" for part, grade in grades.items()
    ]
    return Said.YES, tuple(told) or (f"session {record.session}: nothing was to be checked{at}",)


def _passed(checks: Sequence[object], siblings: Sequence[str]) -> str:
    left = sum(getattr(one, "id", "") in siblings for one in checks)
    beside = f", {left} siblings aside" if left else ""
    green = len(checks) - left
    return f"{number_of(green, 'check')} {'passes' if green == 1 else 'pass'}{beside}"


# --- the questions of the rubrics ----------------------------------------------------------------


def _questions(files: SeriesFiles, *, key_open: bool) -> Iterator[Answer]:
    known = {one.question: one for one in (*continuity_answers(files), *repair_answers(files))}
    hints = _hints(files)
    for question in QUESTIONS:
        own = known.get(question.name)
        if question.auto or (own is not None and own.answer is Said.NOT_APPLICABLE):
            yield own or Answer(question=question.name, answer=Said.UNKNOWN)
            continue
        if question.rubric == REPAIR and files.tried and files.tried.repair is None:
            why = "nothing was to be repaired"
            yield Answer(question=question.name, answer=Said.NOT_APPLICABLE, hint=why)
            continue
        hint = hints.get(question.name)
        text = "" if hint is None else hint.said
        if question.sealed and not key_open and text:
            text = _WITHHELD
        yield _of_people(question, files.reviews.get(question.rubric, ()), text)


def _hints(files: SeriesFiles) -> dict[str, HintGiven]:
    found: dict[str, HintGiven] = {}
    for rubric, hints in (
        (CONTINUITY, continuity_hints(files)),
        (REPAIR, repair_hints(files)),
        (MAINTAINABILITY, maintainability_hints(files.tried.change if files.tried else None)),
        (TRAJECTORY, conduct_hints(files)),
    ):
        found |= {f"{rubric}/{name}": hint for name, hint in hints.items()}
    return found


def _of_people(question: SeriesQuestion, reviews: Sequence[Review], hint: str) -> Answer:
    """What people answer; where they differ, it is not known, and never counted as no."""
    given = [(one, one.answer(question.id)) for one in reviews]
    said = {answer for _, answer in given if answer is not None}
    if len(said) != 1:
        told = ", ".join(f"{one.reviewer} {answer}" for one, answer in given if answer)
        why = f"reviewers differ: {told}" if told else _NOBODY
        hint = "; ".join(filter(None, (why, hint)))
        return Answer(question=question.name, answer=Said.UNKNOWN, by=REVIEWER, hint=hint)
    evidence = dict.fromkeys(place for one in reviews for place in one.evidence(question.id))
    notes = [
        answer.note
        for one in reviews
        for answer in one.answers
        if answer.question == question.id and answer.note
    ]
    return Answer(
        question=question.name,
        answer=Said(said.pop()),
        evidence=some((*evidence, *notes)),
        by=REVIEWER,
        hint=hint,
    )


# --- decisions ------------------------------------------------------------------------------------


def _decisions(files: SeriesFiles, conflict: ConflictOutcome | None) -> Iterator[DecisionView]:
    """What became of each decision, session by session.

    One that was revised is so from the session whose requirement is against it.
    """
    tried = files.tried
    for one in () if tried is None else tried.decisions:
        became, evidence = {}, []
        for record in files.ran:
            held = holds_at(tried, one.id, record.session)
            if held is None:
                continue
            after = one.conflict is not None and record.session >= one.conflict
            if after:
                became[record.session] = _after_conflict(held.holds, conflict)
            else:
                became[record.session] = _BECAME[held.holds]
            if held.holds is not True:
                evidence += [f"session {record.session}: {place}" for place in held.evidence]
        yield DecisionView(stated=one, became=became, evidence=some(evidence))


_BECAME = {True: Became.KEPT, False: Became.CONTRADICTED, None: Became.UNKNOWN}


def _after_conflict(
    holds: bool | None,  # noqa: FBT001 - three answers
    conflict: ConflictOutcome | None,
) -> Became:
    """What became of a decision that a requirement was against by then."""
    if conflict is ConflictOutcome.REVISED_EXPLICITLY:
        return Became.REVISED
    if conflict in (ConflictOutcome.PARALLEL_PATH, ConflictOutcome.SILENTLY_CONTRADICTED):
        return Became.CONTRADICTED
    return Became.KEPT if holds else Became.UNKNOWN


def code_of(question: str) -> str:
    """What tables call a question: ``C1``; a session's outcome has none."""
    found = BY_NAME.get(question)
    return "" if found is None else found.code
