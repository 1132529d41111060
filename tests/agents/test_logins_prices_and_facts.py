"""Whole runs of real clients: with a login from a file, with the shipped prices, and what is made
of what they did."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from tests.agents.bench import ROOT
from tests.agents.conftest import Start
from tests.agents.test_written_records import (
    SUCCESS,
    WRITE,
    claude,
    codex,
    evaluate,
    ledger,
    plan,
    written,
)
from tests.conftest import git, trialbook

pytestmark = pytest.mark.agents

KEY = "sk-login-ABCDEFGHIJKLMNOP-0123456789"


def everything(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("runs/**/*") if path.is_file())


@pytest.mark.parametrize("sandbox", ["bubblewrap", "none"])
def test_codex_uses_a_login_from_a_file_and_cannot_tell_it(
    model: Start, request: pytest.FixtureRequest, tmp_path: Path, sandbox: str
) -> None:
    if sandbox == "bubblewrap" and not ROOT:
        pytest.skip("bubblewrap cannot run in a user namespace of the test")
    program = request.getfixturevalue("codex")
    login = Path(os.environ["HOME"], ".codex", "auth.json")
    login.parent.mkdir(parents=True)
    login.write_text(json.dumps({"OPENAI_API_KEY": KEY, "tokens": None, "last_refresh": None}))
    spill = "cat ~/.codex/auth.json; base64 ~/.codex/auth.json; cp ~/.codex/auth.json answer.txt"
    served = model(
        scripted=[
            {
                "tools": [
                    {"name": "exec_command", "input": {"cmd": f"{spill}; echo 42 >> answer.txt"}}
                ]
            },
            {"text": "Done."},
        ]
    )
    made = codex(program, served, "model: scripted\n", "  login: true\n")
    made = made.replace("secrets: [OPENAI_API_KEY]\n", "")
    made += "credential_files:\n  - {{from: ~/.codex/auth.json, to: .codex/auth.json}}\n"
    folder = ledger(tmp_path / "ledger", {"login": made})
    done = evaluate(folder, served, "--sandbox", sandbox)
    assert done.returncode == 0, done.stdout + done.stderr
    record = written(folder)["login"]
    assert record["attempts"][0]["end"] == "finished", record["reason"]
    headers = {name.lower(): value for name, value in served.requests[0]["headers"].items()}
    assert headers["authorization"] == f"Bearer {KEY}"
    (command,) = [e for e in record["trajectory"]["events"] if e["kind"] == "command"]
    assert "[redacted:auth.json.1]" in command["output"]
    assert record["redactions"]["auth.json.1"] > 3
    assert KEY.encode() not in everything(folder)
    assert KEY[3:20].encode() not in everything(folder)


def test_the_prices_that_ship_give_a_cost(
    model: Start, request: pytest.FixtureRequest, tmp_path: Path, root: Path
) -> None:
    program = request.getfixturevalue("codex")
    served = model(**{"gpt-5.1-codex": SUCCESS["codex"]})
    folder = ledger(
        tmp_path / "ledger", {"codex": codex(program, served, "model: gpt-5.1-codex\n")}
    )
    shutil.rmtree(folder / "prices")
    shutil.copytree(root / "prices", folder / "prices")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "the prices that ship")
    done = evaluate(folder, served, "--sandbox", "none")
    assert done.returncode == 0, done.stdout + done.stderr
    record = written(folder)["codex"]
    # 2300 tokens at 1.25, 100 of the cache at 0.125, 70 written at 10, each for a million.
    usage = record["usage"]
    assert (usage["cost_usd"], usage["basis"]) == ("0.0035875", "priced")
    assert usage["prices"] == plan(folder)["prices"]["path"]
    assert plan(folder)["prices"]["date"] in usage["prices"]
    assert "usd" not in record["isolation"]["limits_not_enforced"]


def bash(command: str) -> dict[str, Any]:
    return {"tools": [{"name": "Bash", "input": {"command": command}}], "text": "Trying."}


def tool(name: str, **given: str) -> dict[str, Any]:
    return {"tools": [{"name": name, "input": given}]}


def test_facts_are_made_of_what_real_clients_did(
    model: Start, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    programs = request.getfixturevalue("claude"), request.getfixturevalue("codex")
    fails, risky = "false # a test", "git reset --quiet --hard"
    shared = [fails, fails, risky, WRITE]
    served = model(
        clumsy=[
            tool("Read", file_path="README.md"),
            tool("Read", file_path="README.md"),
            *map(bash, shared[:-1]),
            tool("Write", file_path="answer.txt", content="41\n"),
            tool("Edit", file_path="answer.txt", old_string="41", new_string="42"),
            {"text": "All tests pass."},
        ],
        **{
            "gpt-5.5": [
                *({"tools": [{"name": "exec_command", "input": {"cmd": one}}]} for one in shared),
                {"text": "All tests pass."},
            ]
        },
    )
    folder = ledger(
        tmp_path / "ledger",
        {
            "claude": claude(programs[0], served, "model: clumsy\n"),
            "codex": codex(programs[1], served, "model: gpt-5.5\n"),
        },
    )
    done = evaluate(folder, served, "--sandbox", "none", "--jobs", "2")
    assert done.returncode == 0, done.stdout + done.stderr
    (run,) = (path.parent.name for path in folder.glob("runs/real/*/plan.json"))
    for name in ("claude", "codex"):
        shown = trialbook(folder, "show", f"{run}/answer/{name}/r1", "--json").stdout
        facts = json.loads(shown)["facts"]
        (attempt,) = facts["attempts"]
        conduct = attempt["conduct"]
        assert (conduct["commands"], conduct["failing_run"]) == ((3 if name == "claude" else 4), 2)
        assert [(one["command"], one["times"]) for one in conduct["repeated"]] == [(fails, 2)]
        assert conduct["risky_commands"] == 1
        assert [one["kind"] for one in attempt["claims"]] == ["tests_passed"]
        if name == "claude":
            assert (conduct["reads"], conduct["rereads"], conduct["edits"]) == (2, 1, 2)
            assert conduct["events_before_edit"] is not None
        assert facts["change"]["changed_lines"] == 1
