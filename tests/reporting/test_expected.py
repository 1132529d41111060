from __future__ import annotations

from dataclasses import replace

from tests.recorded import a_bundle, a_configuration, a_plan, a_task, a_trial, results_of

from trialbook.model.outcome import Outcome
from trialbook.reporting.expected import as_expected, said
from trialbook.reporting.report import render_report
from trialbook.reporting.results import RunResults


def a_run(outcome: Outcome, *expected: str) -> RunResults:
    plan = a_plan({"escape": a_configuration()}, ["lock"], repetitions=1)
    if expected:
        plan = replace(plan, tasks={"lock": a_task(expected_outcomes={"escape": expected})})
    return results_of(plan, [a_bundle(a_trial(plan, plan.schedule[0].key, outcome))])


def test_a_trial_that_ends_as_expected_is_counted() -> None:
    run = a_run(Outcome.REJECTED, "rejected", "policy_violation")
    found = as_expected(run.plan, run.trials)
    assert list(said(found)) == ["1/1 valid trials ended as the suite expects"]
    assert "## As the suite expects" in render_report(run).decode()


def test_a_surprise_is_named_with_what_was_expected() -> None:
    run = a_run(Outcome.ACCEPTED, "rejected", "policy_violation")
    assert list(said(as_expected(run.plan, run.trials)))[1] == (
        "lock/escape/r1: accepted, expected: rejected or policy violation"
    )


def test_nothing_is_expected_of_a_trial_that_we_lost() -> None:
    run = a_run(Outcome.ENVIRONMENT_FAILURE, "rejected")
    assert as_expected(run.plan, run.trials).asked == 0


def test_a_suite_that_expects_nothing_says_nothing() -> None:
    run = a_run(Outcome.REJECTED)
    assert list(said(as_expected(run.plan, run.trials))) == []
    assert "As the suite expects" not in render_report(run).decode()
