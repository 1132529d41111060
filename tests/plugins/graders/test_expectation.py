from __future__ import annotations

import json
from pathlib import Path

import pytest

from trialbook_graders.expectation import Expectation, compare, read_expectation
from trialbook_graders.junit import ReportedTest

EXPECTED = Expectation(passed=("t::a", "t::b"), must_fail=("t::sentinel",))


def report(**outcomes: str) -> list[ReportedTest]:
    return [ReportedTest(id=f"t::{name}", outcome=how, text="") for name, how in outcomes.items()]


def test_exactly_the_frozen_set_leaves_nothing_to_say() -> None:
    found = compare(EXPECTED, report(a="passed", b="passed", sentinel="failed"))
    assert [check.passed for check in found.expected] == [True, True]
    assert found.others == ()
    assert found.violation is None


@pytest.mark.parametrize("outcome", ["failed", "error", "skipped", "notrun", "rerunFailure"])
def test_any_outcome_but_passed_is_not_passed(outcome: str) -> None:
    found = compare(EXPECTED, report(a="passed", b=outcome, sentinel="failed"))
    assert [check.passed for check in found.expected] == [True, False]
    assert found.expected[1].message == outcome


def test_a_missing_test_is_not_passed() -> None:
    found = compare(EXPECTED, report(a="passed", sentinel="failed"))
    assert [check.passed for check in found.expected] == [True, False]
    assert "was not reported" in found.expected[1].message


def test_a_second_report_of_a_test_hides_nothing() -> None:
    twice = [*report(a="failed", b="passed", sentinel="failed"), *report(a="passed")]
    found = compare(EXPECTED, twice)
    assert [check.passed for check in found.expected] == [False, True]
    assert found.expected[0].message == "reported 2 times: failed, passed"


def test_even_two_passes_of_one_id_are_not_the_frozen_set() -> None:
    twice = [*report(a="passed", b="passed", sentinel="failed"), *report(a="passed")]
    assert compare(EXPECTED, twice).expected[0].passed is False


def test_an_unexpected_test_is_told() -> None:
    found = compare(EXPECTED, report(a="passed", b="passed", c="passed", sentinel="failed"))
    [other] = found.others
    assert other.passed is False
    assert "t::c (passed)" in other.message


def test_a_sentinel_that_passes_is_a_violation() -> None:
    found = compare(EXPECTED, report(a="passed", b="passed", sentinel="passed"))
    assert found.violation == "t::sentinel must fail, and was reported as passed"


@pytest.mark.parametrize("how", [{}, {"sentinel": "skipped"}, {"sentinel": "error"}])
def test_a_sentinel_that_did_not_fail_is_not_accepted(how: dict[str, str]) -> None:
    found = compare(EXPECTED, report(a="passed", b="passed", **how))
    assert found.violation is None
    assert [check.passed for check in found.others] == [False]


def test_the_injected_sentinel_counts_like_a_frozen_one() -> None:
    good = report(a="passed", b="passed", sentinel="failed")
    name = "test_0123"
    honest = ReportedTest(id=f"test_0123::{name}", outcome="failed", text="")
    forged = ReportedTest(id=f"tests.test_0123::{name}", outcome="passed", text="")
    assert compare(EXPECTED, [*good, honest], name).others == ()
    assert compare(EXPECTED, [*good, forged], name).violation
    assert [check.passed for check in compare(EXPECTED, good, name).others] == [False]


def test_a_sentinel_that_fails_once_and_passes_once_is_a_violation() -> None:
    both = [*report(a="passed", b="passed", sentinel="failed"), *report(sentinel="passed")]
    assert compare(EXPECTED, both).violation


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"passed": []}, "must_fail"),
        ({"passed": ["a", "a"], "must_fail": []}, "a"),
        ({"passed": "a", "must_fail": []}, "list"),
        ({"passed": ["a"], "must_fail": ["a"]}, "must fail, but is expected to pass"),
        ({"passed": ["a"], "must_fail": [], "also": 1}, "also"),
        ([], "mapping"),
    ],
)
def test_a_malformed_expectation_is_told_with_its_place(
    tmp_path: Path, data: object, words: str
) -> None:
    path = tmp_path / "expected.json"
    path.write_text(json.dumps(data))
    found, problems = read_expectation(path, "private/expected.json")
    assert found is None
    assert words in " ".join(map(str, problems))
    assert all(str(problem).startswith("private/expected.json") for problem in problems)


def test_a_missing_expectation_is_told(tmp_path: Path) -> None:
    found, [problem] = read_expectation(tmp_path / "none.json", "expected.json")
    assert found is None
    assert "no such file" in problem.message
