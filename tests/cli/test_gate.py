from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from tests.conftest import git, trialbook
from tests.recorded import drift_run, new_ledger, record_run

RUN = "20261130-151526-3f9c"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = new_ledger(tmp_path_factory.mktemp("gate") / "ledger")
    record_run(root, *drift_run())
    return root


def test_a_recorded_regression_fails_with_a_comment_and_a_junit_file(
    recorded: Path, tmp_path: Path
) -> None:
    comment, report = tmp_path / "comment.md", tmp_path / "junit.xml"
    done = trialbook(
        recorded, "gate", RUN, "--markdown", str(comment), "--junit", str(report), check=1
    )
    assert done.stdout.startswith("FAIL: the score fell, most in: create-user")
    assert "validation-in-service" in done.stdout
    assert comment.read_text().startswith("## instruction-drift\\@1: FAIL: ")
    assert ET.parse(report).getroot().get("failures") == "1"


def test_swapped_around_it_passes(recorded: Path) -> None:
    done = trialbook(
        recorded, "gate", RUN, "--baseline", "candidate", "--candidate", "baseline", "--json"
    )
    assert json.loads(done.stdout)["answer"] == "pass"


def test_a_baseline_from_an_older_run_says_which_candidate_and_is_another_run(
    recorded: Path,
) -> None:
    one = ("--baseline", "candidate", "--candidate", "candidate")
    itself = trialbook(recorded, "gate", RUN, "--baseline-from", RUN, *one, check=2)
    assert "would be compared with itself" in itself.stderr


def test_a_run_that_is_not_there_is_a_mistake(recorded: Path) -> None:
    assert "no run" in trialbook(recorded, "gate", "nothing", check=2).stderr


@pytest.mark.slow
def test_a_suite_is_run_judged_and_committed(ledger: Path) -> None:
    declared = "compare: {baseline: good, candidate: bad, margin: 0.1, because: test}\n"
    suite = ledger / "suites/mini/suite.yaml"
    suite.write_text(suite.read_text() + declared)
    refused = trialbook(ledger, "gate", "mini", check=2)
    assert "a draft cannot be judged" in refused.stderr
    trialbook(ledger, "suite", "lock", "mini")
    git(ledger, "add", "-A")
    git(ledger, "commit", "-q", "-m", "lock")
    said = json.loads(trialbook(ledger, "gate", "mini", "--json", check=1).stdout)
    assert said["answer"] == "fail"
    (run,) = said["candidate"]["runs"]
    again = trialbook(ledger, "gate", run, "--json", check=1).stdout
    assert json.loads(again) == said
    planned = json.loads((ledger / f"runs/mini/{run}/plan.json").read_text())["gate"]
    assert planned == {"baseline": "good", "candidate": "bad", "baseline_from": None, "after": []}
    old = trialbook(ledger, "gate", "mini", "--baseline-from", run, "--json", check=1)
    assert json.loads(old.stdout)["caution"].startswith("historical baseline")
    (newer,) = json.loads(old.stdout)["candidate"]["runs"]
    assert newer != run
    planned = json.loads((ledger / f"runs/mini/{newer}/plan.json").read_text())["gate"]
    assert planned["baseline_from"] == f"mini/{run}"
    trialbook(ledger, "verify")
    assert git(ledger, "status", "--porcelain") == ""
