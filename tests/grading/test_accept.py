from __future__ import annotations

import pytest

from trialbook.grading.accept import decide
from trialbook.model.acceptance import parse_policy
from trialbook.model.grade import Check, Grade, GradeStatus
from trialbook.model.outcome import Outcome


def graded(name: str, *answers: bool) -> Grade:
    checks = tuple(
        Check(id=f"{name}-{number}", question="?", passed=answer, message="")
        for number, answer in enumerate(answers, start=1)
    )
    return Grade(
        grader=name,
        version="1",
        status=GradeStatus.GRADED,
        accepted=all(answers),
        passed=sum(answers),
        total=len(answers),
        message="told",
        checks=checks,
    )


def other(name: str, status: GradeStatus) -> Grade:
    return Grade(
        grader=name,
        version="1",
        status=status,
        accepted=None,
        passed=0,
        total=0,
        message=f"{name} says why",
    )


YES = {"checks": graded("checks", True, True), "acceptance": graded("acceptance", True)}


@pytest.mark.parametrize(
    ("policy", "outcome"),
    [
        ("checks", Outcome.REJECTED),
        ("acceptance", Outcome.ACCEPTED),
        ("acceptance and checks", Outcome.REJECTED),
        ("acceptance or checks", Outcome.ACCEPTED),
        ("acceptance and not checks", Outcome.ACCEPTED),
    ],
)
def test_the_policy_decides(policy: str, outcome: Outcome) -> None:
    grades = YES | {"checks": graded("checks", True, False)}
    assert decide(parse_policy(policy), grades)[0] is outcome


def test_the_reason_names_counts_and_the_first_failing_checks() -> None:
    grades = YES | {"checks": graded("checks", False, True, False, False, False)}
    outcome, reason = decide(parse_policy("acceptance and checks"), grades)
    assert outcome is Outcome.REJECTED
    assert reason == "acceptance 1/1; checks 1/5, not: checks-1, checks-3, checks-4 and 1 more"


def test_an_acceptance_names_its_counts() -> None:
    assert decide(parse_policy("acceptance and checks"), YES) == (
        Outcome.ACCEPTED,
        "acceptance 1/1; checks 2/2",
    )


def test_a_grader_that_is_named_and_failed_is_a_grader_failure() -> None:
    grades = YES | {"checks": other("checks", GradeStatus.FAILED)}
    assert decide(parse_policy("acceptance or checks"), grades) == (
        Outcome.GRADER_FAILURE,
        "checks: checks says why",
    )


def test_a_grader_that_nobody_named_decides_nothing() -> None:
    grades = YES | {"checks": other("checks", GradeStatus.FAILED)}
    assert decide(parse_policy("acceptance"), grades)[0] is Outcome.ACCEPTED


def test_a_violation_comes_first_whoever_found_it() -> None:
    grades = {
        "checks": other("checks", GradeStatus.FAILED),
        "acceptance": other("acceptance", GradeStatus.VIOLATION),
    }
    assert decide(parse_policy("checks"), grades) == (
        Outcome.POLICY_VIOLATION,
        "acceptance: acceptance says why",
    )


def test_a_missing_grade_is_a_grader_failure() -> None:
    outcome, reason = decide(parse_policy("acceptance and other"), YES)
    assert (outcome, reason) == (Outcome.GRADER_FAILURE, "no grade from other")
