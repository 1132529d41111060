from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.recorded import a_bundle, a_configuration, a_grade, a_plan, a_trial

from trialbook.model.grade import Grade, GradeStatus
from trialbook.model.outcome import Outcome
from trialbook.model.plan import SlotKey
from trialbook.model.standing import standing_of
from trialbook.workflow.grade_differences import Again, PlacedGrade, differences, limit_of, settled

PLAN = a_plan({"one": a_configuration()}, ["a"], repetitions=1)
OLD = a_grade({"x": True, "y": False})
BROKEN = Grade(
    grader="checks",
    version="1",
    status=GradeStatus.FAILED,
    accepted=None,
    passed=0,
    total=0,
    message="the grader broke",
)


def again(old: Grade, new: Grade) -> Again:
    record = a_bundle(a_trial(PLAN, SlotKey("a", "one", 1), Outcome.REJECTED), grades=[old]).record
    placed = PlacedGrade(grade=old, file="grades/checks.json", sha256="a" * 64)
    return Again(standing=standing_of(record), old=(placed,), new=(new,))


def found(old: Grade, new: Grade, *, same_files: bool = True) -> list[tuple[Any, ...]]:
    return [
        (one.was, one.now, one.checks, one.flaky)
        for one in differences(again(old, new), same_files=same_files)
    ]


def test_the_same_answers_are_no_difference_whatever_is_said_about_them() -> None:
    assert found(OLD, replace(OLD, message="in other words", log="took 3 s")) == []
    assert found(OLD, replace(OLD, version="2")) == []


@pytest.mark.parametrize(
    ("version", "same_files", "flaky"),
    [("1", True, True), ("2", True, False), ("1", False, False)],
)
def test_another_answer_to_the_same_question_is_flaky(
    version: str, same_files: bool, flaky: bool
) -> None:
    new = a_grade({"x": False, "y": True}, version=version)
    assert found(OLD, new, same_files=same_files) == [
        ("rejected 1/2", "rejected 1/2", ("x", "y"), flaky)
    ]


def test_checks_that_come_and_go_are_differences() -> None:
    new = a_grade({"x": True, "z": True})
    assert found(OLD, new, same_files=False) == [
        ("rejected 1/2", "accepted 2/2", ("y", "z"), False)
    ]


def test_a_grader_that_breaks_now_leaves_the_old_grade_in_place() -> None:
    assert "gave no usable answer" in settled(again(OLD, BROKEN)).because
    assert settled(again(BROKEN, BROKEN)).because == ""
    assert settled(again(BROKEN, OLD)).because == ""
    violation = replace(BROKEN, status=GradeStatus.VIOLATION)
    assert settled(again(OLD, violation)).because == ""
    assert "gave no usable answer" in settled(again(violation, BROKEN)).because


@pytest.mark.parametrize(
    ("outcome", "ended", "expected"),
    [
        (Outcome.AGENT_TIMEOUT, "timed_out", Outcome.AGENT_TIMEOUT),
        (Outcome.BUDGET_EXHAUSTED, "exited", Outcome.BUDGET_EXHAUSTED),
        (Outcome.ACCEPTED, "timed_out", Outcome.AGENT_TIMEOUT),
        (Outcome.ACCEPTED, "exited", Outcome.BUDGET_EXHAUSTED),
    ],
)
def test_the_limit_that_a_trial_had_reached_is_found_again(
    outcome: Outcome, ended: str, expected: Outcome
) -> None:
    plain = a_trial(PLAN, SlotKey("a", "one", 1), outcome, graded_anyway=True)
    attempt = plain.attempts[0]
    assert attempt.process is not None
    record = replace(
        plain,
        reason="stopped after 20 minutes; graded anyway: checks 1/2",
        attempts=(replace(attempt, process=replace(attempt.process, ended=ended)),),
    )
    limit = limit_of(record, PLAN)
    assert limit is not None
    assert limit.outcome is expected
    assert "graded anyway" not in limit.message
    assert limit_of(replace(record, graded_anyway=False), PLAN) is None
