from __future__ import annotations

from dataclasses import replace
from decimal import Decimal
from typing import Any

import pytest
from tests.recorded import a_bundle, a_configuration, a_plan, a_trial, results_of

from trialbook.model.outcome import Outcome
from trialbook.model.trial import Stage, Usage
from trialbook.reporting.costs import Cost, costs
from trialbook.reporting.costs_said import cost_row, per_accepted, with_review

TASKS = {"t1": (10, 3), "t2": (12, 3), "t3": (8, 2), "t4": (20, 1)}
"""Cost and accepted trials of each task: the worked jackknife."""


def a_cost(**changes: Any) -> Cost:
    """One configuration, three trials of each task, each task's cost on its first trial."""
    plan = a_plan({"current": a_configuration()}, list(TASKS))
    bundles = []
    for slot in plan.schedule:
        cost, accepted = TASKS[slot.task]
        outcome = Outcome.ACCEPTED if slot.repetition <= accepted else Outcome.REJECTED
        usage = Usage(cost_usd=str(cost) if slot.repetition == 1 else "0", basis="reported")
        trial = a_trial(plan, slot.key, outcome, **({"usage": usage} | changes))
        bundles.append(a_bundle(trial))
    (found,) = costs(results_of(plan, bundles))
    return found


def test_the_cost_of_an_accepted_change_has_the_worked_interval() -> None:
    found = a_cost()
    assert (found.spend, found.accepted, found.basis) == (Decimal(50), 9, "reported")
    assert found.per_accepted is not None
    assert found.per_accepted.interval is not None
    assert found.per_accepted.ratio == pytest.approx(5.555556, abs=1e-6)
    assert found.per_accepted.interval.high == pytest.approx(19.692455, abs=1e-5)
    assert per_accepted(found) == "$5.5556 (9 accepted; $1.5673 to $19.6925 at confidence 0.95)"


def test_slots_that_nobody_helped_with_are_counted_apart() -> None:
    assert cost_row(a_cost())[3] == "9/9"


def test_one_unknown_cost_leaves_the_cost_of_a_change_unknown() -> None:
    found = a_cost(usage=Usage())
    assert found.spend is None
    assert per_accepted(found) == "unknown"


def test_failed_trials_are_paid_for_and_nothing_accepted_is_no_price() -> None:
    plan = a_plan({"current": a_configuration()}, ["t1"], repetitions=1)
    trial = a_trial(
        plan,
        plan.schedule[0].key,
        Outcome.AGENT_ERROR,
        usage=Usage(cost_usd="0.40", basis="reported"),
    )
    (found,) = costs(results_of(plan, [a_bundle(trial)]))
    assert per_accepted(found) == "$0.40 spent, nothing accepted"


def test_a_trial_that_a_limit_stopped_took_at_least_that_long() -> None:
    plan = a_plan({"current": a_configuration()}, ["t1"], repetitions=3)
    bundles = []
    for slot, seconds in zip(plan.schedule, (10.0, 60.0, 60.0), strict=True):
        outcome = Outcome.AGENT_TIMEOUT if seconds == 60 else Outcome.ACCEPTED
        stage = Stage(name="agent", started="2026-11-30T15:16:00.200Z", seconds=seconds)
        bundles.append(a_bundle(a_trial(plan, slot.key, outcome, stages=(stage,))))
    (found,) = costs(results_of(plan, bundles))
    assert cost_row(found)[4] == "> 1 min 00 s (> 35 s to > 1 min 00 s; at most > 1 min 00 s)"


def test_tokens_count_what_was_cached_and_are_unknown_without_both_ends() -> None:
    known = a_cost(usage=Usage(input_tokens=3500, cache_read_tokens=200, output_tokens=90))
    assert known.tokens is not None
    assert known.tokens.median.amount == 3790
    assert a_cost(usage=Usage(output_tokens=90)).tokens is None


def test_reviewing_can_make_the_cheaper_agent_the_dearer_workflow() -> None:
    """The worked example: 12 dollars and 180 minutes against 33 dollars and 120 minutes."""
    cheap = replace(
        a_cost(), spend=Decimal("12.00"), accepted=24, reviews=30, review_usd=Decimal("180.00")
    )
    dear = replace(cheap, spend=Decimal("33.00"), accepted=25, review_usd=Decimal("120.00"))
    assert with_review(cheap) == "$8.00 (agent $12.00 reported, people $180.00)"
    assert with_review(dear) == "$6.12 (agent $33.00 reported, people $120.00)"
    judged = replace(cheap, judgements=30, judge_basis="priced", judge_usd=Decimal("2.40"))
    assert with_review(judged) == (
        "$8.10 (agent $12.00 reported, judge $2.40 priced, people $180.00)"
    )


def test_what_judging_took_is_not_guessed() -> None:
    found = a_cost()
    assert with_review(found) == "none"
    assert with_review(replace(found, reviews=3)) == "unknown: people"
    assert with_review(replace(found, spend=None, judgements=3)) == "unknown: agent and judge"
    lost = replace(found, accepted=0, reviews=3, review_usd=Decimal("1.50"))
    assert with_review(lost) == (
        "$51.50 spent, nothing accepted (agent $50.00 reported, people $1.50)"
    )


def test_amounts_with_different_bases_have_no_median() -> None:
    plan = a_plan({"current": a_configuration()}, ["t1"], repetitions=2)
    usages = [Usage(cost_usd="1", basis=basis) for basis in ("reported", "priced")]
    bundles = [
        a_bundle(a_trial(plan, slot.key, Outcome.ACCEPTED, usage=usage))
        for slot, usage in zip(plan.schedule, usages, strict=True)
    ]
    (found,) = costs(results_of(plan, bundles))
    assert (found.spend, found.usd) == (None, None)
