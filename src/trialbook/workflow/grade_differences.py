"""Old and new grades of one trial side by side: what differs, and whether that is a flip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from trialbook.execution.classify import LIMIT_OUTCOMES
from trialbook.grading.accept import GRADED_ANYWAY, Limit
from trialbook.model.grade import Grade, GradeStatus
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan
from trialbook.model.process import Ended
from trialbook.model.regrade import GradeDifference, RegradedGrade
from trialbook.model.standing import Standing
from trialbook.model.trial import Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacedGrade:
    """A grade with its file in the trial's folder, and the digest of that file."""

    grade: Grade
    file: str
    sha256: str

    @property
    def line(self) -> RegradedGrade:
        """The grade in one line."""
        grade = self.grade
        return RegradedGrade(
            grader=grade.grader,
            version=grade.version,
            status=grade.status.value,
            accepted=grade.accepted,
            passed=grade.passed,
            total=grade.total,
            sha256=self.sha256,
            file=self.file,
            verdict=grade.judgement.verdict if grade.judgement else None,
            trust=grade.judgement.trust if grade.judgement else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Again:
    """A trial judged again. ``because`` says why its old grades stay; empty if the new ones count.

    ``new`` has the graders that were run, even where the old grades stay.
    """

    standing: Standing
    old: tuple[PlacedGrade, ...]
    new: tuple[Grade, ...] = ()
    because: str = ""

    @property
    def path(self) -> str:
        """The trial's folder in the run."""
        return self.standing.record.path

    @property
    def pairs(self) -> Iterator[tuple[Grade, Grade]]:
        """Old and new grade of every grader that was run and had judged it before."""
        old = {one.grade.grader: one.grade for one in self.old}
        return ((old[one.grader], one) for one in self.new if one.grader in old)

    @property
    def first(self) -> tuple[Grade, ...]:
        """The grades of graders that had not judged it before."""
        old = {one.grade.grader for one in self.old}
        return tuple(one for one in self.new if one.grader not in old)


def settled(again: Again) -> Again:
    """Keep the old grades where a grader that gave an answer before gives none now.

    Otherwise a broken grader could make an outcome one that may be run again. A judge that is
    another one than before speaks for itself: what it fails at is its own, and on record.
    """
    for old, new in again.pairs:
        if _another_judge(old, new):
            continue
        if new.status is GradeStatus.FAILED and old.status is not GradeStatus.FAILED:
            return replace(again, because=f"{new.grader} gave no usable answer: {new.message}")
    return again


def _another_judge(old: Grade, new: Grade) -> bool:
    one, other = old.judgement, new.judgement
    return one is not None and other is not None and one.identity != other.identity


def differences(again: Again, *, same_files: bool) -> Iterator[GradeDifference]:
    """Every grade that says something else than before.

    ``same_files`` says whether graders were given the same files as for the old grades.
    """
    for old, new in again.pairs:
        answers = {check.id: check.passed for check in old.checks}
        now = {check.id: check.passed for check in new.checks}
        checks = tuple(
            name
            for name in dict.fromkeys((*answers, *now))
            if answers.get(name, "absent") != now.get(name, "absent")
        )
        if checks or answer_said(old) != answer_said(new):
            yield GradeDifference(
                trial=again.path,
                grader=new.grader,
                was=answer_said(old),
                now=answer_said(new),
                checks=checks,
                flaky=same_files and old.version == new.version,
            )


def answer_said(grade: Grade) -> str:
    """A grade's answer in words: ``accepted 3/3``, ``failed``."""
    if grade.status is not GradeStatus.GRADED:
        return grade.status.value
    return f"{'accepted' if grade.accepted else 'rejected'} {grade.passed}/{grade.total}"


def limit_of(record: Trial, plan: Plan) -> Limit | None:
    """The ceiling that a trial had reached before it was graded, as far as its record tells."""
    if not record.graded_anyway:
        return None
    outcome = record.outcome
    message = record.reason.partition(GRADED_ANYWAY)[0]
    if outcome not in LIMIT_OUTCOMES:
        ends = {attempt.process.ended for attempt in record.attempts[-1:] if attempt.process}
        timed_out = Ended.TIMED_OUT.value in ends
        outcome = Outcome.AGENT_TIMEOUT if timed_out else Outcome.BUDGET_EXHAUSTED
        message = outcome.meaning.rstrip(".")
    return Limit(outcome=outcome, message=message, fails=plan.limits_are_failures)
