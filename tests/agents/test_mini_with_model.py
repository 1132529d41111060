"""mini-swe-agent with a model that it asks over the network, by litellm: a scripted one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.agents.bench import Bench

from trialbook.api import AgentEnd, AgentResult, EventKind, Limits, Price, PriceTable, Trouble
from trialbook_agents.mini_swe_agent import MiniSweAgent

pytestmark = pytest.mark.agents

MakeBench = Callable[..., Bench]
KEY = {"OPENAI_API_KEY": "sk-scripted"}
SUBMIT = "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"
PRICES = PriceTable(
    path="prices/2026-11-30.yaml",
    sha256="0" * 64,
    date="2026-11-30",
    models={"openai/scripted": Price(input="1000", output="0", cache_read="0")},
)


def bash(command: str, text: str = "", **usage: int) -> dict[str, Any]:
    step: dict[str, Any] = {"tools": [{"name": "bash", "input": {"command": command}}]}
    return step | {"text": text, "usage": {"in": 1000, "out": 30, **usage}}


def error(status: int, message: str, code: str | None = None) -> list[dict[str, Any]]:
    return [{"status": status, "body": {"error": {"message": message, "type": "x", "code": code}}}]


def ask(bench: Bench, mini: str, **more: Any) -> AgentResult:
    given = {"program": mini, "base_url": f"{bench.model.url}/v1", "retries": 0}
    given |= more.pop("parameters", {})
    model = more.pop("model", "openai/scripted")
    return bench.run(MiniSweAgent(), parameters=given, model=model, **more)


SUCCESS = [
    bash("echo hello > out.txt; cat README.md", "Looking.", cache_read=100),
    bash(SUBMIT, "Done. All 3 tests pass.", cache_read=200, reasoning=10),
]


def test_a_run_that_succeeds_is_read_whole(bench: MakeBench, mini: str) -> None:
    made = bench(KEY, default=SUCCESS)
    instructions = {"AGENTS.md": "Speak of the WORKSPACE-MARK.\n", "CLAUDE.md": "WORKSPACE-MARK\n"}
    result = ask(made, mini, prompt="Write the file, größe.\n", files_there=instructions)
    assert result.end is AgentEnd.FINISHED, result.message
    assert made.model.heard("Write the file, größe.")
    # It reads no instruction files, whoever wrote them.
    assert not made.model.heard("WORKSPACE-MARK")
    usage = result.usage
    assert (usage.input_tokens, usage.cache_read_tokens) == (2000, 300)
    assert (usage.output_tokens, usage.reasoning_tokens) == (60, 10)
    assert (usage.model_calls, usage.turns) == (2, 2)
    # The client knows no price of it.
    assert (usage.cost_usd, usage.basis) == (None, "unknown")
    trajectory = result.trajectory
    assert trajectory is not None
    assert (trajectory.truncated, trajectory.unknown_events) == (False, 0)
    assert [event.kind.value for event in trajectory.events] == [
        *("prompt", "message", "command", "message", "command")
    ]
    first = trajectory.events[2]
    assert (first.exit_code, first.ok, first.output) == (0, True, "A project.\n")


def test_a_model_that_litellm_knows_has_a_reported_cost(bench: MakeBench, mini: str) -> None:
    made = bench(KEY, **{"gpt-4o": [bash(SUBMIT, "Done.", **{"in": 1_000_000, "out": 100_000})]})
    result = ask(made, mini, model="openai/gpt-4o")
    assert result.end is AgentEnd.FINISHED, result.message
    assert (result.usage.cost_usd, result.usage.basis) == ("3.5", "reported")


@pytest.mark.parametrize(
    ("answer", "end", "trouble"),
    [
        (error(401, "Incorrect API key"), AgentEnd.OUTAGE, Trouble.AUTHENTICATION),
        (error(403, "forbidden"), AgentEnd.OUTAGE, Trouble.AUTHENTICATION),
        (error(404, "The model does not exist"), AgentEnd.OUTAGE, Trouble.MODEL),
        (error(429, "slow down"), AgentEnd.OUTAGE, Trouble.RATE_LIMIT),
        (error(429, "exceeded your current quota"), AgentEnd.OUTAGE, Trouble.BILLING),
        (error(500, "boom"), AgentEnd.OUTAGE, Trouble.SERVER),
        (error(503, "busy"), AgentEnd.OUTAGE, Trouble.OVERLOADED),
        (error(400, "no", "context_length_exceeded"), AgentEnd.ERROR, Trouble.REQUEST),
        (error(400, "no such thing"), AgentEnd.ERROR, Trouble.REQUEST),
    ],
)
def test_errors_of_the_model_are_told_apart(
    bench: MakeBench, mini: str, answer: Any, end: AgentEnd, trouble: Trouble
) -> None:
    result = ask(bench(KEY, default=answer), mini)
    assert (result.end, result.trouble) == (end, trouble), result.message
    assert result.process is not None
    assert result.process.exit_code == 1


def test_a_missing_key_and_a_silent_host_are_outages(bench: MakeBench, mini: str) -> None:
    made = bench(default=SUCCESS)
    result = ask(made, mini)
    assert (result.end, result.trouble) == (AgentEnd.OUTAGE, Trouble.AUTHENTICATION), result.message
    nowhere = {"base_url": "http://127.0.0.1:9/v1"}
    result = ask(made, mini, parameters=nowhere, environment=KEY)
    assert (result.end, result.trouble) == (AgentEnd.OUTAGE, Trouble.CONNECTION), result.message


def test_a_model_that_hangs_meets_the_limit_of_time(bench: MakeBench, mini: str) -> None:
    made = bench(KEY, default=[bash("true", "First."), {"text": "Well", "sleep": 60}])
    result = ask(made, mini, limits=Limits(minutes=12 / 60, grace_seconds=1))
    assert result.end is AgentEnd.TIMED_OUT, result.message
    assert result.trajectory is not None
    assert result.trajectory.truncated


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(minutes=1, turns=2), "the limit of 2 turns was reached"),
        (Limits(minutes=1, tokens=2500), "and 2500 are allowed"),
        (Limits(minutes=1, usd=1.5), "US dollars, and 1.5 are allowed"),
    ],
)
def test_limits_are_kept(bench: MakeBench, mini: str, limits: Limits, said: str) -> None:
    made = bench(KEY, default=[bash("sleep 0.5", "Again.")])
    result = ask(made, mini, limits=limits, prices=PRICES)
    assert result.end is AgentEnd.BUDGET, result.message
    assert said in result.message
    assert result.trajectory is not None
    commands = [event for event in result.trajectory.events if event.kind is EventKind.COMMAND]
    assert 1 <= len(commands) <= 8
