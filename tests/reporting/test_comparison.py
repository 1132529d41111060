from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest
from tests.recorded import a_bundle, a_configuration, a_plan, a_task, a_trial, results_of
from tests.stats.vectors import VECTORS, A, B

from trialbook.model.outcome import Outcome
from trialbook.model.plan import PlannedConfiguration
from trialbook.model.suite import Comparison
from trialbook.reporting.arms import Arm, arm, changed_between_runs, what_differs
from trialbook.reporting.comparison import Compared, compare_arms
from trialbook.reporting.comparison_json import compared_json
from trialbook.reporting.comparison_said import (
    answer,
    evidence,
    moved,
    needed,
    over_tasks,
    points,
    probability,
    unstable,
    views,
)
from trialbook.reporting.results import RunResults
from trialbook.reporting.sides import rule
from trialbook.stats.passk import suite_pass_hat
from trialbook.stats.verdict import Rule, Verdict

TEN_POINTS = Rule(margin=Fraction(10, 100))
ONE, OTHER = a_configuration(), a_configuration(model="another")
Endings = Mapping[str, Sequence[Sequence[Outcome | None]]]


def endings(accepted: Sequence[int], of: int = 3) -> list[list[Outcome | None]]:
    return [[Outcome.ACCEPTED] * one + [Outcome.REJECTED] * (of - one) for one in accepted]


def a_run(
    by_configuration: Endings,
    *,
    configurations: Mapping[str, PlannedConfiguration] | None = None,
    **changes: Any,
) -> RunResults:
    """A run whose slots ended so: configuration to task to repetition; None never ran."""
    tasks = [f"t{n:02}" for n in range(1, len(next(iter(by_configuration.values()))) + 1)]
    repetitions = len(next(iter(by_configuration.values()))[0])
    named = configurations or {"current": ONE, "cheap": OTHER}
    plan = a_plan(
        {name: named[name] for name in by_configuration}, tasks, repetitions=repetitions, **changes
    )
    bundles = []
    for slot in plan.schedule:
        place = tasks.index(slot.task)
        ended = by_configuration[slot.configuration][place][slot.repetition - 1]
        if ended is not None:
            bundles.append(a_bundle(a_trial(plan, slot.key, ended)))
    return results_of(plan, bundles)


def sides(*results: RunResults) -> tuple[Arm, Arm]:
    one, other = arm(results, "current"), arm(results, "cheap")
    assert one is not None
    assert other is not None
    return one, other


def compared(*results: RunResults, rule: Rule = TEN_POINTS) -> Compared:
    return compare_arms(results, *sides(*results), rule)


@pytest.fixture(scope="module")
def example() -> Compared:
    return compared(a_run({"current": endings(A), "cheap": endings(B)}))


def test_24_of_30_against_25_of_30(example: Compared) -> None:
    assert example.verdict is Verdict.INCONCLUSIVE
    assert "inconclusive" in answer(example)
    assert views(example) == [
        ("current", "24/30 (80.0 %)", "24/30 (80.0 %)"),
        ("cheap", "25/30 (83.3 %)", "25/30 (83.3 %)"),
    ]
    assert example.valid is not None
    assert moved(example.valid) == [
        "up t07: 2/3 to 3/3",
        "up t09: 1/3 to 2/3",
        "down t10: 1/3 to 0/3",
    ]
    assert "31 tasks for 10 points" in needed(example)
    told = " ".join(evidence(example))
    assert "-14.5 to +21.2 points (confidence 0.95, t, guarded)" in told
    assert "not below 0.25 (1/4) (p = 1)" in told
    assert "target: within suite" in told
    assert example.within_suite == 1


def test_each_arm_has_its_rate_and_its_reliability(example: Compared) -> None:
    first, second = example.estimates
    assert first.rate is not None
    assert first.rate.interval.low == pytest.approx(0.560923, abs=1e-6)
    assert first.gap == Fraction(1, 5)
    assert [one.k for one in second.reliability] == [1, 3]
    last = second.reliability[-1]
    assert (last.all_of.value, last.one_of.value) == (Fraction(7, 10), Fraction(9, 10))
    assert last.interval is not None
    assert last.interval.low == pytest.approx(0.3968, abs=5e-5)


