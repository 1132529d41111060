"""The suite real-agents: its files, and a whole run of it with real clients, offline."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.agents import install
from tests.agents.bench import ROOT, usable
from tests.conftest import git, trialbook

from trialbook.testing.scripted_model import read_scripts

SUITE = Path(__file__).resolve().parents[2] / "suites" / "real-agents"
GOLDEN = SUITE.parent / "golden-python"
TASKS = ("more-itertools-last-reversed", "structlog-styles-copy", "tomli-loads-type")
CLIENTS = ("claude-code", "codex", "mini-swe-agent")
WRONG = {
    ("codex", "tomli-loads-type"),
    ("mini-swe-agent", "more-itertools-last-reversed"),
    ("claude-code", "structlog-styles-copy"),
}


def read(path: Path) -> Any:
    return json.loads(path.read_text())


def scripts(client: str) -> list[dict[str, Any]]:
    scenes: list[dict[str, Any]] = read(SUITE / "scripts" / f"{client}.json")[f"scripted-{client}"]
    return scenes


def test_every_configuration_has_a_script_for_every_task() -> None:
    served = read_scripts([SUITE / "scripts"])
    assert sorted(served.scenes) == sorted(f"scripted-{client}" for client in CLIENTS)
    for client in CLIENTS:
        configuration = (SUITE / "configurations" / f"{client}.yaml").read_text()
        assert f"scripted-{client}\n" in configuration
        assert 'allow: ["127.0.0.1:8793"]' in configuration
        for task in TASKS:
            brief = (SUITE / "tasks" / task / "brief.md").read_text()
            assert sum(scene["when"] in brief for scene in scripts(client)) == 1


@pytest.mark.parametrize("task", TASKS)
def test_a_task_is_the_one_of_golden_python(task: str) -> None:
    kept = ("brief.md", "private/expected.json", "private/tests/test_private.py")
    for name in (*kept, "private/near_miss.md"):
        mine, its = SUITE / "tasks" / task / name, GOLDEN / "tasks" / task / name
        assert mine.read_bytes() == its.read_bytes(), name
    mine, its = ((top / "tasks" / task / "task.yaml").read_text() for top in (SUITE, GOLDEN))
    assert mine.partition("# What the scripted")[0] == its.partition("near_misses:")[0]


def test_wrong_use_of_the_near_misses_names_the_tasks(tmp_path: Path) -> None:
    script = SUITE / "near_miss" / "near_miss.py"
    for arguments, code in (((), 2), (("no-such-task",), 2), ((TASKS[0],), 1)):
        done = subprocess.run(
            [sys.executable, "-B", script, *arguments],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code
        assert "Traceback" not in done.stderr
        assert code == 1 or all(task in done.stderr for task in TASKS)
    assert list(tmp_path.iterdir()) == []


def need_clients() -> None:
    there = (
        install.installed("@anthropic-ai/claude-code"),
        install.installed("@openai/codex"),
        install.python_installed(install.MINI),
    )
    if not all(there):
        assert not os.environ.get("CI"), "run `python -m tests.agents.install` first"
        pytest.skip("not all clients are installed: python -m tests.agents.install")


def start(ledger: Path, *arguments: str, before: tuple[str, ...] = ()) -> str:
    clients = [word for folder in install.folders() for word in ("--clients", str(folder))]
    done = subprocess.run(
        [*before, sys.executable, ledger / "suites/real-agents/start.py", *clients, *arguments],
        # What an operator's shell has must not reach the clients.
        env=os.environ | {"OPENAI_API_KEY": "sk-of-the-operator-0123456789"},
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.mark.index
@pytest.mark.agents
@pytest.mark.slow
@pytest.mark.timeout(1200)
def test_real_clients_come_out_as_the_readme_says(tmp_path: Path) -> None:
    need_clients()
    ledger, log = tmp_path / "ledger", tmp_path / "log.jsonl"
    shutil.copytree(SUITE, ledger / "suites" / SUITE.name)
    git(tmp_path, "init", "-q", str(ledger))
    git(ledger, "add", "-A")
    git(ledger, "commit", "-q", "-m", "start")
    assert "9/9 valid trials ended as the suite expects" in start(ledger, "--log", str(log))
    records = [(path, read(path)) for path in ledger.glob("runs/*/*/*/*/r1/trial.json")]
    assert len(records) == 9
    for path, record in records:
        client, task = record["configuration"], record["task"]
        wrong = (client, task) in WRONG
        assert record["outcome"] == ("rejected" if wrong else "accepted"), record["reason"]
        (attempt,) = record["attempts"]
        assert attempt["end"] == "finished"
        # It claims so either way.
        assert [claim["kind"] for claim in attempt["claims"]] == ["tests_passed"]
        assert attempt["denied"] == []
        check_usage(client, task, record["usage"])
        check_events(client, task, read(path.parent / "sessions/1/attempt-1/trajectory.json"))
        if ROOT:
            assert record["isolation"]["network_enforced"]
        if record["egress"] is not None:
            assert record["egress"]["hosts"] == ["127.0.0.1:8793"]
            assert record["egress"]["hosts_refused"] == []
    asked = [json.loads(line) for line in log.read_text().splitlines()]
    assert {f"scripted-{client}" for client in CLIENTS} <= {one.get("model") for one in asked}
    assert b"sk-of-the-operator" not in log.read_bytes()
    assert "nothing is wrong" in trialbook(ledger, "verify").stdout
    if ROOT and not usable():
        alone = ("unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh")
        said = start(ledger, "--task", TASKS[2], before=alone)
        assert "3/3 valid trials ended as the suite expects" in said


def steps_of(client: str, task: str) -> list[dict[str, Any]]:
    brief = (SUITE / "tasks" / task / "brief.md").read_text()
    (scene,) = [one for one in scripts(client) if one["when"] in brief]
    steps: list[dict[str, Any]] = scene["steps"]
    return steps


def check_usage(client: str, task: str, usage: dict[str, Any]) -> None:
    """What is on record is the sum of what the script says."""
    steps = steps_of(client, task)
    kinds = {"input": "in", "output": "out", "cache_read": "cache_read"}
    for kind, name in kinds.items():
        total = sum(step["usage"].get(name, 0) for step in steps)
        assert usage[f"{kind}_tokens"] == total, (client, task, kind)
    assert (usage["model_calls"], usage["turns"]) == (len(steps), len(steps))
    assert (usage["cost_usd"], usage["basis"], usage["prices"]) == (None, "unknown", None)


def check_events(client: str, task: str, trajectory: dict[str, Any]) -> None:
    """All that the script said and asked for was done, in this order, and nothing else."""
    wanted: list[tuple[str, str | None]] = [("prompt", None)]
    kinds = {"Read": "read", "Edit": "write"}
    for step in steps_of(client, task):
        if step.get("text"):
            wanted.append(("message", step["text"]))
        for tool in step.get("tools", ()):
            given = tool["input"]
            kind = kinds.get(tool["name"], "command")
            wanted.append(
                (kind, given.get("file_path") or given.get("command") or given.get("cmd"))
            )
    keys = {"message": "text", "command": "command", "read": "path", "write": "path"}
    events = trajectory["events"]
    found = [(e["kind"], e[keys[e["kind"]]] if e["kind"] in keys else None) for e in events]
    assert found == wanted, (client, task)
    assert not trajectory["truncated"]
    assert trajectory["unknown_events"] == 0
    assert all(event["ok"] for event in events if event["ok"] is not None)
