from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git, trialbook, write_files

from trialbook.site.addresses import OVERVIEW, run_page, suite_page, trial_page
from trialbook.storage.reader import RunRef

FEW = ("eval", "mini", "--repetitions", "1", "--sandbox", "none")


def lock(ledger: Path) -> None:
    """Lock the suite `mini`, whose configurations name their sandbox then, and commit it."""
    for path in (ledger / "suites/mini/configurations").iterdir():
        path.write_text(path.read_text() + "sandbox: none\n")
    trialbook(ledger, "suite", "lock", "mini")
    git(ledger, "add", "-A")
    git(ledger, "commit", "-q", "-m", "lock")


def evaluated(ledger: Path, *options: str) -> tuple[dict[str, Any], dict[str, Any]]:
    """What `eval --json` says, and the plan that it committed."""
    said = json.loads(trialbook(ledger, *FEW, "--json", *options).stdout)
    return said, json.loads(git(ledger, "show", f"HEAD:runs/{said['run']}/plan.json"))


def records(ledger: Path, run: str) -> list[dict[str, Any]]:
    found = (ledger / "runs" / run).rglob("trial.json")
    return [json.loads(path.read_text()) for path in found]


@pytest.mark.slow
def test_a_run_of_an_unlocked_suite_is_a_draft_wherever_it_appears(ledger: Path) -> None:
    done = trialbook(ledger, *FEW)
    why = "protocol 1 of the suite is not locked"
    assert f"draft: {why}\n       trialbook suite lock mini\n" in done.stderr
    assert "(draft): 2 tasks" in done.stderr
    assert f"draft    {why}" in done.stdout
    run = git(ledger, "log", "-1", "--format=%s").split()[1].removesuffix(":")
    plan = json.loads((ledger / "runs" / run / "plan.json").read_text())
    assert (plan["status"], plan["draft_because"], plan["lock"]) == ("draft", why, None)
    assert {record["status"] for record in records(ledger, run)} == {"draft"}
    report = (ledger / "runs" / run / "report.md").read_text()
    assert f"- **Draft.** When this run was planned, {why}." in report
    assert (
        (ledger / "runs" / run / "results.csv")
        .read_text()
        .splitlines()[1]
        .startswith("mini,1,draft,")
    )
    subjects = git(ledger, "log", "--format=%s").splitlines()
    assert subjects[0].startswith(f"results {run} (draft): ")
    assert subjects[-2].startswith(f"plan {run} (draft): ")
    assert "Status: draft" in git(ledger, "log", "-1", "--skip=1", "--format=%B")
    assert json.loads(trialbook(ledger, "status", "--json").stdout)[0]["status"] == "draft"
    assert ", draft" in trialbook(ledger, "status").stdout
    assert f"Draft: When this run was planned, {why}." in trialbook(ledger, "show", run).stdout
    trial = trialbook(ledger, "show", f"{run}/first/good/r1").stdout
    assert "status" in trial
    assert "draft" in trial
    trialbook(ledger, "site", "build")
    ref = RunRef(*run.split("/"))
    for page in (OVERVIEW, suite_page("mini"), run_page(ref), trial_page(ref, "first/good/r1")):
        assert "draft" in (ledger / "site" / "_build" / page).read_text(), page


@pytest.mark.slow
def test_a_run_of_a_locked_suite_is_no_draft_also_if_it_is_narrowed(ledger: Path) -> None:
    lock(ledger)
    said, plan = evaluated(ledger)
    assert (said["status"], said["draft_because"]) == ("locked", "")
    sha256 = git(ledger, "show", "HEAD:suites/mini/locks/1.json")
    assert plan["status"] == "locked"
    assert plan["lock"]["path"] == "suites/mini/locks/1.json"
    assert len(plan["lock"]["sha256"]) == 64
    assert sha256
    assert {record["status"] for record in records(ledger, said["run"])} == {"locked"}
    assert "draft" not in git(ledger, "log", "-4", "--format=%B")
    narrow, _ = evaluated(ledger, "--task", "first", "--configuration", "good")
    assert narrow["status"] == "locked"


@pytest.mark.slow
def test_a_lock_that_is_not_committed_makes_a_draft_and_says_how_to_commit(ledger: Path) -> None:
    done = trialbook(ledger, "suite", "lock", "mini")
    assert "git add suites/mini" in done.stdout
    assert "until it is committed, runs are drafts" in done.stderr
    done = trialbook(ledger, "eval", "mini", "--dry-run", "--sandbox", "none")
    assert "draft: the lock is not committed with what it locks" in done.stderr
    assert 'git commit -m "Lock mini, protocol 1" -- suites/mini' in done.stderr
    assert "protocol 1 (draft)" in done.stdout


