"""Whole judgings with real clients: the program as a process, beside a scripted model."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.agents.bench import Model
from tests.agents.conftest import Start
from tests.conftest import git, trialbook, write_files
from tests.judging.conftest import RUBRIC

pytestmark = pytest.mark.agents

GOOD = "first/good/r1"
KEYS = {
    "ANTHROPIC_API_KEY": "sk-ant-scripted-0123456789",
    "OPENAI_API_KEY": "sk-scripted-0123456789",
}


def judge_file(client: str, program: str, model: Model, name: str) -> str:
    key = "ANTHROPIC_API_KEY" if client == "claude-code" else "OPENAI_API_KEY"
    path = "" if client == "claude-code" else "/v1"
    return (
        f"judge: {name}\nclient: {client}\nmodel: {name}\nsecrets: [{key}]\n"
        f'network: {{allow: ["127.0.0.1:{model.port}"]}}\nlimits: {{minutes: 2}}\n'
        f"with:\n  program: {program}\n  base_url: {model.url}{path}\n  retries: 0\n"
    )


@pytest.fixture
def run(ledger: Path) -> str:
    write_files(ledger, {"rubrics/merge/v1.md": RUBRIC})
    git(ledger, "add", "-A")
    git(ledger, "commit", "-qm", "a rubric")
    trialbook(ledger, "eval", "mini", "-t", "first", "-r", "1")
    (folder,) = (ledger / "runs/mini").iterdir()
    return folder.name


def judge(ledger: Path, model: Model, *arguments: str, check: int = 0) -> dict[str, Any]:
    """Run the program in the model's network, where there is nothing else."""
    done = subprocess.run(
        [*model.inside, sys.executable, "-m", "trialbook", "judge", *arguments, "--json"],
        cwd=ledger,
        env=os.environ | KEYS,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == check, done.stdout + done.stderr
    found: dict[str, Any] = json.loads(done.stdout) if check == 0 else {"stderr": done.stderr}
    return found


def answer(verdict: str, quote: str = "", **answers: str) -> dict[str, Any]:
    finding = {"question": "solves", "quote": quote, "file": "x", "text": "No.", "severity": "must"}
    return {
        "findings": [finding] if quote else [],
        "answers": {"solves": "yes", "small": "not_applicable", **answers},
        "verdict": verdict,
    }


def says(client: str, value: Any) -> dict[str, Any]:
    if client == "codex":
        return {"json": value} if not isinstance(value, str) else {"text": value}
    if isinstance(value, str):
        return {"text": value}
    return {"tools": [{"name": "StructuredOutput", "input": value}]}


@pytest.mark.parametrize(("client", "program"), [("claude-code", "claude"), ("codex", "codex")])
def test_a_run_is_judged_through_a_real_client(
    ledger: Path, run: str, model: Start, client: str, program: str, request: Any
) -> None:
    path = request.getfixturevalue(program)
    done = {"text": "Done."}
    served = model(
        accepts=[says(client, answer("MERGE")), done],
        rejects=[says(client, answer("REJECT", "+first 1 Write first", solves="no")), done],
        torn=[says(client, answer("REJECT", "+no such line", solves="no")), done],
        prose=[says(client, "I would merge this.")],
    )
    for name in ("accepts", "rejects", "torn", "prose"):
        text = judge_file(client, path, served, name)
        write_files(ledger, {f"rubrics/judges/{name}.yaml": text})

    found = judge(ledger, served, run, "--judge", "accepts")
    grade = found["grades"][GOOD]
    assert (grade["status"], grade["accepted"]) == ("graded", True)
    judgement = grade["judgement"]
    assert judgement["identity"]["client_version"]
    assert judgement["isolated"] is True
    assert judgement["usage"]["output_tokens"]
    # Nothing of the operator's, the ledger or the configuration is in what the model was sent.
    for word in (run, "suites/mini", str(ledger), "sk-ant-scripted", "agent.py"):
        assert not served.heard(word), word
    assert served.heard("Write first into answer.txt.")

    found = judge(ledger, served, run, "--judge", "rejects")
    finding = found["grades"][GOOD]["judgement"]["votes"][0]["findings"][0]
    assert (finding["supported"], finding["file"], finding["line"]) == (True, "answer.txt", 1)
    assert found["grades"][GOOD]["accepted"] is False

    found = judge(ledger, served, run, "--judge", "torn")
    vote = found["grades"][GOOD]["judgement"]["votes"][0]
    assert (vote["usable"], vote["said"]) == (False, "REJECT")
    assert "no finding whose quote is in the diff" in vote["problem"]

    found = judge(ledger, served, run, "--judge", "prose")
    assert found["grades"][GOOD]["status"] == "failed"
    trialbook(ledger, "verify")


@pytest.mark.parametrize(("client", "program"), [("claude-code", "claude"), ("codex", "codex")])
def test_a_provider_in_trouble_ends_the_judging_and_leaves_no_half_of_it(
    ledger: Path, run: str, model: Start, client: str, program: str, request: Any
) -> None:
    path = request.getfixturevalue(program)
    error = {"type": "error", "error": {"type": "api_error", "message": "down"}}
    served = model(down=[{"status": 500, "body": error}])
    write_files(ledger, {"rubrics/judges/down.yaml": judge_file(client, path, served, "down")})
    head = git(ledger, "rev-parse", "HEAD")
    said = judge(ledger, served, run, "--judge", "down", check=2)["stderr"]
    assert "the judge cannot be asked" in said
    assert "the same command goes on from there" in said
    assert git(ledger, "rev-parse", "HEAD") == head


def test_an_answer_that_claude_code_did_not_get_is_asked_for_once_more(
    ledger: Path, run: str, model: Start, claude: str
) -> None:
    broken = answer("MERGE") | {"verdict": "LGTM"}
    served = model(stubborn=[says("claude-code", broken)])
    text = judge_file("claude-code", claude, served, "stubborn")
    write_files(ledger, {"rubrics/judges/stubborn.yaml": text})
    found = judge(ledger, served, run, "--judge", "stubborn")
    assert found["grades"][GOOD]["status"] == "failed"
    assert served.heard("Your last answer")
