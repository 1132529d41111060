from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from tests.recorded import a_bundle, a_configuration, a_grade, a_plan, a_trial, results_of

from trialbook.model.grade import Severity
from trialbook.model.outcome import Outcome
from trialbook.reporting.arms import arm
from trialbook.reporting.gate import Gated, gate
from trialbook.reporting.gate_said import advice, answer, gated_json, junit, markdown
from trialbook.reporting.historical import obstacles_of_age
from trialbook.reporting.results import RunResults
from trialbook.stats.gate import Answer

DRIFT: Mapping[str, Sequence[bool]] = {
    "user-service": (False, False, True),
    "invitation-tests": (False, False, True, True),
    "docs": (True, True),
}


def a_run(
    drift: Mapping[str, Sequence[bool]] = DRIFT,
    *,
    repetitions: int = 3,
    ended: Outcome | None = None,
    must: str = "",
    **changes: Any,
) -> RunResults:
    """Every check passes in the baseline; in the candidate as given, in every repetition."""
    plan = a_plan(
        {"before": a_configuration(), "after": a_configuration()},
        list(drift),
        repetitions=repetitions,
        **changes,
    )
    bundles = []
    for slot in plan.schedule:
        after = slot.configuration == "after"
        answers = {
            f"c{place}": good or not after for place, good in enumerate(drift[slot.task], start=1)
        }
        grade = a_grade(answers)
        checks = tuple(
            replace(check, severity=Severity.MUST if check.id == must else check.severity)
            for check in grade.checks
        )
        grade = replace(grade, checks=checks)
        outcome = Outcome.ACCEPTED if grade.accepted else Outcome.REJECTED
        if after and ended is not None:
            bundles.append(a_bundle(a_trial(plan, slot.key, ended)))
        else:
            bundles.append(a_bundle(a_trial(plan, slot.key, outcome), grades=[grade]))
    return results_of(plan, bundles)


def judged(*results: RunResults) -> Gated:
    one, other = arm(results, "before"), arm(results, "after")
    assert one is not None
    assert other is not None
    return gate(one, other, Fraction(1, 10))


def test_one_repetition_of_the_drift_is_inconclusive_and_asks_for_more() -> None:
    found = judged(a_run(repetitions=1))
    assert found.answer is Answer.INCONCLUSIVE
    assert found.decision is not None
    assert found.decision.p == Fraction(1, 4)
    assert advice(found) == (
        "5 more trials of each configuration and task decide: run the suite again and name both "
        "runs"
    )


def test_three_repetitions_fail_and_name_the_checks() -> None:
    found = judged(a_run())
    assert found.answer is Answer.FAIL
    assert answer(found) == "FAIL: the score fell, most in: user-service, invitation-tests"
    said = markdown(found, "drift@1")
    for row in ("| `user-service` | `c1` | 3/3 | 0/3 |", "| `invitation-tests` | `c2` | 3/3 | 0/3"):
        assert row in said
    assert "`docs`" not in said
    assert advice(found) == ""


def test_two_runs_are_one_second_stage() -> None:
    half = {"a": (True,) * 9 + (False,), "b": (True,)}
    first = judged(a_run(half, run="one"))
    assert (first.answer, first.more) == (Answer.INCONCLUSIVE, 3)
    both = judged(a_run(half, run="one"), a_run(half, run="two"))
    assert both.decision is not None
    assert (both.repetitions, both.decision.stage) == (6, 2)
    assert both.answer is Answer.FAIL


def test_nothing_changed_passes() -> None:
    same = {"a": (True, True), "b": (True,)}
    assert judged(a_run(same)).answer is Answer.PASS


def test_fewer_trials_than_a_stage_has_are_no_pass() -> None:
    found = judged(a_run({"a": (True, True), "b": (True,)}, repetitions=2))
    assert (found.answer, found.more) == (Answer.INCONCLUSIVE, 4)
    assert answer(found) == "INCONCLUSIVE: nothing fell, but a pass takes 3 trials of each task"


def test_an_agent_that_crashes_scores_zero_and_a_lost_trial_counts_nowhere() -> None:
    same = {"a": (True, True), "b": (True,)}
    assert judged(a_run(same, ended=Outcome.AGENT_ERROR)).answer is Answer.FAIL
    lost = judged(a_run(same, ended=Outcome.PROVIDER_OUTAGE))
    assert lost.answer is None
    assert answer(lost).startswith("NOT VALID: after: 6 of 6 slots have no valid trial")


def test_a_hard_check_fails_the_gate_by_itself() -> None:
    almost = {"a": (True,) * 19 + (False,), "b": (True,) * 30}
    assert judged(a_run(almost)).answer is Answer.INCONCLUSIVE
    found = judged(a_run(almost, must="c20"))
    assert answer(found) == "FAIL: hard checks broke: a/c20"


def test_junit_fails_skips_or_errs_as_the_gate_does() -> None:
    fails = ET.fromstring(junit(judged(a_run(must="c1")), "drift@1"))
    assert fails.get("failures") == "3"
    assert fails.find("testcase[@name='gate']/failure") is not None
    assert fails.find("testcase[@classname='drift@1.user-service'][@name='c1']/failure") is not None
    skips = ET.fromstring(junit(judged(a_run(repetitions=1)), "drift@1"))
    assert (skips.get("failures"), skips.get("skipped")) == ("0", "1")
    same = {"a": (True,), "b": (True,)}
    errs = ET.fromstring(junit(judged(a_run(same, ended=Outcome.CANCELLED)), "drift@1"))
    assert errs.get("errors") == "1"


def test_names_that_no_xml_may_hold_are_made_visible() -> None:
    found = judged(a_run({"a": (True,), "b": (True,)}))
    ET.fromstring(junit(found, "a\x00\x1b[31m<suite>&\ufffe"))


def test_json_says_the_same() -> None:
    said = gated_json(judged(a_run()))
    assert (said["answer"], said["p"], said["stage"]) == ("fail", "1/400", 1)
    assert said["checks"][0] == {
        "task": "docs",
        "check": "c1",
        "must": False,
        "broken": False,
        "baseline": [3, 3],
        "candidate": [3, 3],
        "p": "1",
        "p_holm": "1",
    }


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"created": "2026-11-10T15:15:26.123Z"}, "20 days older"),
        ({"configurations": {"before": a_configuration(model="other")}}, "the model of before"),
        ({"configurations": {"before": a_configuration(agent_version="0")}}, "agent's version"),
        ({"configurations": {"before": a_configuration(client_version="0")}}, "client's version"),
    ],
)
def test_an_older_run_stands_in_only_if_nothing_else_moved(
    changes: dict[str, Any], told: str
) -> None:
    new = a_run().plan
    assert obstacles_of_age(new, new, "before", "after") == []
    found = obstacles_of_age(replace(new, **changes), new, "before", "after")
    assert any(told in one for one in found)
