"""Whole runs of the program with real clients, judged by what they wrote into the ledger."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.agents.bench import ROOT, Model
from tests.agents.conftest import Start
from tests.conftest import git, trialbook, write_files

pytestmark = pytest.mark.agents

SUITE = """\
suite: real
protocol: 1
decision: Does the answer get written?
configurations: [{names}]
repetitions: 1
limits: {{minutes: 1}}
accept: checks
"""
TASK = """\
task: answer
category: small-fix
snapshot: {folder: snapshot}
brief: brief.md
graders:
  - checks: checks.yaml
"""
CHECKS = """\
checks:
  - id: answered
    question: Is there an answer?
    type: file_contains
    file: answer.txt
    pattern: "^42$"
"""
PRICES = """\
date: 2026-11-30
source: made up for a test
models:
  gpt-5.5: {input: 1.25, cache_read: 0.125, output: 10}
  priced: {input: 3, cache_read: 0.3, cache_write: 3.75, output: 15}
"""


def claude(program: str, model: Model, more: str = "", with_more: str = "") -> str:
    return (
        f"configuration: {{name}}\nagent: claude-code\nsecrets: [ANTHROPIC_API_KEY]\n{more}"
        f'network: {{{{allow: ["127.0.0.1:{model.port}"]}}}}\n'
        f"with:\n  program: {program}\n  base_url: {model.url}\n  retries: 0\n{with_more}"
    )


def codex(program: str, model: Model, more: str = "", with_more: str = "") -> str:
    return (
        f"configuration: {{name}}\nagent: codex\nsecrets: [OPENAI_API_KEY]\n{more}"
        f'network: {{{{allow: ["127.0.0.1:{model.port}"]}}}}\n'
        f"with:\n  program: {program}\n  base_url: {model.url}/v1\n  retries: 0\n{with_more}"
    )


def ledger(folder: Path, configurations: dict[str, str]) -> Path:
    suite, task = "suites/real", "suites/real/tasks/answer"
    files = {
        f"{suite}/suite.yaml": SUITE.format(names=", ".join(configurations)),
        f"{task}/task.yaml": TASK,
        f"{task}/brief.md": "Write 42 into answer.txt.\n",
        f"{task}/checks.yaml": CHECKS,
        f"{task}/snapshot/README.md": "# A project\n",
        "prices/2026-11-30.yaml": PRICES,
        "runs/README.md": "runs\n",
    }
    for name, text in configurations.items():
        files[f"{suite}/configurations/{name}.yaml"] = text.format(name=name)
    write_files(folder, files)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "start")
    return folder


def evaluate(folder: Path, model: Model, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the program in the model's network, where there is nothing else."""
    environment = os.environ | {
        "ANTHROPIC_API_KEY": "sk-ant-scripted-0123456789",
        "OPENAI_API_KEY": "sk-scripted-0123456789",
    }
    command = [sys.executable, "-m", "trialbook", "eval", "real", *arguments]
    return subprocess.run(
        [*model.inside, *command],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


def written(folder: Path) -> dict[str, dict[str, Any]]:
    """The record of each configuration's trial, with its trajectory, as committed."""
    assert git(folder, "status", "--porcelain") == ""
    found = {}
    for path in folder.glob("runs/real/*/answer/*/r1/trial.json"):
        record = json.loads(path.read_text())
        trajectory = path.parent / "sessions/1/attempt-1/trajectory.json"
        if trajectory.exists():
            record["trajectory"] = json.loads(trajectory.read_text())
        found[record["configuration"]] = record
    return found


def plan(folder: Path) -> dict[str, Any]:
    (path,) = folder.glob("runs/real/*/plan.json")
    loaded: dict[str, Any] = json.loads(path.read_text())
    return loaded


WRITE = "printf '42\\n' > answer.txt; cat README.md"
SUCCESS = {
    "claude": [
        {
            "text": "Writing.",
            "tools": [{"name": "Bash", "input": {"command": WRITE}}],
            "usage": {"in": 1000, "out": 30, "cache_read": 100, "cache_write": 300},
        },
        {"text": "Done; all tests pass.", "usage": {"in": 1300, "out": 40}},
    ],
    "codex": [
        {
            "text": "Writing.",
            "tools": [{"name": "exec_command", "input": {"cmd": WRITE}}],
            "usage": {"in": 1000, "out": 30, "cache_read": 100},
        },
        {"text": "Done; all tests pass.", "usage": {"in": 1300, "out": 40}},
    ],
}


@pytest.fixture(scope="session")
def clients(claude: str, codex: str) -> tuple[str, str]:
    return claude, codex


@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_what_happened_stands_in_the_record(
    model: Start, clients: tuple[str, str], tmp_path: Path, sandbox: str
) -> None:
    if sandbox == "bubblewrap" and not ROOT:
        pytest.skip("bubblewrap cannot run in a user namespace of the test")
    served = model(**{"priced": SUCCESS["claude"], "gpt-5.5": SUCCESS["codex"]})
    folder = ledger(
        tmp_path / "ledger",
        {
            "claude": claude(clients[0], served, 'model: priced\nversion: "2.1.332"\n'),
            "codex": codex(clients[1], served, 'model: gpt-5.5\nversion: "0.171.0"\n'),
        },
    )
    done = evaluate(folder, served, "--sandbox", sandbox, "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "client: claude-code 2.1.332 (claude)" in done.stderr
    records = written(folder)
    planned = plan(folder)
    assert planned["configurations"]["codex"]["client_version"] == "0.171.0"
    assert planned["prices"]["models"]["priced"]["cache_write"] == "3.75"
    for name, cost in (("claude", "0.009105"), ("codex", "0.0035875")):
        record = records[name]
        assert record["outcome"] == "accepted", record["reason"]
        usage = record["usage"]
        assert (usage["input_tokens"], usage["output_tokens"]) == (2300, 70)
        assert (usage["model_calls"], usage["turns"], usage["basis"]) == (2, 2, "priced")
        assert (usage["cost_usd"], usage["prices"]) == (cost, "prices/2026-11-30.yaml")
        (attempt,) = record["attempts"]
        assert (attempt["end"], attempt["trouble"], attempt["usage"]) == ("finished", None, usage)
        assert [claim["kind"] for claim in attempt["claims"]] == ["tests_passed"]
        trajectory = record["trajectory"]
        assert trajectory["schema"] == "trialbook/trajectory/1"
        assert trajectory["session_id"] == attempt["session_id"]
        (command,) = [e for e in trajectory["events"] if e["kind"] == "command"]
        assert (command["command"], command["output"].strip()) == (WRITE, "# A project")
        assert (
            record["agent"]["reported_version"] == planned["configurations"][name]["client_version"]
        )
        if sandbox == "bubblewrap":
            assert record["isolation"]["network_enforced"]
            assert record["egress"]["hosts"] == [f"127.0.0.1:{served.port}"]
            assert record["egress"]["hosts_refused"] == []
    assert "nothing is wrong" in trialbook(folder, "verify").stdout
    everything = b"".join(p.read_bytes() for p in folder.rglob("runs/**/*") if p.is_file())
    assert b"scripted-0123456789" not in everything


def test_limits_denials_and_outages_stand_in_the_record(
    model: Start, clients: tuple[str, str], tmp_path: Path
) -> None:
    loop = {"tools": [{"name": "Bash", "input": {"command": WRITE}}], "text": "Again."}
    outside = {"name": "Write", "input": {"file_path": "/etc/outside.txt", "content": "x"}}
    codex_loop = {"tools": [{"name": "exec_command", "input": {"cmd": WRITE}}], "text": "Again."}
    limited = {"status": 429, "body": {"error": {"message": "slow", "type": "rate_limit"}}}
    served = model(
        loop=[loop],
        denied=[{"tools": [outside]}, SUCCESS["claude"][0], {"text": "Done."}],
        limited=[limited],
        **{"gpt-5.5": [codex_loop]},
    )
    turns = "limits: {{turns: 2}}\n"
    program, other = clients
    folder = ledger(
        tmp_path / "ledger",
        {
            "turns": claude(program, served, f"model: loop\n{turns}"),
            "denied": claude(program, served, "model: denied\n"),
            "limited": claude(program, served, "model: limited\n"),
            "codex-turns": codex(other, served, f"model: gpt-5.5\n{turns}"),
            "codex-limited": codex(other, served, "model: limited\n"),
        },
    )
    done = evaluate(folder, served, "--sandbox", "none", "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    records = written(folder)
    assert {name: record["outcome"] for name, record in records.items()} == {
        "turns": "budget_exhausted",
        "denied": "accepted",
        "limited": "provider_outage",
        "codex-turns": "budget_exhausted",
        "codex-limited": "provider_outage",
    }
    for name in ("turns", "codex-turns"):
        assert records[name]["graded_anyway"]
        assert "turns" in records[name]["isolation"]["limits_enforced"]
    assert records["codex-turns"]["attempts"][0]["process"]["ended"] == "stopped"
    for name in ("limited", "codex-limited"):
        assert records[name]["attempts"][0]["trouble"] == "rate_limit"
        assert "rate_limit" in records[name]["reason"]
    assert records["denied"]["attempts"][0]["denied"] == [
        {"tool": "Write", "detail": "/etc/outside.txt"}
    ]
    (sighting,) = [s for s in records["denied"]["sightings"] if s["kind"] == "permission_denied"]
    assert sighting["severity"] == "flag"
    assert sighting["excerpt"] == "Write: /etc/outside.txt"


def test_a_client_that_is_missing_or_another_is_refused_before_the_run(
    model: Start, clients: tuple[str, str], tmp_path: Path
) -> None:
    served = model(default=[{"text": "Done."}])
    folder = ledger(
        tmp_path / "ledger",
        {
            "pinned": claude(clients[0], served, 'version: "2.0.1"\n'),
            "missing": codex("no-such-codex", served),
        },
    )
    done = evaluate(folder, served, "--sandbox", "none")
    assert done.returncode == 2
    assert "it asks for claude-code 2.0.1, and " in done.stderr
    assert "is 2.1.332; install the one that it asks for" in done.stderr
    assert "install it: npm install --global @openai/codex" in done.stderr
    assert list(folder.glob("runs/real")) == []


def test_a_sandbox_inside_a_sandbox_is_told_and_is_no_result(
    model: Start, clients: tuple[str, str], tmp_path: Path
) -> None:
    if not ROOT:
        pytest.skip("bubblewrap cannot run in a user namespace of the test")
    served = model(**{"gpt-5.5": SUCCESS["codex"]})
    kept = codex(clients[1], served, "model: gpt-5.5\napproval: deny\n")
    folder = ledger(tmp_path / "ledger", {"kept": kept})
    done = evaluate(folder, served, "--sandbox", "bubblewrap")
    record = written(folder)["kept"]
    assert record["outcome"] == "environment_failure", done.stdout + done.stderr
    assert "the sandbox of Codex itself does not work here" in record["reason"]
