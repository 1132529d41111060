"""Claude Code itself, run against a scripted model: every way to end, and what is read of it."""

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
    Client,
    Denial,
    Ended,
    EventKind,
    Limits,
    Trouble,
)
from trialbook.process import run
from trialbook_agents.claude_code import ClaudeCodeAgent

pytestmark = pytest.mark.agents

MakeBench = Callable[..., Bench]
KEY = {"ANTHROPIC_API_KEY": "sk-ant-scripted"}


def bash(command: str, text: str = "", **usage: int) -> dict[str, Any]:
    step: dict[str, Any] = {"tools": [{"name": "Bash", "input": {"command": command}}]}
    return step | {"text": text, "usage": {"in": 1000, "out": 30, **usage}}


def error(status: int, kind: str, message: str) -> list[dict[str, Any]]:
    body = {"type": "error", "error": {"type": kind, "message": message}}
    return [{"status": status, "body": body}]


def ask(bench: Bench, claude: str, **more: Any) -> AgentResult:
    parameters = {"program": claude, "base_url": bench.model.url, "retries": 1}
    parameters |= more.pop("parameters", {})
    return bench.run(ClaudeCodeAgent(), parameters=parameters, **more)


def test_a_run_that_succeeds_is_read_whole(bench: MakeBench, claude: str) -> None:
    made = bench(
        KEY,
        default=[
            bash("echo hello > out.txt; exit 3", "Looking.", cache_read=100, cache_write=300),
            {
                "tools": [
                    {"name": "Write", "input": {"file_path": "new.txt", "content": "new\n"}},
                    {"name": "Read", "input": {"file_path": "README.md"}},
                ],
                "usage": {"in": 1200, "out": 30, "cache_read": 50},
            },
            {"text": "Done. All 3 tests pass.", "usage": {"in": 1300, "out": 40}},
        ],
    )
    assignment = made.assignment(
        "Write the file, größe.\n", parameters={"program": claude, "base_url": made.model.url}
    )
    result = ClaudeCodeAgent().run(assignment)
    assert result.end is AgentEnd.FINISHED, result.message
    assert result.message.startswith("Claude Code finished after ")
    assert (assignment.workspace / "out.txt").read_text() == "hello\n"
    assert made.model.heard("Write the file, größe.")
    assert result.reported_version == "2.1.332"
    usage = result.usage
    assert (usage.input_tokens, usage.output_tokens) == (3500, 100)
    assert (usage.cache_read_tokens, usage.cache_write_tokens) == (150, 300)
    assert (usage.reasoning_tokens, usage.model_calls, usage.turns) == (0, 3, 3)
    # The client guesses the cost of a model that it does not know; a guess is no report.
    assert (usage.cost_usd, usage.basis) == (None, "unknown")
    assert result.by_model["scripted"].output_tokens == 100
    assert [claim.kind for claim in result.claims] == [ClaimKind.PASSED]
    trajectory = result.trajectory
    assert trajectory is not None
    assert not trajectory.truncated
    assert trajectory.unknown_events == 0
    assert trajectory.session_id == result.session_id
    assert [event.kind.value for event in trajectory.events] == [
        *("prompt", "message", "command", "write", "read", "message")
    ]
    command, write, read = trajectory.events[2:5]
    assert command.command == "echo hello > out.txt; exit 3"
    assert (command.exit_code, command.ok, command.turn) == (3, False, 1)
    assert (write.path, write.ok) == ("new.txt", True)
    assert (read.path, read.output) == ("README.md", "1\tA project.\n2\t")
    first = trajectory.events[1].usage
    assert first is not None
    assert (first.input_tokens, first.output_tokens, first.cache_write_tokens) == (1000, 30, 300)
    assert {"stdout.txt", "transcript.jsonl"} <= {p.name for p in assignment.output.iterdir()}


def test_a_model_that_the_client_knows_has_a_reported_cost(bench: MakeBench, claude: str) -> None:
    known = "claude-sonnet-4-5-20250929"
    made = bench(KEY, **{known: [{"text": "Hi.", "usage": {"in": 1_000_000, "out": 100_000}}]})
    result = ask(made, claude, model=known)
    assert (result.usage.cost_usd, result.usage.basis) == ("4.5", "reported")