def test_repetitions_that_disagree_are_named(example: Compared) -> None:
    assert unstable(example.unstable) == [
        "t07: 2/3 and 3/3",
        "t08: 2/3 and 2/3",
        "t09: 1/3 and 2/3",
        "t10: 1/3 and 0/3",
    ]


def test_a_real_effect_is_better() -> None:
    case = VECTORS["paired"]["ex2"]
    found = compared(a_run({"current": endings(case["A"]), "cheap": endings(case["B"])}))
    assert answer(found) == "cheap is better than current."
    assert "p = 0.0078 (1/128)" in " ".join(evidence(found))
    assert "p = 0.0026 (21/8000)" in " ".join(evidence(found))


def test_all_repetitions_count_not_only_the_last_one() -> None:
    """Taking each task's last trial alone would say minus a hundred points, and be sure of it."""
    yes, no = Outcome.ACCEPTED, Outcome.REJECTED
    found = compared(a_run({"current": [[yes, yes, no]] * 6, "cheap": [[no, no, yes]] * 6}))
    assert found.valid is not None
    assert found.valid.difference is not None
    assert found.valid.difference.mean == Fraction(-1, 3)
    assert views(found)[0][1] == "12/18 (66.7 %)"
    assert views(found)[1][1] == "6/18 (33.3 %)"


def test_before_the_schedule_is_complete_nothing_is_said_of_the_difference() -> None:
    missing = endings(B)
    missing[3] = [Outcome.ACCEPTED, Outcome.ACCEPTED, None]
    found = compared(a_run({"current": endings(A), "cheap": missing}))
    assert found.verdict is Verdict.NOT_READY
    assert answer(found) == "not ready: cheap: 1 of 30 slots did not run yet."
    assert list(evidence(found)) == []
    said = compared_json(found)
    assert said["valid_execution"] is None
    assert said["within_suite"]["p"] is None


def test_slots_that_wait_for_a_person_are_not_ready() -> None:
    waiting = endings(B)
    waiting[0] = [Outcome.NEEDS_REVIEW] * 3
    found = compared(a_run({"current": endings(A), "cheap": waiting}))
    assert answer(found) == "not ready: cheap: 3 slots wait for a person."


def test_an_arm_that_lost_more_than_a_tenth_is_not_ready() -> None:
    lost = endings(B)
    lost[0] = [Outcome.PROVIDER_OUTAGE, Outcome.PROVIDER_OUTAGE, Outcome.ACCEPTED]
    lost[1] = [Outcome.PROVIDER_OUTAGE, Outcome.PROVIDER_OUTAGE, Outcome.ACCEPTED]
    found = compared(a_run({"current": endings(A), "cheap": lost}))
    assert "4 of 30 slots have no valid trial, more than a tenth" in answer(found)


def test_a_task_without_a_valid_trial_is_named() -> None:
    lost = endings(B)
    lost[4] = [Outcome.ENVIRONMENT_FAILURE] * 3
    found = compared(a_run({"current": endings(A), "cheap": lost}))
    assert "no valid trial of t05" in answer(found)


def test_missing_outcomes_that_could_change_the_verdict_take_it_back() -> None:
    one = endings([0, 1, 0, 0, 0, 0, 3, 3, 3, 3])
    other = endings([1, 2, 1, 1, 1, 1, 3, 3, 3, 3])
    whole = compared(a_run({"current": one, "cheap": other}))
    assert whole.verdict is Verdict.BETTER
    other[0] = [Outcome.ACCEPTED, Outcome.REJECTED, Outcome.ENVIRONMENT_FAILURE]
    one[1] = [Outcome.ACCEPTED, Outcome.REJECTED, Outcome.ENVIRONMENT_FAILURE]
    found = compared(a_run({"current": one, "cheap": other}))
    assert found.verdict is Verdict.INCONCLUSIVE
    assert answer(found) == "inconclusive: missing outcomes could change it."


