"""What real clients meet at its worst, told from what is in the ledger afterwards: hangs, signals,
prompts of any size, output that is no text, children left behind, hooks of the workspace."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from tests.agents.bench import Model
from tests.agents.conftest import Start
from tests.agents.test_written_records import claude, codex, evaluate, ledger, written
from tests.conftest import git, write_files

pytestmark = [pytest.mark.agents, pytest.mark.slow]

BRIEF = (
    "Write 42 into answer.txt, größe.\n" + "A line of a huge brief.\n" * 20_000 + "THE END OF IT\n"
)
ANSWER = "printf '42\\n' > answer.txt"
HOOK = "echo ran > hook.txt"
HOOKS = json.dumps(
    {
        "hooks": {
            "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": HOOK}]}]
        }
    }
)
ANY_TOOL = json.dumps(
    {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": HOOK}]}]}}
)


@dataclass(frozen=True, kw_only=True)
class Client:
    """How one client is configured, and how its model asks for a command."""

    name: str
    fixture: str
    tool: str
    key: str
    prefix: str = ""
    last: str = ""

    def asks(self, command: str) -> dict[str, Any]:
        used = {"in": 1000, "out": 30}
        return {"tools": [{"name": self.tool, "input": {self.key: command}}], "usage": used}

    def ends(self) -> dict[str, Any]:
        end: dict[str, Any] = {"text": "Done.", "usage": {"in": 1000, "out": 30}}
        return (self.asks(self.last) | {"text": "Done."}) if self.last else end

    def configuration(self, program: str, model: Model, name: str, more: str = "") -> str:
        named = f"model: {self.prefix}{name}\n{more}"
        if self.name == "claude":
            return claude(program, model, named)
        if self.name == "codex":
            return codex(program, model, named, "  trust: true\n")
        return codex(program, model, named).replace("agent: codex", "agent: mini-swe-agent")


CLIENTS = {
    "claude": Client(name="claude", fixture="claude", tool="Bash", key="command"),
    "codex": Client(name="codex", fixture="codex", tool="exec_command", key="cmd"),
    "mini": Client(
        name="mini",
        fixture="mini",
        tool="bash",
        key="command",
        prefix="openai/",
        last="echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT",
    ),
}


@pytest.fixture(params=list(CLIENTS))
def client(request: pytest.FixtureRequest) -> Client:
    return CLIENTS[request.param]


@pytest.mark.timeout(400)
def test_the_worst_that_clients_meet_stands_in_the_record(
    model: Start, client: Client, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    program = request.getfixturevalue(client.fixture)
    served = model(
        hang=[client.asks(ANSWER), {"text": "Never.", "sleep": 120}],
        killed=[client.asks(f"{ANSWER}; kill -KILL $PPID; sleep 20")],
        ended=[client.asks(f"{ANSWER}; kill -TERM $PPID; sleep 20")],
        bytes=[client.asks(f"{ANSWER}; printf '\\377\\376\\000 caf\\351\\n'"), client.ends()],
        children=[
            client.asks(f"{ANSWER}; setsid sleep 600 >/dev/null 2>&1 & sleep 0.5"),
            client.ends(),
        ],
    )
    limits = {"hang": "limits: {{minutes: 0.4, grace_seconds: 2}}\n"}
    names = ("hang", "killed", "ended", "bytes", "children")
    folder = ledger(
        tmp_path / "ledger",
        {name: client.configuration(program, served, name, limits.get(name, "")) for name in names},
    )
    task = "suites/real/tasks/answer"
    write_files(
        folder,
        {
            f"{task}/brief.md": BRIEF,
            f"{task}/snapshot/.claude/settings.json": HOOKS,
            f"{task}/snapshot/.codex/hooks.json": ANY_TOOL,
        },
    )
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "a huge brief, and hooks")
    done = evaluate(folder, served, "--sandbox", "none", "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert served.heard("THE END OF IT")
    records = written(folder)
    assert {name: record["outcome"] for name, record in records.items()} == {
        "hang": "agent_timeout",
        "killed": "agent_error",
        "ended": "agent_error",
        "bytes": "accepted",
        "children": "accepted",
    }, {name: record["reason"] for name, record in records.items()}
    for name, record in records.items():
        check_record(client, name, record)
    hooked = [one for one in ("bytes", "children") if changed_by_hook(folder, one)]
    # mini-swe-agent has no hooks.
    assert hooked == ([] if client.name == "mini" else ["bytes", "children"])


def check_record(client: Client, name: str, record: dict[str, Any]) -> None:
    (attempt,) = record["attempts"]
    process, trajectory = attempt["process"], record["trajectory"]
    commands = [event for event in trajectory["events"] if event["kind"] == "command"]
    finished = name in {"bytes", "children"}
    assert trajectory["truncated"] is not finished
    assert trajectory["events"][0]["kind"] == "prompt"
    if name == "hang":
        assert process["ended"] == "timed_out"
        assert record["graded_anyway"]
    if name == "killed":
        assert (process["ended"], process["signal"]) == ("signalled", 9)
    if name == "ended":
        assert process["signal"] == 15 or process["exit_code"] in {143, -15}, process
    if name in {"killed", "ended"} and client.name != "mini":
        # The last thing that it did has no end of its own; mini tells of whole steps only.
        assert commands[-1]["exit_code"] in {None, 143, 137}
    if name == "bytes":
        assert "caf" in commands[0]["output"]
    if name == "children":
        assert process["leftover_processes"] >= 1
    if client.name == "mini" and name in {"killed", "ended"}:
        # It writes down no step that it did not come to the end of.
        return
    assert commands[0]["command"].startswith("printf '42")
    used = record["usage"]["input_tokens"], record["usage"]["output_tokens"]
    # Claude Code may be killed before it wrote down what it used: then nobody knows.
    lost = client.name == "claude" and name == "killed" and used[0] is None
    assert used == ((2000, 60) if finished else (None, None) if lost else (1000, 30))


def changed_by_hook(folder: Path, name: str) -> bool:
    (patch,) = folder.glob(f"runs/real/*/answer/{name}/r1/change.patch")
    return b"+++ b/hook.txt" in patch.read_bytes()


def error(status: int, message: str) -> list[dict[str, Any]]:
    body = {"type": "error", "error": {"type": "some_error", "message": message, "code": None}}
    return [{"status": status, "body": body}]


ERRORS = {
    "unknown-key": (error(401, "no such key"), "provider_outage", "authentication"),
    "no-model": (error(404, "no such model"), "provider_outage", "model"),
    "too-much": (error(429, "slow down"), "provider_outage", "rate_limit"),
    "broken": (error(500, "boom"), "provider_outage", "server"),
    "busy": (error(503, "busy"), "provider_outage", "overloaded"),
    "refused": (error(400, "no such thing"), "agent_error", "request"),
}


@pytest.mark.timeout(400)
def test_every_class_of_error_stands_in_the_record(
    model: Start, client: Client, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    program = request.getfixturevalue(client.fixture)
    served = model(**{name: answer for name, (answer, _, _) in ERRORS.items()})
    folder = ledger(
        tmp_path / "ledger", {name: client.configuration(program, served, name) for name in ERRORS}
    )
    suite = folder / "suites/real/suite.yaml"
    # The run is about what is on record of them, not about what it makes of so many.
    suite.write_text(suite.read_text() + "outages: {in_a_row: null}\n")
    git(folder, "commit", "-q", "-a", "-m", "never pause")
    done = evaluate(folder, served, "--sandbox", "none", "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    records = written(folder)
    told = {name: (one["outcome"], one["attempts"][0]["trouble"]) for name, one in records.items()}
    wanted = {name: (outcome, trouble) for name, (_, outcome, trouble) in ERRORS.items()}
    assert told == wanted
    for name, record in records.items():
        assert record["trajectory"]["events"][0]["kind"] == "prompt"
        assert not record["graded_anyway"]
        assert record["usage"]["cost_usd"] is None, name