def test_limits_of_turns_and_money_end_it(bench: MakeBench, claude: str) -> None:
    known = "claude-sonnet-4-5-20250929"
    made = bench(
        KEY,
        default=[bash("true", "Again.")],
        **{known: [bash("true", **{"in": 1_000_000})]},
    )
    result = ask(made, claude, limits=Limits(minutes=1, turns=2))
    assert result.end is AgentEnd.BUDGET
    assert "the limit of turns was reached" in result.message
    assert (result.usage.turns, result.usage.input_tokens) == (2, 2000)
    result = ask(made, claude, model=known, limits=Limits(minutes=1, usd=1))
    assert result.end is AgentEnd.BUDGET
    assert "the limit of money was reached" in result.message
    assert result.usage.basis == "reported"


def test_a_limit_of_tokens_is_kept_from_outside(bench: MakeBench, claude: str) -> None:
    made = bench(KEY, default=[bash("sleep 0.2; true", "Again.")])
    result = ask(made, claude, limits=Limits(minutes=1, tokens=2500))
    assert result.end is AgentEnd.BUDGET
    assert result.process is not None
    assert result.process.ended is Ended.STOPPED
    assert "and 2500 are allowed" in result.message
    # It was ended before it could say what it used: its transcript does.
    assert (result.usage.input_tokens or 0) >= 2000
    assert result.usage.output_tokens == 30 * (result.usage.model_calls or 0)
    assert result.trajectory is not None
    assert result.trajectory.truncated


def test_what_is_not_permitted_is_listed(bench: MakeBench, claude: str, tmp_path: Path) -> None:
    outside = str(tmp_path / "outside.txt")
    write = {"name": "Write", "input": {"file_path": outside, "content": "x"}}
    made = bench(KEY, default=[{"tools": [write]}, {"text": "I could not."}])
    result = ask(made, claude)
    assert result.end is AgentEnd.FINISHED
    assert result.denied == (Denial(tool="Write", detail=outside),)
    assert result.trajectory is not None
    assert [event.path for event in result.trajectory.events if event.denied] == [outside]
    assert not Path(outside).exists()
    result = ask(made, claude, approval="allow")
    assert result.end is AgentEnd.FINISHED, result.message
    assert result.denied == ()
    assert Path(outside).exists()


@pytest.mark.parametrize(
    ("answer", "end", "trouble"),
    [
        (error(401, "authentication_error", "no"), AgentEnd.OUTAGE, Trouble.AUTHENTICATION),
        (error(403, "permission_error", "no"), AgentEnd.OUTAGE, Trouble.AUTHENTICATION),
        (error(404, "not_found_error", "model"), AgentEnd.OUTAGE, Trouble.MODEL),
        (error(429, "rate_limit_error", "slow"), AgentEnd.OUTAGE, Trouble.RATE_LIMIT),
        (error(500, "api_error", "boom"), AgentEnd.OUTAGE, Trouble.SERVER),
        (error(529, "overloaded_error", "busy"), AgentEnd.OUTAGE, Trouble.OVERLOADED),
        (
            error(400, "invalid_request_error", "Your credit balance is too low to access it."),
            AgentEnd.OUTAGE,
            Trouble.BILLING,
        ),
        (
            error(400, "invalid_request_error", "prompt is too long: 300000 tokens > 200000"),
            AgentEnd.ERROR,
            Trouble.REQUEST,
        ),
        ([{"text": "No.", "stop": "refusal"}], AgentEnd.ERROR, None),
        ([{"text": "So lo", "stop": "max_tokens"}], AgentEnd.ERROR, None),
    ],
)
def test_errors_of_the_model_are_told_apart(
    bench: MakeBench, claude: str, answer: Any, end: AgentEnd, trouble: Trouble | None
) -> None:
    result = ask(bench(KEY, default=answer), claude)
    assert (result.end, result.trouble) == (end, trouble), result.message
    assert result.process is not None
    assert result.process.exit_code == 1


