"""Small series on record, made by hand: each test says only what it is about."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from trialbook.formats.patch_lines import PatchLines
from trialbook.model.change import AttemptChange
from trialbook.model.grade import Check, Grade, GradeStatus, GradeSummary
from trialbook.model.outcome import Outcome
from trialbook.model.review import Answer as Given
from trialbook.model.review import Review
from trialbook.model.rubric import AnswerKind
from trialbook.model.series import Moment, RegressionKind, SessionPart
from trialbook.model.series_record import (
    EarlierTests,
    PropertyAnswer,
    RepairRecord,
    SeriesRecord,
    Stated,
    TreeTests,
    WholeChange,
)
from trialbook.model.session import (
    Commit,
    Handover,
    OpenFailure,
    RepositoryState,
    SessionGrade,
    SessionRecord,
)
from trialbook.model.usage import Usage
from trialbook.reporting.series_files import SeriesFiles
from trialbook.reporting.trial_facts import TrialFacts

NAMES = ("core", "docs", "change", "repair")
SIBLINGS = ("t::two", "t::three", "t::four")
REPORTED = ("t::one",)


def tree(number: int) -> str:
    return f"{number:040x}"


def state(number: int) -> RepositoryState:
    commits = tuple(
        Commit(id=f"{n:040x}", tree=tree(n), subject=f"Work {n}") for n in range(1, number + 1)
    )
    return RepositoryState(tree=tree(number), head=tree(number), branch="main", commits=commits)


def grade(**passed: bool | None) -> Grade:
    checks = tuple(
        Check(id=name.replace("__", "::"), question="Is it?", passed=ok, message="so")
        for name, ok in passed.items()
    )
    right = sum(one.passed is True for one in checks)
    return Grade(
        grader="acceptance",
        version="1",
        status=GradeStatus.GRADED,
        accepted=right == len(checks),
        passed=right,
        total=len(checks),
        message="so",
        checks=checks,
    )


def summary(given: Grade) -> GradeSummary:
    return GradeSummary(
        grader=given.grader,
        status=given.status.value,
        accepted=given.accepted,
        passed=given.passed,
        total=given.total,
        sha256="0" * 64,
    )


def record(
    number: int, outcome: Outcome | None = Outcome.ACCEPTED, **given: Grade
) -> SessionRecord:
    return SessionRecord(
        session=number,
        name=NAMES[number - 1],
        brief_sha256="0" * 64,
        started="2026-11-30T10:00:00.000Z",
        finished="2026-11-30T10:00:01.000Z",
        outcome=outcome,
        reason="so it is",
        start=state(number - 1),
        end=state(number),
        change=AttemptChange(tree=tree(number), files=1, insertions=1, deletions=0),
        usage=Usage(),
        grades=tuple(
            SessionGrade(part=SessionPart(part), moment=Moment.END, grade=summary(one))
            for part, one in given.items()
        ),
        regression=1 if number == len(NAMES) else None,
    )


def handover(number: int, *failing: OpenFailure) -> Handover:
    return Handover(
        session=number,
        name=NAMES[number - 1],
        before=state(number - 1) if number > 1 else None,
        start=state(number - 1),
        equal=True,
        planted=None,
        brief_sha256="0" * 64,
        notes=(),
        things=(),
        failing=failing,
    )


def runs(number: int, **passed: bool | None) -> TreeTests:
    tests = {name.replace("__", "::"): ok for name, ok in passed.items()}
    return TreeTests(tree=tree(number), tests=tests)


def repair(**changed: Any) -> RepairRecord:
    return replace(
        RepairRecord(
            session=4,
            kind=RegressionKind.PLANTED,
            reported=REPORTED,
            siblings=SIBLINGS,
            before=tree(3),
            start=tree(9),
            end=tree(4),
            earlier=(EarlierTests(session=1, before=runs(3, c__a=True), after=runs(4, c__a=True)),),
            own_before=runs(9, own__a=False),
            own_after=runs(4, own__a=True),
            in_component=("core.py:1@0",),
            key_sha256="0" * 64,
        ),
        **changed,
    )


def held(decision: str, session: int, *, holds: bool | None) -> PropertyAnswer:
    return PropertyAnswer(
        decision=decision, session=session, tree=tree(session), holds=holds, evidence=("a.py:1",)
    )


def tried(**changed: Any) -> SeriesRecord:
    stated = (
        Stated(id="one-writer", statement="There is one writer.", session=1),
        Stated(id="streams", statement="An export streams entries.", session=1, conflict=3),
    )
    kept = [held("one-writer", n, holds=True) for n in (1, 2, 3, 4)]
    against = [held("streams", n, holds=n < 3) for n in (1, 2, 3, 4)]
    return replace(
        SeriesRecord(
            decisions=stated,
            properties=(*kept, *against),
            repair=repair(),
            change=WholeChange(tree=tree(4)),
        ),
        **changed,
    )


def review(reviewer: str, rubric: str, **answers: str) -> Review:
    return Review(
        run="mini/r",
        packet="0" * 12,
        reviewer=reviewer,
        rubric=f"{rubric}@1",
        rubric_sha256="0" * 64,
        started="2026-11-30T10:00:00.000Z",
        answers=tuple(
            Given(
                question=name.replace("_", "-"),
                answer=AnswerKind(answer),
                evidence=(f"{reviewer}.py:1",),
            )
            for name, answer in answers.items()
        ),
        minutes=5,
        submitted="2026-11-30T10:10:00.000Z",
    )


def series(**changed: Any) -> SeriesFiles:
    """A series in which everything went well; ``changed`` is what the test is about."""
    private = grade(t__one=True, t__two=True, t__three=True, t__four=True)
    records = (record(1), record(2), record(3), record(4, private=private))
    given: dict[str, Any] = {
        "trial": None,
        "sessions": records,
        "handovers": {n: handover(n) for n in (1, 2, 3, 4)},
        "tried": tried(),
        "grades": {(4, SessionPart.PRIVATE, Moment.END): private},
        "changes": {n: PatchLines() for n in (1, 2, 3, 4)},
        "notes": {1: PatchLines(added={"NOTES.md": [(1, "So.\n")]})},
        "planted": {},
        "trajectories": {},
        "facts": TrialFacts(attempts=(), change=None, tests={}),
        "reviews": {},
    }
    return SeriesFiles(**(given | changed))
