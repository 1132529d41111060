from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import git, trialbook


@pytest.fixture
def apart(ledger: Path) -> Path:
    """A ledger that is on a branch of its own, which is not there yet."""
    git(ledger, "config", "trialbook.branch", "ledger")
    return ledger


def test_every_command_works_and_nothing_of_the_user_is_touched(apart: Path) -> None:
    before = {path for path in apart.rglob("*") if ".git" not in path.parts}
    head = git(apart, "rev-parse", "HEAD")
    index = (apart / ".git/index").read_bytes()
    assert "no runs yet" in trialbook(apart, "status").stderr

    trialbook(apart, "eval", "mini", "-t", "first", "-r", "1")
    assert git(apart, "rev-parse", "HEAD") == head
    assert (apart / ".git/index").read_bytes() == index
    assert git(apart, "status", "--porcelain") == ""
    assert {path for path in apart.rglob("*") if ".git" not in path.parts} == before

    subjects = git(apart, "log", "--reverse", "--format=%s", "ledger").splitlines()
    assert [subject.split()[0] for subject in subjects] == ["plan", "trial", "trial", "results"]
    (row,) = json.loads(trialbook(apart, "status", "--json").stdout)
    assert (row["state"], row["accepted"], row["slots"]) == ("closed", 1, 2)

    shown = trialbook(apart, "show", row["run"]).stdout
    (plan,) = [line for line in shown.splitlines() if "git show" in line]
    where = plan.split("git show ", 1)[1].strip()
    assert where.startswith("ledger:./runs/")
    assert json.loads(git(apart, "show", where))["run"] == row["run"]
    trial = trialbook(apart, "show", f"{row['run']}/first/good/r1").stdout
    assert "git log --stat ledger -- runs/" in trial
    trialbook(apart, "verify")
    trialbook(apart, "site", "build")
    assert git(apart, "rev-parse", "HEAD") == head


def test_a_second_run_goes_on_top_and_two_branches_can_be_merged(apart: Path) -> None:
    trialbook(apart, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    git(apart, "config", "--unset", "trialbook.branch")
    trialbook(apart, "eval", "mini", "-t", "second", "-c", "good", "-r", "1")
    git(apart, "merge", "-q", "--allow-unrelated-histories", "-m", "both", "ledger")
    rows = json.loads(trialbook(apart, "status", "--json").stdout)
    assert [row["accepted"] for row in rows] == [1, 1]
    trialbook(apart, "verify")


def test_when_the_branch_is_checked_out_its_files_are_there(apart: Path) -> None:
    git(apart, "checkout", "-q", "-b", "ledger")
    trialbook(apart, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    assert list(apart.glob("runs/mini/*/first/good/r1/trial.json"))
    assert git(apart, "status", "--porcelain") == ""


@pytest.mark.parametrize("name", ["a b", "a..b", "HEAD", "x.lock", "/x", "a//b", "@"])
def test_what_cannot_be_a_branch_is_refused(apart: Path, name: str) -> None:
    git(apart, "config", "trialbook.branch", name)
    done = trialbook(apart, "status", check=2)
    assert "trialbook.branch" in done.stderr
    assert "git config" in done.stderr
