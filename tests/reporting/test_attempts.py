"""How workflows of two attempts are counted and said."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.recorded import a_configuration, a_plan, a_trial

from trialbook.formats.records import to_json
from trialbook.model.change import AttemptChange
from trialbook.model.escalation import Condition
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan, PlannedEscalation, PlannedStage
from trialbook.model.trajectory import Event, EventKind, Trajectory
from trialbook.model.trial import Attempt, Trial
from trialbook.model.usage import Usage, added
from trialbook.reporting.arms import what_differs
from trialbook.reporting.attempts import attempt_counts, attempts_section, cost_said
from trialbook.reporting.costs import costs
from trialbook.reporting.results import RunResults
from trialbook.reporting.trial_facts import trial_facts
from trialbook.reporting.wording import nature_label
from trialbook.stats.views import Tally

TO = PlannedStage(
    name="strong",
    agent="codex",
    agent_version="1",
    model="large",
    reasoning=None,
    approval=None,
    environment={},
    pass_environment=(),
    secrets=(),
    limits={},
    parameters={},
)
ESCALATION = PlannedEscalation(
    when=(Condition.CHECKS_FAIL, Condition.NO_CHANGE),
    workspace="carried",
    tell="checks",
    first_limits={},
    to=TO,
)
CHAIN = a_configuration(agent="codex", model="small", escalation=ESCALATION)
ONCE = a_configuration(agent="codex", model="small")
CHEAP = Usage(cost_usd="0.01", basis="reported", turns=3)
DEAR = Usage(cost_usd="0.25", basis="priced", turns=2)


def a_run(*trials: tuple[Outcome, tuple[Usage, ...]]) -> tuple[Plan, RunResults]:
    plan = a_plan({"chain": CHAIN}, ["t"], repetitions=len(trials))
    slots = sorted(slot.key for slot in plan.schedule)
    made = tuple(
        a_chain(plan, slot, outcome, *used)
        for slot, (outcome, used) in zip(slots, trials, strict=True)
    )
    return plan, RunResults(plan=plan, trials=made)


def a_chain(plan: Plan, slot: Any, outcome: Outcome, *used: Usage) -> Trial:
    attempts = tuple(
        Attempt(session=1, attempt=number, process=None, usage=one, configuration="x")
        for number, one in enumerate(used, 1)
    )
    return replace(a_trial(plan, slot, outcome), attempts=attempts, usage=added(used))


def test_attempts_are_counted_and_their_costs_are_told_apart() -> None:
    _, results = a_run(
        (Outcome.ACCEPTED, (CHEAP,)),
        (Outcome.ACCEPTED, (CHEAP, DEAR)),
        (Outcome.REJECTED, (Usage(), DEAR)),
    )
    (found,) = attempt_counts(results)
    assert found.escalated == Tally(accepted=2, slots=3)
    assert found.after_first == Tally(accepted=1, slots=1)
    assert found.after_second == Tally(accepted=1, slots=2)
    assert found.spend == ("$0.02 (reported) and unknown of 1 attempt", "$0.50 (priced)")
    assert "| `chain` | 2/3 | 1/1 | 1/2 |" in "".join(attempts_section(results))


def test_a_run_without_a_second_attempt_says_nothing_of_attempts() -> None:
    plan = a_plan({"once": ONCE}, ["t"], repetitions=1)
    assert list(attempts_section(RunResults(plan=plan, trials=()))) == []


def test_the_cost_of_a_trial_has_all_attempts_in_it_and_says_where_it_comes_from() -> None:
    _, results = a_run(
        (Outcome.ACCEPTED, (CHEAP, DEAR)),
        (Outcome.ACCEPTED, (CHEAP, Usage())),
    )
    both, half = results.trials
    assert cost_said(both) == "$0.26 (reported+priced)"
    assert cost_said(half) == "unknown; $0.01 (reported) is known, of attempt 1"
    (cost,) = costs(results)
    # What is not known of one trial is not known of the configuration.
    assert (cost.spend, cost.per_accepted) == (None, None)


def test_a_comparison_tells_that_one_side_may_make_a_second_attempt() -> None:
    assert what_differs(CHAIN, CHAIN) == []
    (told,) = what_differs(ONCE, CHAIN)
    assert told == (
        "attempts (one; against a second attempt with strong (codex, large) when visible checks "
        "fail or nothing is changed; it works in the workspace as the first one left it, and is "
        "told what they found)"
    )
    fresh = replace(CHAIN, escalation=replace(ESCALATION, workspace="fresh"))
    (told,) = what_differs(CHAIN, fresh)
    assert told.startswith("attempts (a second attempt with strong")


def test_a_recording_in_either_attempt_is_never_passed_off_as_an_agent() -> None:
    recorded = replace(ESCALATION, to=replace(TO, agent="replay"))
    assert nature_label(replace(CHAIN, escalation=recorded)) == "replayed"
    assert nature_label(CHAIN) == ""


def test_a_first_attempts_work_is_held_against_what_it_left_itself() -> None:
    plan, results = a_run((Outcome.ACCEPTED, (CHEAP, DEAR)))
    del plan
    change = AttemptChange(tree="0" * 40, files=1, insertions=1, deletions=0)
    first, second = results.trials[0].attempts
    trial = replace(results.trials[0], attempts=(replace(first, change=change), second))
    events = (
        Event(number=1, kind=EventKind.WRITE, path="a.py", at="2026-11-30T15:16:00.000Z"),
        Event(number=2, kind=EventKind.COMMAND, command="ls", at="2026-11-30T15:16:10.000Z"),
    )
    did = to_json(Trajectory(client="c", events=events))
    left = b"diff --git a/a.py b/a.py\n--- a/a.py\n+++ b/a.py\n@@ -1 +1 @@\n-x\n+y\n"
    other = left.replace(b"a.py", b"b.py")
    name = "sessions/1/attempt-1"
    files = {f"{name}/trajectory.json": did, f"{name}/change.patch": left}
    made = trial_facts(trial, files, other).attempts[0].conduct
    without = trial_facts(results.trials[0], files, other).attempts[0].conduct
    assert made is not None
    assert without is not None
    assert made.seconds_after_edit is not None
    assert without.seconds_after_edit is None