@pytest.mark.slow
def test_eval_refuses_what_is_not_as_locked_and_names_both_ways_out(ledger: Path) -> None:
    lock(ledger)
    head = git(ledger, "rev-parse", "HEAD")
    brief = ledger / "suites/mini/tasks/first/brief.md"
    before = brief.read_text()
    brief.write_text("Something else.\n")
    write_files(ledger / "suites/mini/tasks/second", {"private/new.txt": "x\n"})
    done = trialbook(ledger, *FEW, check=2)
    assert "suites/mini/tasks/first/brief.md: changed" in done.stderr
    assert "suites/mini/tasks/second/private/new.txt: new" in done.stderr
    assert "git checkout" in done.stderr
    assert "trialbook suite bump mini" in done.stderr
    # Also where the task that changed takes no part.
    trialbook(ledger, *FEW, "--task", "second", check=2)
    assert git(ledger, "rev-parse", "HEAD") == head
    assert trialbook(ledger, "suite", "lock", "mini", check=2).stdout == ""
    check = trialbook(ledger, "suite", "check", "mini", check=2)
    assert "not as locked:\n  suites/mini/tasks/first/brief.md: changed" in check.stdout

    bump = trialbook(ledger, "suite", "bump", "mini")
    assert "protocol 2, opened after 1" in bump.stdout
    assert "suites/mini/tasks/first/brief.md: changed" in bump.stdout
    assert evaluated(ledger)[0]["draft_because"] == "protocol 2 of the suite is not locked"

    git(ledger, "checkout", "-q", "--", "suites/mini/suite.yaml")
    brief.write_text(before)
    (ledger / "suites/mini/tasks/second/private/new.txt").unlink()
    assert evaluated(ledger)[0]["status"] == "locked"
    assert "nothing differs" in trialbook(ledger, "suite", "bump", "mini", check=2).stderr


@pytest.mark.slow
def test_locking_twice_says_that_it_is_locked(ledger: Path) -> None:
    lock(ledger)
    again = trialbook(ledger, "suite", "lock", "mini")
    assert "locked since " in again.stdout
    assert again.stderr == ""
    said = json.loads(trialbook(ledger, "suite", "lock", "mini", "--json").stdout)
    assert (said["locked"], said["made"], said["uncommitted"]) == (True, False, [])
    check = trialbook(ledger, "suite", "check", "mini")
    assert "lock: suites/mini/locks/1.json, everything as locked" in check.stdout
    assert git(ledger, "status", "--porcelain") == ""


@pytest.mark.slow
def test_a_row_in_the_way_ends_with_status_1_and_is_told(ledger: Path) -> None:
    write_files(ledger / "suites/mini/tasks/first/snapshot", {"answer.txt": "first \n"})
    done = trialbook(ledger, "suite", "lock", "mini", check=1)
    assert "first base: the untouched snapshot is accepted, as if the work were done" in done.stdout
    assert "not locked, " in done.stdout
    assert "stand in the way" in done.stdout
    assert not (ledger / "suites/mini/locks").exists()
    said = json.loads(trialbook(ledger, "suite", "lock", "mini", "--json", check=1).stdout)
    assert said["locked"] is False
    assert "first base" in said["blocking"]


@pytest.mark.slow
def test_compare_refuses_drafts_and_other_protocols_and_takes_the_rest_together(
    ledger: Path,
) -> None:
    draft, _ = evaluated(ledger)
    lock(ledger)
    first, _ = evaluated(ledger)
    second, _ = evaluated(ledger)
    runs = (first["run"], second["run"])
    done = trialbook(ledger, "compare", *runs)
    assert "4/4 (100.0 %)" in done.stdout
    assert "inconclusive" in done.stdout
    refused = trialbook(ledger, "compare", draft["run"], runs[0], check=4)
    assert f"{draft['run']} is a draft: protocol 1 of the suite is not locked" in refused.stdout
    brief = ledger / "suites/mini/tasks/first/brief.md"
    brief.write_text("Write first into answer.txt, please.\n")
    trialbook(ledger, "suite", "bump", "mini")
    trialbook(ledger, "suite", "lock", "mini")
    git(ledger, "add", "-A")
    git(ledger, "commit", "-q", "-m", "next")
    third, _ = evaluated(ledger)
    refused = trialbook(ledger, "compare", *runs, third["run"], check=4)
    assert "they are of different protocol numbers: 1 (" in refused.stdout
    said = json.loads(trialbook(ledger, "compare", runs[0], third["run"], "--json", check=4).stdout)
    assert said["comparable"] is False


@pytest.mark.slow
def test_resume_of_a_locked_run_refuses_another_grader(ledger: Path) -> None:
    lock(ledger)
    said, _ = evaluated(ledger)
    path = ledger / "suites/mini/locks/1.json"
    record = json.loads(path.read_text())
    record["graders"][0]["version"] = "0"
    path.write_text(json.dumps(record, indent=2) + "\n")
    done = trialbook(ledger, "resume", said["run"], check=2)
    assert "grader checks: version" in done.stderr
    assert "install what the lock names" in done.stderr
