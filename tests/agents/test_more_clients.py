"""opencode, Gemini CLI and aider themselves, run against a scripted model."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.agents.bench import Bench
from tests.agents.processes import processes_in

from trialbook.api import (
    Agent,
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
from trialbook_agents.aider import AiderAgent
from trialbook_agents.gemini_cli import GeminiCliAgent
from trialbook_agents.opencode import OpencodeAgent

pytestmark = [pytest.mark.agents, pytest.mark.slow]

MakeBench = Callable[..., Bench]
KEYS = {"OPENAI_API_KEY": "sk-scripted", "GEMINI_API_KEY": "sk-scripted"}
BLOCK = "README.md\n```\n<<<<<<< SEARCH\n{}\n=======\n{}\n>>>>>>> REPLACE\n```\n"


@dataclass(frozen=True, kw_only=True)
class Client:
    """One client: how its tools are called, and what a script for it looks like."""

    agent: Agent
    program: str
    version: str
    suffix: str
    prefix: str = ""
    shell: str = ""

    def run_shell(self, command: str, text: str = "Working.", **usage: int) -> dict[str, Any]:
        given = {"command": command, "description": "work"}
        used = {"in": 1000, "out": 30, **usage}
        if not self.shell:
            return {"text": BLOCK.format("A project.", "A project!"), "usage": used}
        return {"text": text, "tools": [{"name": self.shell, "input": given}], "usage": used}

    def ask(self, bench: Bench, model: str = "default", **more: Any) -> AgentResult:
        return bench.run(self.agent, **self.given(bench, model, **more))

    def given(self, bench: Bench, model: str = "default", **more: Any) -> dict[str, Any]:
        parameters = {
            "program": self.program,
            "base_url": f"{bench.model.url}{self.suffix}",
            "retries": 1,
            **more.pop("parameters", {}),
        }
        if isinstance(self.agent, AiderAgent):
            parameters |= {"edit_format": "diff", "files": ["README.md"]}
        return {
            "parameters": parameters,
            "model": f"{self.prefix}{model}",
            "limits": Limits(minutes=4, grace_seconds=3),
            **more,
        }


@pytest.fixture(params=["opencode", "gemini", "aider"])
def client(request: pytest.FixtureRequest) -> Client:
    program = request.getfixturevalue(request.param)
    if request.param == "opencode":
        agent = OpencodeAgent()
        return Client(agent=agent, program=program, version="1.18.33", suffix="/v1", shell="bash")
    if request.param == "gemini":
        return Client(
            agent=GeminiCliAgent(),
            program=program,
            version="0.61.0",
            suffix="",
            shell="run_shell_command",
        )
    return Client(
        agent=AiderAgent(), program=program, version="0.86.2", suffix="/v1", prefix="openai/"
    )


def error(status: int, message: str) -> list[dict[str, Any]]:
    return [{"status": status, "body": {"error": {"message": message, "type": "x"}}}]


def test_a_run_that_succeeds_is_read_whole(bench: MakeBench, client: Client) -> None:
    steps = [
        client.run_shell("echo hello > out.txt; exit 3", cache_read=100),
        {"text": "Done. All 3 tests pass.", "usage": {"in": 1300, "out": 40}},
    ]
    if not client.shell:
        # It ends with the first answer whose edits fit.
        steps = [{"text": f"{steps[0]['text']}\nAll 3 tests pass.", "usage": steps[0]["usage"]}]
    made = bench(KEYS, default=steps)
    prompt = "Write the file, größe \U0001f600.\n" + "a line of a long prompt\n" * 10_000
    assignment = made.assignment(prompt, **client.given(made))
    result = client.agent.run(assignment)
    assert result.end is AgentEnd.FINISHED, result.message
    assert made.model.heard("Write the file, größe \U0001f600.")
    usage = result.usage
    if client.shell:
        assert (assignment.workspace / "out.txt").read_text() == "hello\n"
        assert (usage.input_tokens, usage.cache_read_tokens) == (2300, 100)
        assert (usage.output_tokens, usage.model_calls, usage.turns) == (70, 2, 2)
        assert result.session_id
    else:
        assert (assignment.workspace / "README.md").read_text() == "A project!\n"
        # It does not tell apart what was read from a cache.
        assert (usage.input_tokens, usage.cache_read_tokens) == (1100, None)
        assert (usage.output_tokens, usage.model_calls, usage.turns) == (30, 1, 1)
    assert (usage.cost_usd, usage.basis) == (None, "unknown")
    assert [claim.kind for claim in result.claims] == [ClaimKind.PASSED]
    trajectory = result.trajectory
    assert trajectory is not None
    assert (trajectory.truncated, trajectory.unknown_events) == (False, 0)
    kinds = [event.kind.value for event in trajectory.events]
    assert kinds == (
        ["prompt", "message", "command", "message"]
        if client.shell
        else ["prompt", "message", "write"]
    )
    done = trajectory.events[2]
    if client.shell:
        assert (done.command, done.exit_code, done.ok, done.turn) == (
            *("echo hello > out.txt; exit 3", 3, False, 1),
        )
    else:
        assert (done.path, done.ok, done.turn) == ("README.md", True, 1)
    first = trajectory.events[1].usage
    assert first is not None
    assert first.output_tokens == 30
    # It leaves nothing of its own in the workspace.
    there = {path.name for path in assignment.workspace.iterdir()}
    assert there <= {".git", "README.md", "out.txt"}


def test_what_is_installed_is_found(client: Client) -> None:
    parameters = {"program": client.program}
    found = client.agent.client(parameters, run)  # type: ignore[attr-defined]
    assert found.version == client.version, found.reason
    places = list(client.agent.readable(parameters))  # type: ignore[attr-defined]
    assert any(Path(found.program).is_relative_to(place) for place in places)
    assert all(place.exists() for place in places)


@pytest.mark.parametrize(
    ("status", "end", "trouble"),
    [
        (401, AgentEnd.OUTAGE, {Trouble.AUTHENTICATION}),
        (404, AgentEnd.OUTAGE, {Trouble.MODEL}),
        (400, AgentEnd.ERROR, {Trouble.REQUEST}),
        # opencode says nothing of the status of an error that it tries again.
        (429, AgentEnd.OUTAGE, {Trouble.RATE_LIMIT, Trouble.SERVER}),
        (500, AgentEnd.OUTAGE, {Trouble.SERVER}),
    ],
)
def test_an_answer_that_is_an_error_is_known(
    bench: MakeBench, client: Client, status: int, end: AgentEnd, trouble: set[Trouble]
) -> None:
    result = client.ask(bench(KEYS, default=error(status, "no, thanks")))
    assert result.end is end, result.message
    assert result.trouble in trouble
    assert "no, thanks" in result.message


@pytest.mark.parametrize("limit", [{"turns": 2}, {"tokens": 2500}, {"usd": 2.5}])
def test_limits_are_kept(bench: MakeBench, client: Client, limit: dict[str, float]) -> None:
    def step(number: int) -> dict[str, Any]:
        if client.shell:
            return client.run_shell(f"sleep 1; echo {number}")
        text = BLOCK.format("not there", str(number))
        return {"text": text, "usage": {"in": 1000, "out": 30}, "sleep": 1}

    table = PriceTable(
        path="prices/2026-11-30.yaml",
        sha256="0" * 64,
        date="2026-11-30",
        models={f"{client.prefix}default": Price(input="1000", output="0", cache_read="0")},
    )
    made = bench(KEYS, default=[step(number) for number in range(30)])
    limits = Limits(minutes=4, grace_seconds=3, **limit)  # type: ignore[arg-type]
    result = client.ask(made, limits=limits, prices=table)
    assert result.end is AgentEnd.BUDGET, result.message
    assert result.usage.model_calls is not None
    assert 2 <= result.usage.model_calls <= 4


def test_a_hang_ends_with_the_minutes_and_nothing_stays(bench: MakeBench, client: Client) -> None:
    made = bench(KEYS, default=[{"text": "Never.", "sleep": 300}])
    limits = Limits(minutes=0.25, grace_seconds=2)
    assignment = made.assignment(**client.given(made, limits=limits))
    result = client.agent.run(assignment)
    assert result.end is AgentEnd.TIMED_OUT, result.message
    assert not processes_in(assignment.workspace)
    assert result.trajectory is not None
    assert result.trajectory.truncated


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_a_signal_from_elsewhere_never_looks_like_the_end_of_the_work(
    bench: MakeBench, client: Client, number: signal.Signals
) -> None:
    made = bench(KEYS, default=[{"text": "Never.", "sleep": 300}])
    assignment = made.assignment(**client.given(made))

    def end() -> None:
        while not made.model.requests:
            time.sleep(0.1)
        time.sleep(0.5)
        for process in processes_in(assignment.workspace):
            os.kill(process, number)

    killer = threading.Thread(target=end)
    killer.start()
    result = client.agent.run(assignment)
    killer.join()
    assert result.end is AgentEnd.ERROR, result.message
    assert result.process is not None
    assert result.process.ended in {Ended.SIGNALLED, Ended.EXITED}
    assert not processes_in(assignment.workspace)


@pytest.mark.parametrize("client", ["opencode", "gemini"], indirect=True)
def test_output_that_is_no_text_and_children_left_behind_change_nothing(
    bench: MakeBench, client: Client
) -> None:
    left = "setsid sh -c 'echo up > up.txt; tail -f /dev/null' >/dev/null 2>&1 &"
    odd = "printf '\\377\\376\\000 caf\\351\\n'"
    made = bench(KEYS, default=[client.run_shell(f"{left} sleep 1; {odd}"), {"text": "Done."}])
    assignment = made.assignment(**client.given(made))
    result = client.agent.run(assignment)
    assert result.end is AgentEnd.FINISHED, result.message
    assert (assignment.workspace / "up.txt").exists()
    assert not processes_in(assignment.workspace)
    assert result.process is not None
    assert result.process.leftover_processes >= 1
    assert result.trajectory is not None
    (command,) = [e for e in result.trajectory.events if e.kind is EventKind.COMMAND]
    # Gemini CLI keeps what is no text from the model, and says that there was none.
    assert ("caf" in (command.output or "")) is (client.version == "1.18.33")


def test_trials_at_once_share_nothing(bench: MakeBench, client: Client) -> None:
    scripts = {
        f"m{number}": [client.run_shell(f"echo {number} > number.txt"), {"text": f"I am {number}."}]
        for number in range(3)
    }
    made = bench(KEYS, **scripts)
    assignments = [made.assignment(**client.given(made, model)) for model in scripts]
    with ThreadPoolExecutor(3) as pool:
        results = list(pool.map(client.agent.run, assignments))
    for number, (assignment, result) in enumerate(zip(assignments, results, strict=True)):
        assert result.end is AgentEnd.FINISHED, result.message
        assert list(result.by_model) == [f"{client.prefix}m{number}"]
        if client.shell:
            assert (assignment.workspace / "number.txt").read_text() == f"{number}\n"


@pytest.mark.parametrize(
    ("client", "name"), [("opencode", "AGENTS.md"), ("gemini", "GEMINI.md")], indirect=["client"]
)
def test_instructions_of_the_workspace_reach_the_model_and_those_of_the_operator_do_not(
    bench: MakeBench,
    client: Client,
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    operator = tmp_path / "operator"
    for place in (".config/opencode/AGENTS.md", ".claude/CLAUDE.md", ".gemini/GEMINI.md"):
        (operator / place).parent.mkdir(parents=True)
        (operator / place).write_text("Speak of the operator's otter.\n")
    monkeypatch.setenv("HOME", str(operator))
    made = bench(KEYS, default=[{"text": "Done."}])
    there = {name: "Speak of the workspace's walrus.\n"}
    result = client.ask(made, files_there=there)
    assert result.end is AgentEnd.FINISHED, result.message
    assert made.model.heard("walrus")
    assert not made.model.heard("otter")


def test_what_opencode_refuses_is_listed_and_the_work_goes_on(
    bench: MakeBench, opencode: str
) -> None:
    client = Client(agent=OpencodeAgent(), program=opencode, version="", suffix="/v1", shell="bash")
    outside = {"name": "write", "input": {"filePath": "/etc/outside.txt", "content": "x"}}
    made = bench(KEYS, default=[{"text": "Out.", "tools": [outside]}, {"text": "Went on."}])
    result = client.ask(made)
    assert result.end is AgentEnd.FINISHED, result.message
    assert [(one.tool, one.detail) for one in result.denied] == [("write", "/etc/outside.txt")]
    assert result.trajectory is not None
    assert [e.denied for e in result.trajectory.events if e.kind is EventKind.WRITE] == [True]
    stops = {"config": {"experimental": {"continue_loop_on_deny": False}}}
    result = client.ask(made, parameters=stops)
    assert result.end is AgentEnd.ERROR
    assert "it stopped because it was not permitted: write /etc/outside.txt" in result.message


def test_what_gemini_is_not_offered_counts_as_refused(bench: MakeBench, gemini: str) -> None:
    client = Client(
        agent=GeminiCliAgent(), program=gemini, version="", suffix="", shell="run_shell_command"
    )
    made = bench(KEYS, default=[client.run_shell("echo 1 > out.txt"), {"text": "Done."}])
    assignment = made.assignment(**client.given(made, approval="deny"))
    result = client.agent.run(assignment)
    assert result.end is AgentEnd.FINISHED, result.message
    assert [(one.tool, one.detail) for one in result.denied] == [
        ("run_shell_command", "echo 1 > out.txt")
    ]
    assert not (assignment.workspace / "out.txt").exists()


def test_gemini_that_goes_round_in_circles_has_not_finished(bench: MakeBench, gemini: str) -> None:
    client = Client(
        agent=GeminiCliAgent(), program=gemini, version="", suffix="", shell="run_shell_command"
    )
    result = client.ask(bench(KEYS, default=[client.run_shell("true")]))
    assert result.end is AgentEnd.ERROR
    assert "Loop detected" in result.message
    assert result.process is not None
    assert result.process.exit_code == 0


def test_aider_that_cannot_edit_has_not_finished(bench: MakeBench, aider: str) -> None:
    client = Client(agent=AiderAgent(), program=aider, version="", suffix="/v1", prefix="openai/")
    text = BLOCK.format("this is not there", "x")
    result = client.ask(bench(KEYS, default=[{"text": text}]))
    assert result.end is AgentEnd.ERROR
    assert "no edit was made: Only 3 reflections allowed, stopping." in result.message
    assert result.process is not None
    assert result.process.exit_code == 0
