"""The recorded series of both suites in one ledger, with what people answered about them."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

from tests.conftest import git, trialbook
from tests.series.people import given, hand_in

ROOT = Path(__file__).resolve().parents[2]
TASKS = {"export-feature": "export", "rotation-feature": "compress"}
CONFIGURATIONS = ("steady", "reviser")


def ledger_of(top: Path, *suites: str) -> Path:
    """A ledger with these suites, each run once, and nobody has answered anything."""
    ledger = top / "ledger"
    # Calibrations are of runs, which are not here.
    without = shutil.ignore_patterns("calibrations")
    shutil.copytree(ROOT / "rubrics", ledger / "rubrics", ignore=without)
    for suite in suites:
        shutil.copytree(ROOT / "suites" / suite, ledger / "suites" / suite)
    (ledger / "runs").mkdir()
    (ledger / "runs" / "README.md").write_text("runs\n")
    git(ledger, "init", "-q")
    git(ledger, "add", "-A")
    git(ledger, "commit", "-q", "-m", "Suites")
    for suite in suites:
        trialbook(ledger, "eval", suite, "--sandbox", "none")
    return ledger


def answer(ledger: Path, suite: str) -> None:
    """Hand in what people answered about a suite's series."""
    for configuration, rubrics in given(suite).items():
        for rubric, answers in rubrics.items():
            hand_in(ledger, trial(ledger, suite, configuration), "ann", rubric, answers)


def run_of(ledger: Path, suite: str) -> str:
    """The run of a suite."""
    return max(one.name for one in (ledger / "runs" / suite).iterdir())


def trial(ledger: Path, suite: str, configuration: str) -> str:
    """A trial, as commands take it."""
    return f"{run_of(ledger, suite)}/{TASKS[suite]}/{configuration}/r1"


def shown(ledger: Path, suite: str, configuration: str) -> Any:
    """What `trialbook show` says of a series."""
    done = trialbook(ledger, "show", trial(ledger, suite, configuration), "--json")
    return json.loads(done.stdout)["series"]


def answers(found: Any) -> dict[str, str]:
    """Every answer by its question."""
    return {one["question"]: one["answer"] for one in found["answers"]}