def test_a_category_that_fell_is_flagged_and_blocks_the_claim_of_no_loss() -> None:
    one, other = endings([3] * 60), endings([3] * 57 + [0] * 3)
    tasks = {f"t{n:02}": a_task(category="docs" if n > 57 else "fix") for n in range(1, 61)}
    run = a_run({"current": one, "cheap": other})
    run = results_of(replace(run.plan, tasks=tasks), [a_bundle(trial) for trial in run.trials])
    found = compared(run, rule=Rule(margin=Fraction(15, 100)))
    assert found.valid is not None
    assert found.valid.verdict is Verdict.EQUIVALENT
    assert found.verdict is Verdict.INCONCLUSIVE
    assert "a possible regression that cannot be tested in docs" in answer(found)
    docs = found.categories[0]
    assert (docs.category, docs.down, docs.p, docs.flagged) == (
        "docs",
        ("t58", "t59", "t60"),
        None,
        True,
    )


def test_a_smaller_fall_of_a_category_is_flagged_and_blocks_nothing() -> None:
    one, other = endings([3] * 60), endings([3] * 57 + [2] * 3)
    tasks = {f"t{n:02}": a_task(category="docs" if n > 50 else "fix") for n in range(1, 61)}
    run = a_run({"current": one, "cheap": other})
    run = results_of(replace(run.plan, tasks=tasks), [a_bundle(trial) for trial in run.trials])
    found = compared(run, rule=Rule(margin=Fraction(15, 100)))
    assert found.verdict is Verdict.EQUIVALENT
    assert [row.flagged for row in found.categories] == [True, False]


def test_categories_that_can_be_tested_are_adjusted_together() -> None:
    tasks = {f"t{n:02}": a_task(category="docs" if n > 7 else "fix") for n in range(1, 15)}
    run = a_run({"current": endings([0] * 14), "cheap": endings([3] * 14)})
    run = results_of(replace(run.plan, tasks=tasks), [a_bundle(trial) for trial in run.trials])
    assert [row.p for row in compared(run).categories] == [Fraction(2, 64), Fraction(2, 64)]


def test_both_runs_of_a_configuration_count_and_drift_is_warned_of() -> None:
    first = a_run({"current": endings(A)}, run="one")
    second = a_run({"cheap": endings(B)}, run="two")
    found = compared(first, second)
    assert views(found)[1][1] == "25/30 (83.3 %)"
    assert any("did not run side by side" in caution for caution in found.cautions)
    both = compared(
        a_run({"current": endings(A), "cheap": endings(B)}, run="one"),
        a_run({"current": endings(A), "cheap": endings(B)}, run="two"),
    )
    assert views(both)[1][1] == "50/60 (83.3 %)"
    assert not any("side by side" in caution for caution in both.cautions)


def test_more_than_one_difference_is_told_so_that_none_of_them_gets_the_credit() -> None:
    other = a_configuration(model="another", reasoning="high")
    assert what_differs(ONE, other) == ["model", "reasoning setting"]
    run = a_run(
        {"current": endings(A), "cheap": endings(B)},
        configurations={"current": ONE, "cheap": other},
    )
    assert any("more than one thing differs" in caution for caution in compared(run).cautions)


def test_instruction_files_are_compared_by_their_place_in_the_workspace() -> None:
    one = a_configuration(
        instructions="a",
        files={"suites/s/instructions/a/AGENTS.md": "1", "suites/s/configurations/x.yaml": "1"},
    )
    same = a_configuration(
        instructions="b",
        files={"suites/s/instructions/b/AGENTS.md": "1", "suites/s/configurations/y.yaml": "2"},
    )
    other = a_configuration(instructions="b", files={"suites/s/instructions/b/AGENTS.md": "2"})
    assert what_differs(one, same) == []
    assert what_differs(one, other) == ["instruction files (AGENTS.md)"]


def test_another_client_and_other_files_for_the_agent_are_differences() -> None:
    one = a_configuration(client_version="2.1.332", files={"suites/s/a/script.yaml": "1"})
    same = replace(one, files={"suites/s/b/script.yaml": "1"})
    assert what_differs(one, same) == []
    assert what_differs(one, replace(one, client_version="2.1.333")) == ["agent's version"]
    other = replace(one, files={"suites/s/b/script.yaml": "2"})
    assert what_differs(one, other) == ["files that the agent is given"]


COMMIT = "3f9c2d7e" * 5


@pytest.mark.parametrize(
    ("second", "told"),
    [
        ({}, "one snapshot"),
        ({"tree": "0" * 40}, None),
        ({"source": f"git ../shop@{COMMIT}", "tree": "0" * 40}, None),
    ],
)
def test_tasks_are_one_sample_if_they_start_from_the_same(
    second: dict[str, str], told: str | None
) -> None:
    assert _sample({}, second) == told


