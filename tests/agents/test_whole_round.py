"""A whole round with real clients as judges: judged, reviewed, settled, compared, verified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.agents.conftest import Start
from tests.agents.test_judges import judge, judge_file, says
from tests.calibration.test_whole_round import (
    REVIEW,
    SUITE,
    review_all,
    round_ledger,
    settle,
)
from tests.conftest import git, trialbook, write_files

pytestmark = pytest.mark.agents

ONCE = SUITE.replace("repetitions: 10", "repetitions: 1").replace(
    "controls: 0.05, repeats: 0.05", "controls: 0.0, repeats: 0.0"
)
# With one repetition, it is the first change that one of the two takes for unfinished.
DIFFERING = REVIEW.replace("+y = 5", "+y = 1")
MERGES = {"findings": [], "answers": {"solves": "yes", "narrow": "yes"}, "verdict": "MERGE"}
REJECTS = {
    "findings": [
        {
            "question": "narrow",
            "quote": "+y = 1",
            "file": "app.py",
            "text": "Nobody asked for y.",
            "severity": "medium",
        }
    ],
    "answers": {"solves": "yes", "narrow": "no"},
    "verdict": "REJECT",
}


def said(folder: Path, *arguments: str) -> Any:
    return json.loads(trialbook(folder, *arguments, "--json").stdout)


def test_two_judges_and_two_people_from_the_first_verdict_to_the_comparison(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, model: Start, claude: str, codex: str
) -> None:
    ledger = round_ledger(tmp_path / "ledger", ONCE)
    served = model(
        lenient=[says("claude-code", MERGES), {"text": "Done."}],
        harsh=[says("codex", REJECTS)],
    )
    for name, client, program in (
        ("lenient", "claude-code", claude),
        ("harsh", "codex", codex),
    ):
        text = judge_file(client, program, served, name)
        write_files(ledger, {f"rubrics/judges/{name}.yaml": text})
    git(ledger, "add", "-A")
    git(ledger, "commit", "-qm", "two judges")
    trialbook(ledger, "eval", "mini", "-j", "2")
    (folder,) = (ledger / "runs/mini").iterdir()
    run = folder.name

    verdicts = {}
    for name in ("lenient", "harsh"):
        grades = judge(ledger, served, run, "--judge", name)["grades"]
        verdicts[name] = {one["judgement"]["verdict"] for one in grades.values()}
        assert len(grades) == 2
    assert verdicts == {"lenient": {"MERGE"}, "harsh": {"REJECT"}}
    trialbook(ledger, "verify")

    review_all(ledger, tmp_path, monkeypatch, DIFFERING, packets=2)
    settle(ledger, run, tmp_path, monkeypatch)
    trialbook(ledger, "verify")
    outcomes = sorted(slot["outcome"] for slot in said(ledger, "show", run)["slots"])
    assert outcomes == ["accepted", "rejected"]

    (agreed,) = said(ledger, "agreement", run)
    (verdict,) = [one for one in agreed["items"] if one["item"] == "verdict"]
    assert (verdict["n"], verdict["raw"]) == (2, 0.5)
    kinds = ("true_accepts", "false_rejects", "false_accepts", "true_rejects")
    for name, errors in (("lenient", (1, 0, 1, 0)), ("harsh", (0, 1, 0, 1))):
        found = said(ledger, "calibrate", name, "--rubric", "small@1")["numbers"]
        assert tuple(found["errors"][kind] for kind in kinds) == errors
        assert found["level"] == "uncalibrated"
        assert "labels" in {one["name"] for one in found["unmet"]}
    trialbook(ledger, "verify")
