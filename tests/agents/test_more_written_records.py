"""Whole runs with mini-swe-agent, and with clients that are not always tested, by their records."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.agents.bench import ROOT, Model
from tests.agents.conftest import Start
from tests.agents.test_mini_swe_agent import SUBMIT, say, script
from tests.agents.test_more_clients import BLOCK
from tests.agents.test_written_records import WRITE, evaluate, ledger, plan, written
from tests.conftest import git, trialbook

from trialbook.formats.schema import load_schema

jsonschema = pytest.importorskip("jsonschema")
pytestmark = pytest.mark.agents


def mini_configuration(program: str, name: str, more: str = "") -> str:
    return (
        "configuration: {name}\nagent: mini-swe-agent\nmodel: priced\n"
        f"files: recorded/{name}\n{more}"
        f"with:\n  program: {program}\n  config_files: [script.yaml]\n"
    )


def with_scripts(folder: Path, scripts: dict[str, list[dict[str, Any]]]) -> Path:
    for name, outputs in scripts.items():
        script(folder / "suites/real/recorded" / name, *outputs)
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "scripts")
    return folder


@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_what_mini_swe_agent_did_stands_in_the_record(
    tmp_path: Path, mini: str, sandbox: str
) -> None:
    if sandbox == "bubblewrap" and not ROOT:
        pytest.skip("bubblewrap cannot run in a user namespace of the test")
    again = [say("Again.", WRITE, used=True)] * 20
    scripts = {
        "done": [say("Writing.", WRITE, used=True), say("Done; all tests pass.", SUBMIT)],
        "turns": again,
        "money": again,
        "broken": [say("Writing.", WRITE, used=True)],
        "hang": [say("Hanging.", "sleep 600")],
        "nothing": [say("Done.", SUBMIT)],
    }
    limits = {
        "turns": "limits: {{turns: 2}}\n",
        "money": "limits: {{usd: 0.3}}\n",
        "hang": "limits: {{minutes: 0.2}}\n",
        "done": 'version: "2.4.6"\n',
    }
    folder = with_scripts(
        ledger(
            tmp_path / "ledger",
            {name: mini_configuration(mini, name, limits.get(name, "")) for name in scripts},
        ),
        scripts,
    )
    done = trialbook(folder, "eval", "real", "--sandbox", sandbox, "--jobs", "2", check=None)
    assert done.returncode == 0, done.stdout + done.stderr
    records = written(folder)
    assert {name: record["outcome"] for name, record in records.items()} == {
        "done": "accepted",
        "turns": "budget_exhausted",
        "money": "budget_exhausted",
        "broken": "agent_error",
        "hang": "agent_timeout",
        "nothing": "no_change",
    }
    assert plan(folder)["configurations"]["done"]["client_version"] == "2.4.6"
    record = records["done"]
    assert record["agent"]["reported_version"] == "2.4.6"
    usage = record["usage"]
    assert (usage["cost_usd"], usage["basis"], usage["model_calls"]) == ("0.5", "reported", 2)
    assert (usage["input_tokens"], usage["cache_read_tokens"]) == (1000, 200)
    (attempt,) = record["attempts"]
    assert [claim["kind"] for claim in attempt["claims"]] == ["tests_passed"]
    events = record["trajectory"]["events"]
    assert [e["kind"] for e in events] == ["prompt", "message", "command", "message", "command"]
    assert (events[2]["command"], events[2]["output"].strip()) == (WRITE, "# A project")
    assert records["turns"]["graded_anyway"]
    assert records["turns"]["usage"]["model_calls"] == 2
    assert "turns" in records["turns"]["isolation"]["limits_enforced"]
    assert "the limit of money was reached at 0.5 US dollars" in records["money"]["reason"]
    assert "IndexError" in records["broken"]["reason"]
    assert records["hang"]["trajectory"]["events"][0]["kind"] == "prompt"


CLIENTS = {
    "opencode": ("opencode", "/v1", "priced", "bash", "OPENAI_API_KEY"),
    "gemini": ("gemini-cli", "", "priced", "run_shell_command", "GEMINI_API_KEY"),
    "aider": ("aider", "/v1", "openai/priced", "", "OPENAI_API_KEY"),
}


def configuration(client: str, program: str, model: Model) -> str:
    agent, suffix, name, _, key = CLIENTS[client]
    more = "  edit_format: diff\n" if client == "aider" else ""
    return (
        f"configuration: {{name}}\nagent: {agent}\nmodel: {name}\nsecrets: [{key}]\n"
        f'network: {{{{allow: ["127.0.0.1:{model.port}"]}}}}\nlimits: {{{{minutes: 2}}}}\n'
        f"with:\n  program: {program}\n  base_url: {model.url}{suffix}\n  retries: 0\n{more}"
    )


@pytest.mark.slow
@pytest.mark.parametrize("client", list(CLIENTS))
@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_what_other_clients_did_stands_in_the_record(
    model: Start,
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    client: str,
    sandbox: str,
) -> None:
    if sandbox == "bubblewrap" and not ROOT:
        pytest.skip("bubblewrap cannot run in a user namespace of the test")
    program = request.getfixturevalue(client)
    agent, _, name, shell, key = CLIENTS[client]
    monkeypatch.setenv(key, "sk-scripted-0123456789")
    first: dict[str, Any] = {"text": "Writing.", "usage": {"in": 1000, "out": 30}}
    if shell:
        given = {"command": WRITE, "description": "write"}
        steps = [
            first | {"tools": [{"name": shell, "input": given}]},
            {"text": "Done; all tests pass.", "usage": {"in": 1300, "out": 40}},
        ]
    else:
        block = BLOCK.replace("README.md", "answer.txt").replace("{}\n=", "=").format("42")
        steps = [first | {"text": f"{block}\nDone; all tests pass."}]
    served = model(**{name.rpartition("/")[2]: steps})
    folder = ledger(tmp_path / "ledger", {client: configuration(client, program, served)})
    done = evaluate(folder, served, "--sandbox", sandbox)
    assert done.returncode == 0, done.stdout + done.stderr
    record = written(folder)[client]
    assert record["outcome"] == "accepted", record["reason"]
    assert record["agent"]["name"] == agent
    usage, (attempt,) = record["usage"], record["attempts"]
    assert (usage["input_tokens"], usage["output_tokens"]) == ((2300, 70) if shell else (1000, 30))
    assert (usage["cost_usd"] is not None) == bool(shell)
    assert [claim["kind"] for claim in attempt["claims"]] == ["tests_passed"]
    kinds = [event["kind"] for event in record["trajectory"]["events"]]
    assert kinds == ["prompt", "message", *(["command", "message"] if shell else ["write"])]
    assert record["trajectory"]["session_id"] == attempt["session_id"]
    if sandbox == "bubblewrap":
        assert record["isolation"]["network_enforced"]
        assert record["egress"]["hosts"] == [f"127.0.0.1:{served.port}"]
    everything = b"".join(p.read_bytes() for p in folder.rglob("runs/**/*") if p.is_file())
    assert b"scripted-0123456789" not in everything, key


def test_what_is_installed_is_listed_and_can_be_tried(
    tmp_path: Path, mini: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = json.loads(trialbook(tmp_path, "agents", "--json").stdout)
    jsonschema.validate(listed, load_schema("agents"))
    by_name = {one["name"]: one for one in listed["agents"]}
    assert set(by_name) >= {"mini-swe-agent", "opencode", "gemini-cli", "aider", "command"}
    assert by_name["command"]["usable"]
    assert not by_name["command"]["needs_client"]
    known = by_name["mini-swe-agent"]
    assert known["needs_client"]
    assert known["limits"] == ["turns", "tokens"]
    assert known["limits_with_price"] == ["turns", "tokens", "usd"]
    assert known["approval"] == ["allow"]
    shown = trialbook(tmp_path, "agents").stdout
    assert "mini-swe-agent" in shown
    # It can be started, and says what keeps the model away.
    tried = ["agents", "try", "mini-swe-agent", "--model", "openai/m", "--program", mini]
    monkeypatch.setenv("OPENAI_API_KEY", "sk-scripted-0123456789")
    nowhere = ["--endpoint", "http://127.0.0.1:9/v1", "--secret", "OPENAI_API_KEY"]
    done = trialbook(tmp_path, *tried, *nowhere, "--json", check=1)
    told = json.loads(done.stdout)
    jsonschema.validate(told, load_schema("agent_try"))
    assert (told["answered"], told["end"], told["version"]) == (False, "outage", "2.4.6")
    assert told["trouble"] == "connection"
    done = trialbook(tmp_path, *tried, "--secret", "NO_SUCH_KEY", check=2)
    assert "NO_SUCH_KEY is not set" in done.stderr
    done = trialbook(tmp_path, "agents", "try", "aider", "--model", "m", "--program", "no", check=2)
    assert "install it: pipx install aider-chat" in done.stderr
    done = trialbook(
        tmp_path, *["agents", "try", "command", "--model", "m", "--endpoint", "http://x"], check=2
    )
    assert "command takes no --endpoint" in done.stderr
