from __future__ import annotations

from collections.abc import Sequence

from tests.recorded import a_bundle, a_configuration, a_plan, a_trial, results_of
from tests.stats.vectors import VECTORS, A, B

from trialbook.model.outcome import Outcome
from trialbook.model.trial import Usage
from trialbook.reporting.arms import arm
from trialbook.reporting.comparison import compare_arms
from trialbook.reporting.costs import costs
from trialbook.reporting.tradeoff import tradeoff
from trialbook.stats.verdict import Rule


def told(
    one: Sequence[int],
    other: Sequence[int],
    prices: tuple[str | None, str | None],
    bases: tuple[str, str] = ("reported", "reported"),
) -> list[str]:
    plan = a_plan(
        {"current": a_configuration(), "cheap": a_configuration(model="m")},
        [f"t{n:02}" for n in range(1, len(one) + 1)],
    )
    bundles = []
    for slot in plan.schedule:
        side = 0 if slot.configuration == "current" else 1
        good = slot.repetition <= (one, other)[side][int(slot.task[1:]) - 1]
        usage = Usage(cost_usd=prices[side], basis=bases[side])
        outcome = Outcome.ACCEPTED if good else Outcome.REJECTED
        bundles.append(a_bundle(a_trial(plan, slot.key, outcome, usage=usage)))
    results = results_of(plan, bundles)
    sides = arm([results], "current"), arm([results], "cheap")
    assert sides[0] is not None
    assert sides[1] is not None
    return list(tradeoff(compare_arms([results], *sides, Rule()), *costs(results)))


def test_a_cheaper_one_that_accepts_as_much_dominates_by_its_counts_alone() -> None:
    lines = told(A, B, ("0.40", "0.20"))
    assert lines[0].startswith(
        "For each accepted change cheap costs 0.48 times what current does (0."
    )
    assert lines[1].endswith("it dominates by these counts alone, which proves nothing.")


def test_it_dominates_without_a_word_more_where_both_are_shown() -> None:
    case = VECTORS["paired"]["ex2"]
    lines = told(case["A"], case["B"], ("0.40", "0.04"))
    assert lines[1] == (
        "cheap accepts as many or more and costs no more for each than current: it dominates."
    )


def test_what_one_more_accepted_change_costs_takes_a_winner() -> None:
    case = VECTORS["paired"]["ex2"]
    assert told(case["A"], case["B"], ("0.10", "0.40"))[-1] == (
        "Each accepted change more costs $0.90 more: 10 more for $9.00."
    )
    assert not any("Each accepted" in line for line in told(A, B, ("0.10", "0.40")))


def test_unknown_costs_and_different_bases_say_nothing() -> None:
    assert told(A, B, (None, "0.40")) == []
    assert told(A, B, ("0.10", "0.40"), ("reported", "priced")) == []