def test_a_missing_key_and_a_silent_host_are_outages(bench: MakeBench, claude: str) -> None:
    made = bench(default=[{"text": "Hi."}])
    result = ask(made, claude)
    assert (result.end, result.trouble) == (AgentEnd.OUTAGE, Trouble.AUTHENTICATION)
    nowhere = {"base_url": "http://127.0.0.1:9"}
    result = ask(made, claude, parameters=nowhere, environment=KEY)
    assert (result.end, result.trouble) == (AgentEnd.OUTAGE, Trouble.CONNECTION), result.message


def test_a_model_that_hangs_meets_the_limit_of_time(bench: MakeBench, claude: str) -> None:
    made = bench(KEY, default=[{"text": "Well", "hang": 60}])
    result = ask(made, claude, limits=Limits(minutes=4 / 60, grace_seconds=3))
    assert result.end is AgentEnd.TIMED_OUT
    assert result.usage.output_tokens is None or result.usage.output_tokens >= 0
    assert result.trajectory is not None
    assert result.trajectory.truncated


@pytest.mark.parametrize(("number", "ended"), [(15, Ended.EXITED), (9, Ended.SIGNALLED)])
def test_a_client_that_is_ended_from_outside_failed(
    bench: MakeBench, claude: str, number: int, ended: Ended
) -> None:
    made = bench(KEY, default=[bash("echo begun > begun.txt; tail -f /dev/null", "Waiting.")])
    assignment = made.assignment(parameters={"program": claude, "base_url": made.model.url})

    def end_it() -> None:
        while not (assignment.workspace / "begun.txt").exists():
            time.sleep(0.05)
        for process in processes_in(assignment.workspace, "claude"):
            os.kill(process, number)

    killer = threading.Thread(target=end_it, daemon=True)
    killer.start()
    result = ClaudeCodeAgent().run(assignment)
    killer.join(5)
    assert result.end is AgentEnd.ERROR, result.message
    assert result.process is not None
    assert result.process.ended is ended
    # What it was doing is known all the same, and what that used.
    assert result.trajectory is not None
    assert result.trajectory.truncated
    doing = result.trajectory.events[-1]
    assert (doing.kind, doing.ok) == (EventKind.COMMAND, None) or number == 15
    assert processes_in(assignment.workspace) == []


def test_a_huge_prompt_arrives_and_output_may_be_no_text(bench: MakeBench, claude: str) -> None:
    made = bench(KEY, default=[bash("printf '\\377\\376\\000 caf\\351\\n'"), {"text": "Done."}])
    prompt = "A line of a huge prompt, größe.\n" * 20_000 + "THE END OF IT\n"
    result = ask(made, claude, prompt=prompt)
    assert result.end is AgentEnd.FINISHED, result.message
    assert made.model.heard("THE END OF IT")
    assert result.trajectory is not None
    shown = result.trajectory.events[1]
    assert shown.kind is EventKind.COMMAND
    assert "caf" in (shown.output or "")


def test_children_that_it_leaves_behind_are_ended(bench: MakeBench, claude: str) -> None:
    left = "setsid sh -c 'echo up > up.txt; tail -f /dev/null' >/dev/null 2>&1 &"
    made = bench(KEY, default=[bash(f"{left} sleep 1"), {"text": "Done."}])
    assignment = made.assignment(parameters={"program": claude, "base_url": made.model.url})
    result = ClaudeCodeAgent().run(assignment)
    assert result.end is AgentEnd.FINISHED, result.message
    assert (assignment.workspace / "up.txt").exists()
    assert processes_in(assignment.workspace) == []


HOOKED = {
    ".claude/settings.json": (
        '{"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", '
        '"command": "echo ran > hook.txt"}]}]}}'
    ),
    "CLAUDE.md": "Obey WORKSPACE-MARK.\n",
    ".claude/skills/polish/SKILL.md": (
        "---\nname: polish\ndescription: SKILL-MARK for polishing.\n---\nPolish.\n"
    ),
}


