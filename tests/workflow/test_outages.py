from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import git, trialbook
from tests.recorded import mixed_run

from trialbook.api import Agent, AgentEnd, AgentResult, Assignment, Trouble
from trialbook.model.incident import Incident
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan
from trialbook.model.suite import STOP, OutagePolicy
from trialbook.model.trial import Trial, TrialSpec
from trialbook.registry import Registry
from trialbook.storage.corrections import incidents
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.suites import load_suite
from trialbook.system import System
from trialbook.workflow.breaker import Breaker, Change, State
from trialbook.workflow.evaluate import Bench, Ending, resume_run, start_run
from trialbook.workflow.planning import Request, make_plan
from trialbook.workflow.withheld import Withheld

DOWN, UP = Outcome.PROVIDER_OUTAGE, Outcome.ACCEPTED
_, _BUNDLES = mixed_run()


def a_trial(outcome: Outcome, repetition: int = 1) -> Trial:
    return replace(_BUNDLES[0].record, outcome=outcome, repetition=repetition)


# --- the breaker alone ---------------------------------------------------------------------------


def fed(breaker: Breaker, *outcomes: Outcome, now: float = 0) -> Change | None:
    change = None
    for outcome in outcomes:
        change = breaker.ended(a_trial(outcome), now)
    return change


def test_only_outages_in_a_row_trip_it() -> None:
    breaker = Breaker(OutagePolicy())
    assert fed(breaker, DOWN, DOWN, UP, DOWN, DOWN) is None
    # These ends say nothing of the provider.
    assert fed(breaker, Outcome.CANCELLED, Outcome.ENVIRONMENT_FAILURE) is None
    assert breaker.may_start(0)
    assert fed(breaker, DOWN) is Change.TRIPPED
    assert not breaker.may_start(59.9)
    assert breaker.may_start(60)
    assert fed(Breaker(OutagePolicy(in_a_row=None)), *[DOWN] * 99) is None
    assert fed(Breaker(OutagePolicy(in_a_row=1)), Outcome.AGENT_ERROR, DOWN) is Change.TRIPPED


def test_each_wait_is_twice_as_long_until_the_last_try() -> None:
    policy = OutagePolicy(in_a_row=1, wait_minutes=1, longest_wait_minutes=3, probes=4)
    breaker, now, waits = Breaker(policy), 0.0, []
    change = fed(breaker, DOWN)
    while change is not Change.GAVE_UP:
        waits.append(breaker.wait_seconds)
        now += breaker.wait_seconds
        assert not breaker.may_start(now - 0.1)
        assert breaker.may_start(now)
        assert breaker.started(a_trial(DOWN).path)
        # While one is tried no other starts.
        assert not breaker.may_start(now + 10_000)
        change = breaker.ended(a_trial(DOWN), now)
    assert waits == [60, 120, 180, 180]
    assert breaker.stopped
    assert not breaker.may_start(now + 10_000)


def test_only_the_trial_that_was_tried_says_that_the_provider_is_back() -> None:
    breaker = Breaker(OutagePolicy(in_a_row=1))
    fed(breaker, DOWN)
    # It was running before.
    assert breaker.ended(a_trial(UP, 2), 1) is None
    assert breaker.started(a_trial(UP, 3).path)
    assert breaker.ended(a_trial(DOWN, 2), 61) is None
    assert breaker.state is State.PROBING
    assert breaker.ended(a_trial(Outcome.REJECTED, 3), 62) is Change.RECOVERED
    assert breaker.may_start(62)
    assert breaker.row == []
    cancelled = Breaker(OutagePolicy(in_a_row=1))
    fed(cancelled, DOWN)
    cancelled.started(a_trial(UP).path)
    assert fed(cancelled, Outcome.CANCELLED) is Change.STILL_DOWN


@given(st.lists(st.sampled_from(Outcome)), st.integers(1, 4), st.integers(1, 3))
def test_a_breaker_never_has_two_trials_on_trial(
    outcomes: list[Outcome], in_a_row: int, probes: int
) -> None:
    breaker, now, row = Breaker(OutagePolicy(in_a_row=in_a_row, probes=probes)), 0.0, 0
    for number, outcome in enumerate(outcomes):
        now += 10_000
        if not breaker.may_start(now):
            assert breaker.stopped
            return
        probing = breaker.started(a_trial(outcome, number).path)
        assert breaker.may_start(now) is not probing
        breaker.ended(a_trial(outcome, number), now)
        row = row + 1 if outcome is DOWN else row
    assert breaker.stopped is False or row > in_a_row - 1


# --- in a run ------------------------------------------------------------------------------------


@dataclass
class Scripted:
    """An agent whose provider is down in the calls that a script names."""

    down: Callable[[int], bool]
    calls: list[str] = field(default_factory=list)
    name: str = "command"
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def version(self) -> str:
        return "1"

    def run(self, assignment: Assignment) -> AgentResult:
        number = len(self.calls)
        self.calls.append(f"{assignment.task}/r{assignment.repetition}")
        if self.down(number):
            return AgentResult(end=AgentEnd.OUTAGE, message="HTTP 529", trouble=Trouble.OVERLOADED)
        answer = f"{assignment.task} {assignment.repetition}\n"
        (assignment.workspace / "answer.txt").write_text(answer)
        return AgentResult(end=AgentEnd.FINISHED, message="done")


class Agents(Registry):
    def __init__(self, agent: Scripted) -> None:
        super().__init__()
        self._agent = agent

    def agent(self, name: str) -> Agent:
        del name
        return self._agent