def test_two_commits_of_a_repository_are_one_sample_too() -> None:
    shop = [{"source": f"git ../shop@{end * 40}", "tree": end * 40} for end in "ab"]
    assert _sample(*shop) == "the same source"
    assert _sample(shop[0], {"source": f"git ../mall@{COMMIT}", "tree": "0" * 40}) is None


def _sample(first: dict[str, str], second: dict[str, str]) -> str | None:
    run = a_run({"current": endings([3, 3]), "cheap": endings([3, 3])})
    plan = replace(run.plan, tasks={"t01": a_task(**first), "t02": a_task(**second)})
    run = results_of(plan, [a_bundle(trial) for trial in run.trials])
    (said,) = [one for one in compared(run).cautions if "one sample" in one] or [""]
    return said.removeprefix("every task starts from ").partition(":")[0] or None


def test_with_more_looks_more_tasks_have_to_move_and_bounds_are_wider() -> None:
    run = a_run({"current": endings([0] * 6 + [3] * 4), "cheap": endings([3] * 10)})
    told = list(evidence(compared(run, rule=Rule(looks=2))))
    assert any("fewer than 7 the sign-flip test cannot reach 0.025" in one for one in told)
    assert any("up to 30.8 % may, by a one-sided bound at 0.975" in one for one in told)
    assert any(one.startswith("Exact sign-flip test") for one in evidence(compared(run)))


def test_a_configuration_that_changed_between_runs_is_told() -> None:
    changed = a_configuration(digest="b" * 64)
    runs = [
        a_run({"current": endings(A)}, configurations={"current": one}, run=name)
        for name, one in (("one", ONE), ("two", changed))
    ]
    (told,) = changed_between_runs(runs, ["current"])
    assert "current is not the same in all runs" in told
    assert changed_between_runs(runs[:1], ["current"]) == []


def test_json_keeps_fractions_exact_and_is_json(example: Compared) -> None:
    said = compared_json(example)
    json.dumps(said)
    assert said["valid_execution"]["difference"] == "1/30"
    assert said["valid_execution"]["interval"]["low"] == -0.145406
    assert said["needed"][1] == {"difference": "1/10", "tasks": 31}
    assert said["estimates"][0]["reliability"][1]["pass_hat"]["value"] == "3/5"


def test_numbers_in_words() -> None:
    assert points(Fraction(1, 30)) == "+3.3"
    assert points(-0.0004) == "0.0"
    assert points(Fraction(-7, 18)) == "-38.9"
    assert probability(Fraction(1, 128)) == "0.0078 (1/128)"
    assert probability(1e-9) == "less than 0.0001"
    assert probability(0.25) == "0.25"
    assert over_tasks(suite_pass_hat([], 2)) == "unknown"


def test_an_open_run_may_be_looked_at_when_that_was_planned() -> None:
    case = VECTORS["paired"]["ex2"]
    cut = {
        name: [[*one[:2], None] for one in endings(case[side])]
        for name, side in (("current", "A"), ("cheap", "B"))
    }
    declared = Comparison(baseline="current", candidate="cheap", looks=(2,))
    assert compared(a_run(cut)).verdict is Verdict.NOT_READY
    found = compared(a_run(cut, compare=declared), rule=Rule(looks=2))
    assert found.verdict is not Verdict.NOT_READY
    assert found.valid is not None
    assert found.valid.difference is not None
    assert found.valid.difference.interval.confidence == 0.975
    assert found.cautions[0] == "a look that was planned: after 2 rounds"
    other = replace(declared, looks=(1,))
    assert compared(a_run(cut, compare=other)).verdict is Verdict.NOT_READY


def test_the_declared_rule_is_the_one_that_is_used() -> None:
    declared = Comparison(
        baseline="current", candidate="cheap", margin=0.1, alpha=0.01, max_collapse_share=0.3
    )
    found = rule([a_run({"current": endings(A), "cheap": endings(B)}, compare=declared)])
    assert found == Rule(
        alpha=Fraction(1, 100), margin=Fraction(1, 10), max_collapse_share=Fraction(3, 10)
    )
