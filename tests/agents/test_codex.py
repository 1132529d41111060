"""Codex itself, run against a scripted model: every way to end, and what is read of it."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from tests.agents.bench import Bench
from tests.agents.processes import processes_in

from trialbook.api import (
    AgentEnd,
    AgentResult,
    ClaimKind,
    Ended,
    EventKind,
    Limits,
    Price,
    PriceTable,
    Trouble,
)
from trialbook.process import run
from trialbook_agents.codex import CodexAgent

pytestmark = pytest.mark.agents

MakeBench = Callable[..., Bench]
KEY = {"OPENAI_API_KEY": "sk-scripted"}
# The client knows this model, and gives it a tool to patch files with.
MODEL = "gpt-5.5"


def shell(command: str, text: str = "", **usage: int) -> dict[str, Any]:
    step: dict[str, Any] = {"tools": [{"name": "exec_command", "input": {"cmd": command}}]}
    return step | {"text": text, "usage": {"in": 1000, "out": 30, **usage}}


def error(status: int, message: str, code: str | None = None) -> list[dict[str, Any]]:
    return [{"status": status, "body": {"error": {"message": message, "type": "x", "code": code}}}]


def parameters(bench: Bench, codex: str, **more: Any) -> dict[str, Any]:
    return {"program": codex, "base_url": f"{bench.model.url}/v1", "retries": 1, **more}


def ask(bench: Bench, codex: str, **more: Any) -> AgentResult:
    given = parameters(bench, codex, **more.pop("parameters", {}))
    return bench.run(CodexAgent(), **{"parameters": given, "model": MODEL, **more})


PATCH = "*** Begin Patch\n*** Add File: new.txt\n+new\n*** End Patch\n"
SUCCESS = [
    shell("echo hello > out.txt; exit 3", "Looking.", cache_read=100),
    {
        "text": "Patching.",
        "tools": [{"name": "apply_patch", "raw": PATCH}],
        "usage": {"in": 1200, "out": 30, "cache_read": 50, "reasoning": 10},
    },
    {"text": "Done. All 3 tests pass.", "usage": {"in": 1300, "out": 40}},
]


def test_a_run_that_succeeds_is_read_whole(bench: MakeBench, codex: str) -> None:
    made = bench(KEY, default=SUCCESS)
    assignment = made.assignment(
        "Write the file, größe.\n", model=MODEL, parameters=parameters(made, codex)
    )
    result = CodexAgent().run(assignment)
    assert result.end is AgentEnd.FINISHED, result.message
    assert (assignment.workspace / "out.txt").read_text() == "hello\n"
    assert (assignment.workspace / "new.txt").read_text() == "new\n"
    assert made.model.heard("Write the file, größe.")
    assert result.reported_version == "0.171.0"
    usage = result.usage
    assert (usage.input_tokens, usage.output_tokens) == (3500, 100)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (150, 0)
    assert (usage.reasoning_tokens, usage.model_calls, usage.turns) == (10, 3, 3)
    assert (usage.cost_usd, usage.basis) == (None, "unknown")
    assert list(result.by_model) == [MODEL]
    assert [claim.kind for claim in result.claims] == [ClaimKind.PASSED]
    trajectory = result.trajectory
    assert trajectory is not None
    assert (trajectory.source, trajectory.truncated) == ("rollout.jsonl", False)
    assert (trajectory.unknown_events, trajectory.model) == (0, MODEL)
    assert [event.kind.value for event in trajectory.events] == [
        *("prompt", "message", "command", "message", "write", "message")
    ]
    command, write = trajectory.events[2], trajectory.events[4]
    assert command.command == "echo hello > out.txt; exit 3"
    assert (command.exit_code, command.ok, command.turn) == (3, False, 1)
    assert (write.path, write.ok, write.turn) == ("new.txt", True, 2)
    first = trajectory.events[1].usage
    assert first is not None
    assert (first.input_tokens, first.cache_read_tokens, first.output_tokens) == (1000, 100, 30)
    assert {"stdout.txt", "rollout.jsonl"} <= {path.name for path in assignment.output.iterdir()}


def test_without_a_rollout_what_it_printed_is_read(bench: MakeBench, codex: str) -> None:
    made = bench(KEY, default=SUCCESS)
    result = ask(made, codex, parameters={"arguments": ["--ephemeral"]})
    assert result.end is AgentEnd.FINISHED, result.message
    usage = result.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (3500, 100, 150)
    # How often it asked the model, it does not print.
    assert (usage.model_calls, usage.turns) == (None, None)
    assert result.trajectory is not None
    assert result.trajectory.source == "stdout.txt"
    commands = [e for e in result.trajectory.events if e.kind is EventKind.COMMAND]
    assert [(e.command, e.exit_code) for e in commands] == [("echo hello > out.txt; exit 3", 3)]
    writes = [event.path for event in result.trajectory.events if event.kind is EventKind.WRITE]
    assert writes == ["new.txt"]


LOOP = [shell("sleep 0.3", "Again.")]
PRICES = PriceTable(
    path="prices/2026-11-30.yaml",
    sha256="0" * 64,
    date="2026-11-30",
    models={MODEL: Price(input="1000", output="0", cache_read="1")},
)


@pytest.mark.parametrize(
    ("limits", "said"),
    [
        (Limits(minutes=1, turns=2), "and 2 are allowed"),
        (Limits(minutes=1, tokens=2500), "tokens, and 2500 are allowed"),
        (Limits(minutes=1, usd=1.5), "US dollars, and 1.5 are allowed"),
    ],
)
def test_limits_are_kept_from_outside(
    bench: MakeBench, codex: str, limits: Limits, said: str
) -> None:
    result = ask(bench(KEY, default=LOOP), codex, limits=limits, prices=PRICES)
    assert result.end is AgentEnd.BUDGET, result.message
    assert said in result.message
    assert result.process is not None
    assert result.process.ended is Ended.STOPPED
    # It was ended before it could say what it used: its rollout does.
    calls = result.usage.model_calls or 0
    assert 2 <= calls <= 8
    assert result.usage.input_tokens == 1000 * calls
    assert result.trajectory is not None
    assert result.trajectory.truncated


def test_what_it_can_keep_depends_on_prices() -> None:
    assert list(CodexAgent().enforces(MODEL, None)) == ["turns", "tokens"]
    assert list(CodexAgent().enforces(MODEL, PRICES)) == ["turns", "tokens", "usd"]
    assert list(CodexAgent().enforces("another", PRICES)) == ["turns", "tokens"]


def test_its_own_sandbox_keeps_writes_inside(bench: MakeBench, codex: str) -> None:
    outside = Path.home() / f".outside-{os.getpid()}"
    made = bench(KEY, default=[shell(f"echo x > {outside}"), {"text": "Well."}])
    result = ask(made, codex, approval="read-only")
    assert not outside.exists()
    if result.end is AgentEnd.ENVIRONMENT:
        assert "does not work here" in result.message
        return
    assert result.end is AgentEnd.FINISHED, result.message
    assert result.trajectory is not None
    (command,) = [e for e in result.trajectory.events if e.kind is EventKind.COMMAND]
    assert (command.ok, command.exit_code, command.denied) == (False, 1, True)
    assert "Read-only file system" in (command.output or "")
    assert [denial.tool for denial in result.denied] == ["exec_command"]
    assert str(outside) in result.denied[0].detail


@pytest.mark.parametrize(
    ("answer", "end", "trouble"),
    [
        (error(401, "Incorrect API key"), AgentEnd.OUTAGE, Trouble.AUTHENTICATION),
        (error(403, "forbidden"), AgentEnd.OUTAGE, Trouble.AUTHENTICATION),
        (error(404, "The model does not exist", "x"), AgentEnd.OUTAGE, Trouble.MODEL),
        (error(429, "slow", "rate_limit_exceeded"), AgentEnd.OUTAGE, Trouble.RATE_LIMIT),
        (error(429, "quota", "insufficient_quota"), AgentEnd.OUTAGE, Trouble.BILLING),
        (error(500, "boom"), AgentEnd.OUTAGE, Trouble.SERVER),
        (error(503, "busy"), AgentEnd.OUTAGE, Trouble.OVERLOADED),
        (error(400, "no", "context_length_exceeded"), AgentEnd.ERROR, Trouble.REQUEST),
        (error(400, "no such thing"), AgentEnd.ERROR, Trouble.REQUEST),
    ],
)
def test_errors_of_the_model_are_told_apart(
    bench: MakeBench, codex: str, answer: Any, end: AgentEnd, trouble: Trouble | None
) -> None:
    result = ask(bench(KEY, default=answer), codex)
    assert (result.end, result.trouble) == (end, trouble), result.message
    assert result.process is not None
    assert result.process.exit_code == 1


def test_a_missing_key_and_a_silent_host_are_outages(bench: MakeBench, codex: str) -> None:
    made = bench(default=[{"text": "Hi."}])
    result = ask(made, codex)
    assert (result.end, result.trouble) == (AgentEnd.OUTAGE, Trouble.AUTHENTICATION)
    # It would try for ever, whatever number of retries it is given.
    nowhere = {"base_url": "http://127.0.0.1:9/v1"}
    result = ask(made, codex, parameters=nowhere, environment=KEY, limits=Limits(minutes=2))
    assert (result.end, result.trouble) == (AgentEnd.OUTAGE, Trouble.CONNECTION), result.message
    assert result.process is not None
    assert result.process.seconds < 60


def test_a_model_that_hangs_meets_the_limit_of_time(bench: MakeBench, codex: str) -> None:
    made = bench(KEY, default=[{"text": "Well", "hang": 60}])
    result = ask(made, codex, limits=Limits(minutes=3 / 60, grace_seconds=3))
    assert result.end is AgentEnd.TIMED_OUT
    assert result.trajectory is not None
    assert result.trajectory.truncated


@pytest.mark.parametrize("number", [15, 9])
def test_a_client_that_is_ended_from_outside_failed(
    bench: MakeBench, codex: str, number: int
) -> None:
    made = bench(KEY, default=[shell("echo begun > begun.txt; tail -f /dev/null", "Waiting.")])
    assignment = made.assignment(model=MODEL, parameters=parameters(made, codex))

    def end_it() -> None:
        while not (assignment.workspace / "begun.txt").exists():
            time.sleep(0.05)
        for process in processes_in(assignment.workspace, "/codex"):
            os.kill(process, number)

    killer = threading.Thread(target=end_it, daemon=True)
    killer.start()
    result = CodexAgent().run(assignment)
    killer.join(5)
    assert result.end is AgentEnd.ERROR, result.message
    assert result.process is not None
    assert (result.process.ended, result.process.signal) == (Ended.SIGNALLED, number)
    assert result.usage.input_tokens == 1000
    assert result.trajectory is not None
    doing = result.trajectory.events[-1]
    assert (doing.kind, doing.ok) == (EventKind.COMMAND, None)
    assert processes_in(assignment.workspace) == []


def test_a_huge_prompt_arrives_and_output_may_be_no_text(bench: MakeBench, codex: str) -> None:
    made = bench(KEY, default=[shell("printf '\\377\\376\\000 caf\\351\\n'"), {"text": "Done."}])
    prompt = "A line of a huge prompt, größe.\n" * 20_000 + "THE END OF IT\n"
    result = ask(made, codex, prompt=prompt)
    assert result.end is AgentEnd.FINISHED, result.message
    assert made.model.heard("THE END OF IT")
    assert result.trajectory is not None
    (shown,) = [e for e in result.trajectory.events if e.kind is EventKind.COMMAND]
    assert "caf" in (shown.output or "")


def test_children_that_it_leaves_behind_are_ended(bench: MakeBench, codex: str) -> None:
    left = "setsid sh -c 'echo up > up.txt; tail -f /dev/null' >/dev/null 2>&1 &"
    made = bench(KEY, default=[shell(f"{left} sleep 0.5"), {"text": "Done."}])
    assignment = made.assignment(model=MODEL, parameters=parameters(made, codex))
    result = CodexAgent().run(assignment)
    assert result.end is AgentEnd.FINISHED, result.message
    assert (assignment.workspace / "up.txt").exists()
    assert processes_in(assignment.workspace) == []


BROUGHT = {
    "AGENTS.md": "Obey WORKSPACE-MARK.\n",
    ".agents/skills/polish/SKILL.md": (
        "---\nname: polish\ndescription: SKILL-MARK for polishing.\n---\nPolish.\n"
    ),
    ".codex/config.toml": 'developer_instructions = "UNTRUSTED-MARK"\n',
}


def test_what_the_workspace_brings_counts_and_the_operators_own_does_not(
    bench: MakeBench, codex: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = tmp_path / "operator"
    (operator / ".codex").mkdir(parents=True)
    (operator / ".codex/AGENTS.md").write_text("Obey OPERATOR-MARK.\n")
    monkeypatch.setenv("HOME", str(operator))
    made = bench(KEY, default=[shell("true"), {"text": "Done."}])
    result = ask(made, codex, files_there=BROUGHT)
    assert result.end is AgentEnd.FINISHED, result.message
    assert made.model.heard("WORKSPACE-MARK")
    assert made.model.heard("SKILL-MARK")
    assert not made.model.heard("OPERATOR-MARK")
    assert not made.model.heard("UNTRUSTED-MARK")
    assert sorted(path.name for path in (operator / ".codex").iterdir()) == ["AGENTS.md"]


def test_settings_reach_the_model(bench: MakeBench, codex: str) -> None:
    made = bench({"ANOTHER_KEY": "sk-another"}, default=[{"text": "Hi."}])
    more = {"key": "ANOTHER_KEY", "config": {"model_verbosity": "low"}}
    result = ask(made, codex, reasoning="high", parameters=more)
    assert result.end is AgentEnd.FINISHED, result.message
    asked = made.model.requests[-1]
    assert asked["body"]["model"] == MODEL
    assert asked["body"]["reasoning"]["effort"] == "high"
    assert asked["body"]["text"]["verbosity"] == "low"
    headers = {name.lower(): value for name, value in asked["headers"].items()}
    assert headers["authorization"] == "Bearer sk-another"


def test_eight_at_once_share_nothing(bench: MakeBench, codex: str) -> None:
    names = [f"model-{number}" for number in range(8)]
    made = bench(KEY, **{name: [shell(f"echo {name} > n.txt"), {"text": name}] for name in names})
    given = [made.assignment(model=name, parameters=parameters(made, codex)) for name in names]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(CodexAgent().run, given))
    assert [result.end for result in results] == [AgentEnd.FINISHED] * 8
    assert len({result.session_id for result in results}) == 8
    for name, assignment, result in zip(names, given, results, strict=True):
        assert (assignment.workspace / "n.txt").read_text() == f"{name}\n"
        assert result.usage.model_calls == 2
        assert list(result.by_model) == [name]


def test_the_client_is_found_with_its_version(codex: str) -> None:
    agent = CodexAgent()
    assert agent.client({"program": codex}, run).version == "0.171.0"
    assert agent.client({"program": "no-such-codex"}, run).version is None
    (folder,) = agent.readable({"program": codex})
    assert (folder / "bin" / "codex").exists()
