"""A ledger with a closed run, and judges that are scripts: each a real process in a sandbox."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git, trialbook, write_files

RUBRIC = """\
---
rubric: merge
version: 1
title: Would you merge it?
verdicts: [MERGE, FIX, REJECT]
questions:
  - id: solves
    text: Does the change do what the brief asks for?
    no_when: A requirement of the brief is not met.
    evidence: diff
    severity: must
  - id: small
    text: Is every part of the diff needed?
    no_when: A hunk is there that the brief does not need.
    evidence: diff
    severity: low
    applies_to: Changes of more than one file.
  - id: verified
    text: Do the checks pass?
    no_when: One of them failed on the final state.
    evidence: check
    severity: high
---

# Would you merge it?

Answer by what is in the diff.
"""

# What a judge does is Python that sets `answer`, or prints and exits by itself.
SCRIPT = """\
import json, os, pathlib, re, sys, time
prompt = sys.stdin.read()
answers = {{"solves": "yes", "small": "not_applicable"}}
diff = prompt.partition("DIFF BEGINS")[2].partition("DIFF ENDS")[0]


def finding(quote, question="solves", severity="must", text="It is wrong."):
    return {{
        "question": question, "quote": quote, "file": "answer.txt", "text": text,
        "severity": severity,
    }}


def added():
    return next(line for line in diff.splitlines() if re.match(r"[+][^+]", line))


answer = {{"findings": [], "answers": answers, "verdict": "MERGE"}}
{body}
print(json.dumps(answer))
"""

MERGE = "pass"
REJECT = """\
answers["solves"] = "no"
answer["findings"] = [finding(added())]
answer["verdict"] = "REJECT"
"""

JUDGE = """\
judge: {name}
client: command
model: scripted-1
files: {name}
{more}with:
  argv: ["{{python}}", "{{files}}/judge.py"]
"""

Judges = Callable[..., None]


@pytest.fixture
def run(ledger: Path) -> str:
    """The name of a closed run: one task, two configurations, one repetition."""
    write_files(ledger, {"rubrics/merge/v1.md": RUBRIC})
    git(ledger, "add", "-A")
    git(ledger, "commit", "-qm", "a rubric")
    trialbook(ledger, "eval", "mini", "-t", "first", "-r", "1")
    (folder,) = (ledger / "runs/mini").iterdir()
    return folder.name


@pytest.fixture
def judge_named(ledger: Path) -> Judges:
    """Writes a judge whose script has a body: ``judge_named("strict", body, "votes: 3\\n")``."""

    def make(name: str, body: str, more: str = "") -> None:
        write_files(
            ledger,
            {
                f"rubrics/judges/{name}.yaml": JUDGE.format(name=name, more=more),
                f"rubrics/judges/{name}/judge.py": SCRIPT.format(body=body),
            },
        )

    return make


def judged(ledger: Path, run: str, name: str, *arguments: str, check: int = 0) -> dict[str, Any]:
    """What the command prints with ``--json``."""
    done = trialbook(ledger, "judge", run, "--judge", name, "--json", *arguments, check=check)
    found: dict[str, Any] = json.loads(done.stdout) if check == 0 else {"stderr": done.stderr}
    return found


def vote(found: dict[str, Any], trial: str = "first/good/r1") -> dict[str, Any]:
    """The first vote on a trial."""
    votes: list[dict[str, Any]] = found["grades"][trial]["judgement"]["votes"]
    return votes[0]
