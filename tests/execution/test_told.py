from __future__ import annotations

from trialbook.api import Check, Finding, Grade, GradeStatus
from trialbook.execution.told import with_checks
from trialbook.model.escalation import CARRIED, FRESH, MOST_TOLD


def a_grade(*checks: Check) -> Grade:
    passed = sum(check.passed is True for check in checks)
    return Grade(
        grader="checks",
        version="1",
        status=GradeStatus.GRADED,
        accepted=passed == len(checks),
        passed=passed,
        total=len(checks),
        message="",
        checks=checks,
    )


def a_check(name: str, *, passed: bool, **more: object) -> Check:
    facts = {"id": name, "question": f"Is {name} there?", "passed": passed, "message": "", **more}
    return Check(**facts)  # type: ignore[arg-type]


def test_only_what_checks_say_no_to_is_told_with_its_places() -> None:
    finding = Finding(text="import os", file="a.py", line=3)
    grade = a_grade(
        a_check("x", passed=False, message="2 matches", evidence=(finding,)),
        a_check("y", passed=True),
    )
    told = with_checks("Do it.\n", [grade], CARRIED)
    assert told == (
        "Do it.\n\n---\n\nThere was an attempt at this task before you; what it left is in the "
        "folder. These checks said no to it:\n\n- Is x there? (2 matches)\n  - a.py:3: import os\n"
    )
    assert "without anything of it" in with_checks("Do it.\n", [grade], FRESH)


def test_where_no_check_says_no_there_is_the_brief_alone() -> None:
    assert with_checks("Do it.\n", [a_grade(a_check("y", passed=True))], CARRIED) == "Do it.\n"
    assert with_checks("Do it.\n", [], CARRIED) == "Do it.\n"


def test_what_is_told_has_an_end() -> None:
    finding = Finding(text="ä" * 9_000, file="a.py", line=1)
    grade = a_grade(a_check("x", passed=False, evidence=(finding,) * 9))
    told = with_checks("b", [grade], CARRIED)
    assert len(told.encode()) <= 1 + MOST_TOLD
    assert told.endswith("(There is more.)\n")
