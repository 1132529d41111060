from __future__ import annotations

from dataclasses import replace

from tests.recorded import drift_run

from trialbook.formats.records import to_json
from trialbook.model.outcome import Outcome
from trialbook.model.trajectory import Event, EventKind, Trajectory
from trialbook.model.trial import Trial
from trialbook.reporting.facts_by_outcome import Measured, facts_by_outcome
from trialbook.reporting.trial_facts import TrialFacts, trial_facts

_, _BUNDLES = drift_run()


def a_trial(outcome: Outcome, number: int) -> Trial:
    return replace(
        _BUNDLES[0].record, configuration="c", repetition=number, outcome=outcome, attempts=()
    )


def worked(commands: int) -> TrialFacts:
    events = tuple(
        Event(number=n, kind=EventKind.COMMAND, command=str(n)) for n in range(1, commands + 1)
    )
    data = to_json(Trajectory(client="c", events=events))
    return trial_facts(_BUNDLES[0].record, {"sessions/1/attempt-1/trajectory.json": data}, None)


def test_accepted_trials_stand_apart_from_the_others_and_invalid_ones_are_left_out() -> None:
    ends = [Outcome.ACCEPTED, Outcome.ACCEPTED, Outcome.REJECTED, Outcome.PROVIDER_OUTAGE]
    trials = [a_trial(outcome, number) for number, outcome in enumerate(ends, 1)]
    facts = {trial.path: worked(count) for trial, count in zip(trials, (4, 8, 90, 5), strict=True)}
    found = {one.name: one for one in facts_by_outcome(trials, facts)}
    assert str(found["commands"].accepted) == "6 (4 to 8)"
    assert str(found["commands"].others) == "90 (90 to 90)"
    # Nothing is known of how the commands ended.
    assert str(found["same failure in a row"].accepted) == "unknown of 2"
    assert str(found["commands repeated, %"].accepted) == "0 (0 to 0)"


def test_trials_without_a_trajectory_give_nothing() -> None:
    trial = a_trial(Outcome.ACCEPTED, 1)
    found: tuple[Measured, ...] = facts_by_outcome([trial], {})
    assert found == ()
    assert facts_by_outcome([trial], {trial.path: trial_facts(trial, {}, None)}) == ()