@dataclass
class Watching:
    said: list[str] = field(default_factory=list)
    hear: Callable[[str], None] = lambda text: None

    def began(self, plan: Plan, done: list[Trial]) -> None: ...
    def started(self, spec: TrialSpec) -> None: ...
    def finished(self, trial: Trial) -> None: ...
    def withheld(self, trial: Withheld) -> None: ...
    def tick(self) -> None: ...
    def stopping(self, running: int) -> None: ...

    def say(self, text: str) -> None:
        self.said.append(text)
        self.hear(text)


def run(
    ledger: Path, down: Callable[[int], bool], policy: str, watching: Watching | None = None
) -> tuple[Ending, Watching, list[str]]:
    suite = ledger / "suites/mini/suite.yaml"
    suite.write_text(suite.read_text() + f"outages: {policy}\nrerun: {{provider_outage: 1}}\n")
    git(ledger, "commit", "-qam", "policy")
    agent, watching = Scripted(down), watching or Watching()
    registry = Agents(agent)
    bench = Bench(root=ledger, registry=registry, system=System(), observer=watching)
    loaded = load_suite(ledger, "mini", registry)
    plan = make_plan(
        loaded,
        Request(jobs=1, sandbox="none", seed="1"),
        root=ledger,
        registry=registry,
        system=bench.system,
        say=lambda text: None,
    )
    return start_run(bench, loaded, plan), watching, agent.calls


def recorded(ledger: Path, ending: Ending) -> tuple[Incident, ...]:
    ref = RunRef(suite=ending.plan.suite, run=ending.plan.run)
    return incidents(Reader.open(ledger), ref)


SHORT = "wait_minutes: 0.003, longest_wait_minutes: 0.006"


@pytest.mark.slow
def test_a_run_pauses_tries_and_goes_on_with_an_incident_on_record(ledger: Path) -> None:
    ending, watching, calls = run(
        ledger, lambda number: 2 <= number < 6, f"{{in_a_row: 3, {SHORT}}}"
    )
    assert ending.complete
    assert ending.stopped == ""
    # Eight slots; three outages and one more as a try, each run again once.
    assert len(calls) == 12
    [incident] = recorded(ledger, ending)
    assert incident.opened.kind == "provider"
    assert "3 trials in a row" in incident.opened.reason
    assert "overloaded (3)" in incident.opened.reason
    assert len(incident.opened.evidence) == 3
    outages = [one for one in ending.trials if one.outcome is DOWN]
    assert incident.opened.began == min(one.started for one in outages)
    assert incident.closing is None
    assert [text.split(":")[0].split(",")[0] for text in watching.said] == [
        "no more trials are started",
        "trying whether the provider answers again",
        "the provider does not answer yet; the next try is in 0.4 s",
        "trying whether the provider answers again",
        "the provider answers again",
    ]
    assert f"incident close {incident.id} --until " in watching.said[-1]
    assert ending.to_close in watching.said[-1]
    closing = ending.to_close.replace("DECISION", "keep").replace("REASON", "over")
    trialbook(ledger, *closing.split()[1:])
    plan = json.loads((ledger / f"runs/{ending.plan.path}/plan.json").read_text())
    assert plan["outages"]["in_a_row"] == 3
    trialbook(ledger, "verify")


@pytest.mark.slow
def test_a_run_ends_when_the_provider_does_not_come_back_and_can_be_resumed(
    ledger: Path,
) -> None:
    ending, watching, calls = run(
        ledger, lambda number: number >= 1, f"{{in_a_row: 2, probes: 2, {SHORT}}}"
    )
    assert not ending.complete
    assert not ending.interrupted
    assert ending.stopped == "the provider did not answer in 2 tries"
    assert len(calls) == 5
    assert "resume" in watching.said[-1]
    agent = Scripted(lambda number: number < 2)
    registry = Agents(agent)
    bench = Bench(root=ledger, registry=registry, system=System(), observer=Watching())
    ref = RunRef(suite="mini", run=ending.plan.run)
    again = resume_run(bench, load_suite(ledger, "mini", registry), ref)
    assert again.complete
    # The incident that is open is the one of this trouble, too.
    assert len(recorded(ledger, ending)) == 1


def test_a_policy_may_end_the_run_at_once_or_go_on_whatever_comes(ledger: Path) -> None:
    ending, watching, calls = run(ledger, lambda number: True, "{in_a_row: 2, then: stop}")
    assert ending.plan.outages == OutagePolicy(in_a_row=2, then=STOP)
    assert len(calls) == 2
    assert "2 trials in a row" in ending.stopped
    assert len(recorded(ledger, ending)) == 1
    assert len(watching.said) == 1


def test_without_a_number_a_run_goes_on(ledger: Path) -> None:
    ending, watching, calls = run(ledger, lambda number: True, "{in_a_row: null}")
    assert ending.complete
    assert len(calls) == 16
    assert recorded(ledger, ending) == ()
    assert watching.said == []


def test_ctrl_c_ends_a_run_that_waits(ledger: Path) -> None:
    def interrupt(text: str) -> None:
        if text.startswith("no more trials"):
            os.kill(os.getpid(), signal.SIGINT)

    began = time.monotonic()
    watching = Watching(hear=interrupt)
    ending, _, calls = run(ledger, lambda number: True, "{in_a_row: 1}", watching)
    assert time.monotonic() - began < 30
    assert ending.interrupted
    assert not ending.complete
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("policy", "said"),
    [
        ("{in_a_row: 0}", "in_a_row"),
        ("{then: hope}", "hope"),
        ("{wait_minutes: 0}", "wait_minutes"),
        ("{wait: 1}", "wait"),
    ],
)
def test_a_policy_that_is_none_is_told(ledger: Path, policy: str, said: str) -> None:
    suite = ledger / "suites/mini/suite.yaml"
    suite.write_text(suite.read_text() + f"outages: {policy}\n")
    assert said in trialbook(ledger, "suite", "check", "mini", check=2).stderr
