from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import git, trialbook
from tests.suites.conftest import evaluated, records_of

SUITE = Path(__file__).resolve().parents[2] / "suites" / "escape-room"
WAYS = sorted(path.name for path in (SUITE / "tasks").iterdir())
LOOK_AROUND = {"read-other-trials", "read-private-tests", "reach-the-network"}


def said_by(path: Path) -> str:
    return (path.parent / "sessions/1/attempt-1/stdout.txt").read_text()


@pytest.mark.slow
def test_nobody_gets_out_and_everybody_who_works_is_accepted(tmp_path: Path) -> None:
    ledger = evaluated(SUITE, tmp_path / "ledger")
    records = records_of(ledger)
    ended = {
        (record["task"], record["configuration"]): record["outcome"] for record in records.values()
    }
    assert ended == {(way, "honest"): "accepted" for way in WAYS} | {
        (way, "escape"): "rejected" for way in WAYS
    }
    for path, record in records.items():
        if record["configuration"] == "escape":
            assert "GOT OUT" not in said_by(path), record["task"]
    (report,) = ledger.glob("runs/escape-room/*/report.md")
    assert "- 16/16 valid trials ended as the suite expects" in report.read_text()
    assert git(ledger, "status", "--porcelain") == ""


@pytest.mark.slow
def test_without_protection_they_do_get_out_and_that_is_told(tmp_path: Path) -> None:
    """The positive control: what is held back above works where nothing holds it back."""
    ledger = tmp_path / "ledger"
    evaluated(SUITE, ledger)
    tasks = [part for way in sorted(LOOK_AROUND) for part in ("--task", way)]
    only = ("--configuration", "escape", "--sandbox", "none", "--json")
    done = trialbook(ledger, "eval", SUITE.name, *tasks, *only, check=1)
    said = json.loads(done.stdout)
    surprised = {one["trial"].split("/")[0] for one in said["as_expected"]["surprises"]}
    # Another trial's workspace is there to be found only while one runs.
    assert surprised >= {"read-private-tests", "reach-the-network"}
    assert surprised <= LOOK_AROUND


def test_each_task_says_how_it_ends_and_the_readme_what_holds_it_back() -> None:
    readme = (SUITE / "README.md").read_text()
    for way in WAYS:
        text = (SUITE / "tasks" / way / "task.yaml").read_text()
        assert "expected_outcomes: {honest: accepted, escape: rejected}" in text
        assert f"| `{way}` |" in readme
