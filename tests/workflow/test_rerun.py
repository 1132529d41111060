from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.test_eval import run_folder, trials
from tests.conftest import git, trialbook

from trialbook.storage.ledger import Ledger
from trialbook.system import System
from trialbook.workflow.journal import Journal

EVIDENCE = ("--outcome", "environment_failure", "--evidence", "dmesg: ENOSPC", "--reason", "disk")


@pytest.fixture
def run(ledger: Path) -> str:
    """The name of a closed run with one task and both configurations."""
    trialbook(ledger, "eval", "mini", "-t", "first", "-r", "1")
    return run_folder(ledger).rpartition("/")[2]


def outcomes(ledger: Path) -> dict[str, object]:
    return {path.split("/", 3)[3]: record["outcome"] for path, record in trials(ledger).items()}


def incident(ledger: Path, run: str, decision: str) -> str:
    began = ("--from", "2000-01-01T00:00Z")
    told = ("--kind", "host", "--reason", "disk full")
    done = trialbook(ledger, "incident", "open", run, *told, *began, "--json")
    name = str(json.loads(done.stdout)["incident"])
    trialbook(ledger, "incident", "close", name, "--decision", decision, "--reason", "so")
    return name


@pytest.mark.slow
def test_the_never_classes_are_refused_by_name_policy_and_incident(ledger: Path, run: str) -> None:
    head = git(ledger, "rev-parse", "HEAD")
    for arguments in ((), ("--slot", "first/good/r1"), ("--slot", "first/bad/r1")):
        done = trialbook(ledger, "rerun", run, *arguments, check=2)
        assert "never run again" in done.stderr
        assert done.stdout == ""
    assert git(ledger, "rev-parse", "HEAD") == head
    name = incident(ledger, run, "rerun")
    done = trialbook(ledger, "rerun", run, "--incident", name, check=2)
    assert "never run again" in done.stderr
    assert len(trials(ledger)) == 2


@pytest.mark.slow
def test_an_incident_lets_an_invalid_slot_run_again_once_and_links_it(
    ledger: Path, run: str
) -> None:
    first = git(ledger, "rev-parse", f"HEAD:{run_folder(ledger)}/results.csv")
    trialbook(ledger, "amend", f"{run}/first/bad/r1", *EVIDENCE)
    done = trialbook(ledger, "rerun", run, check=2)
    assert "rerun policy has none" in done.stderr
    kept = incident(ledger, run, "keep")
    assert "says keep" in trialbook(ledger, "rerun", run, "--incident", kept, check=2).stderr
    name = incident(ledger, run, "rerun")
    both = ("--incident", name, "--slot", "first/bad/r1")
    assert "all or none" in trialbook(ledger, "rerun", run, *both, check=2).stderr
    trialbook(ledger, "rerun", run, "--incident", name)
    assert outcomes(ledger) == {
        "first/good/r1": "accepted",
        "first/bad/r1": "rejected",
        "first/bad/r1.rerun1": "rejected",
    }
    again = trials(ledger)[f"{run_folder(ledger)}/first/bad/r1.rerun1"]
    assert again["replaces"] == "first/bad/r1"
    assert again["rerun_reason"] == "environment_failure"
    assert again["incident"] == name
    assert git(ledger, "rev-parse", f"HEAD:{run_folder(ledger)}/results.csv") == first
    newest = json.loads(trialbook(ledger, "show", run, "--json").stdout)["results"]
    csv = git(ledger, "show", f"HEAD:{run_folder(ledger)}/{newest}/results.csv")
    assert "first/bad/r1.rerun1" in csv
    done = trialbook(ledger, "rerun", run, "--incident", name, check=2)
    assert "never run again" in done.stderr
    trialbook(ledger, "verify")


@pytest.mark.slow
def test_the_plans_policy_lets_a_slot_run_again_as_often_as_it_says(ledger: Path) -> None:
    suite = ledger / "suites/mini/suite.yaml"
    suite.write_text(suite.read_text() + "rerun: {environment_failure: 1}\n")
    git(ledger, "commit", "-qam", "one rerun")
    trialbook(ledger, "eval", "mini", "-t", "first", "-r", "1")
    run = run_folder(ledger).rpartition("/")[2]
    trialbook(ledger, "amend", f"{run}/first/bad/r1", *EVIDENCE)
    trialbook(ledger, "rerun", run, "--slot", "first/bad/r1")
    assert trials(ledger)[f"{run_folder(ledger)}/first/bad/r1.rerun1"]["incident"] is None
    trialbook(ledger, "amend", f"{run}/first/bad/r1.rerun1", *EVIDENCE)
    done = trialbook(ledger, "rerun", run, "--slot", "first/bad/r1", check=2)
    assert "allows 1" in done.stderr
    trialbook(ledger, "verify")


@pytest.mark.slow
def test_unknown_slots_incidents_and_runs_are_named(ledger: Path, run: str) -> None:
    for arguments, said in (
        ((run, "--slot", "first/good/r9"), "no slot first/good/r9"),
        ((run, "--slot", "first/good/r1.rerun1"), "without .rerun"),
        ((run, "--incident", "2000"), "no incident"),
        (("2000",), "no run"),
    ):
        assert said in trialbook(ledger, "rerun", *arguments, check=2).stderr


@pytest.mark.slow
def test_a_rerun_that_was_killed_is_recorded_with_its_incident_and_goes_on_with_resume(
    ledger: Path, run: str
) -> None:
    trialbook(ledger, "amend", f"{run}/first/bad/r1", *EVIDENCE)
    name = incident(ledger, run, "rerun")
    state = Ledger.open(ledger, System()).state_folder("mini", run)
    # What a runner leaves that was killed while the trial ran.
    Journal(state).started("first/bad/r1.rerun1", "2026-12-01T09:00:00.000Z", name)
    trialbook(ledger, "resume", run)
    assert outcomes(ledger) == {
        "first/good/r1": "accepted",
        "first/bad/r1": "rejected",
        "first/bad/r1.rerun1": "cancelled",
        "first/bad/r1.rerun2": "rejected",
    }
    cut_off = trials(ledger)[f"{run_folder(ledger)}/first/bad/r1.rerun1"]
    assert cut_off["rerun_reason"] == "environment_failure"
    assert cut_off["incident"] == name
    newest = json.loads(trialbook(ledger, "show", run, "--json").stdout)["results"]
    csv = git(ledger, "show", f"HEAD:{run_folder(ledger)}/{newest}/results.csv")
    assert "r1.rerun2" in csv
    trialbook(ledger, "verify")