def test_what_the_workspace_brings_counts_and_the_operators_own_does_not(
    bench: MakeBench, claude: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = tmp_path / "operator"
    (operator / ".claude").mkdir(parents=True)
    (operator / ".claude/CLAUDE.md").write_text("Obey OPERATOR-MARK.\n")
    monkeypatch.setenv("HOME", str(operator))
    made = bench(KEY, default=[bash("true"), {"text": "Done."}])
    parameters = {"program": claude, "base_url": made.model.url}
    assignment = made.assignment(parameters=parameters, files_there=HOOKED)
    result = ClaudeCodeAgent().run(assignment)
    assert result.end is AgentEnd.FINISHED, result.message
    assert (assignment.workspace / "hook.txt").read_text() == "ran\n"
    assert made.model.heard("WORKSPACE-MARK")
    assert made.model.heard("SKILL-MARK")
    assert not made.model.heard("OPERATOR-MARK")
    assert sorted(path.name for path in (operator / ".claude").iterdir()) == ["CLAUDE.md"]


def test_what_the_workspace_brings_can_be_left_out(bench: MakeBench, claude: str) -> None:
    made = bench(KEY, default=[bash("true"), {"text": "Done."}])
    parameters = {"program": claude, "base_url": made.model.url, "settings": []}
    assignment = made.assignment(parameters=parameters, files_there=HOOKED)
    assert ClaudeCodeAgent().run(assignment).end is AgentEnd.FINISHED
    assert not (assignment.workspace / "hook.txt").exists()
    assert not made.model.heard("WORKSPACE-MARK")


def test_agents_of_agents_are_counted_and_told(bench: MakeBench, claude: str) -> None:
    task = {"description": "part", "prompt": "Do a part.", "subagent_type": "general-purpose"}
    made = bench(KEY, default=[{"tools": [{"name": "Task", "input": task}]}, {"text": "Done."}])
    result = ask(made, claude)
    assert result.end is AgentEnd.FINISHED, result.message
    asked = len(made.model.requests)
    assert result.usage.model_calls == asked
    assert result.usage.input_tokens == 100 * asked
    assert (result.usage.turns or 0) < asked
    assert result.trajectory is not None
    agents = {event.agent for event in result.trajectory.events}
    assert len(agents) > 2


def test_settings_reach_the_model(bench: MakeBench, claude: str) -> None:
    made = bench(KEY, default=[{"text": "Hi."}])
    result = ask(
        made,
        claude,
        model="some-model",
        reasoning="low",
        parameters={"disallowed_tools": ["WebFetch", "Task"], "arguments": ["--verbose"]},
    )
    assert result.end is AgentEnd.FINISHED, result.message
    asked = made.model.requests[-1]["body"]
    assert asked["model"] == "some-model"
    assert asked["output_config"] == {"effort": "low"}
    tools = {tool["name"] for tool in asked["tools"]}
    assert "Bash" in tools
    assert not {"WebFetch", "Task"} & tools


def test_eight_at_once_share_nothing(bench: MakeBench, claude: str) -> None:
    names = [f"model-{number}" for number in range(8)]
    made = bench(KEY, **{name: [bash(f"echo {name} > n.txt"), {"text": name}] for name in names})
    parameters = {"program": claude, "base_url": made.model.url}
    given = [made.assignment(model=name, parameters=parameters) for name in names]
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(ClaudeCodeAgent().run, given))
    assert {result.end for result in results} == {AgentEnd.FINISHED}
    assert len({result.session_id for result in results}) == 8
    for name, assignment, result in zip(names, given, results, strict=True):
        assert (assignment.workspace / "n.txt").read_text() == f"{name}\n"
        assert result.usage.model_calls == 2
        assert list(result.by_model) == [name]


def test_the_client_is_found_with_its_version(claude: str) -> None:
    agent = ClaudeCodeAgent()
    found = agent.client({"program": claude}, run)
    assert found.version == "2.1.332"
    missing = agent.client({"program": "/nowhere/claude"}, run)
    assert missing == Client(
        reason="Claude Code is not on the PATH",
        hint="install it: npm install --global @anthropic-ai/claude-code",
    )
    (folder,) = agent.readable({"program": claude})
    assert folder.name == "claude-code"
