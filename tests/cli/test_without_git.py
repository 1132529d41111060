from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import git, trialbook


@pytest.fixture
def no_git(ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A ledger with a run, on a machine whose path has no git."""
    trialbook(ledger, "eval", "mini", "-r", "1")
    empty = tmp_path / "bin"
    empty.mkdir()
    monkeypatch.setenv("PATH", str(empty))
    return ledger


def test_a_ledger_is_read_and_published_without_a_git_executable(no_git: Path) -> None:
    (run,) = json.loads(trialbook(no_git, "status", "--json").stdout)
    trialbook(no_git, "show", run["run"])
    trialbook(no_git, "show", f"{run['run']}/first/good/r1", "--json")
    trialbook(no_git, "site", "build")
    assert (no_git / "site/_build/index.html").is_file()


def test_a_run_without_git_says_that_it_needs_one(no_git: Path) -> None:
    done = trialbook(no_git, "eval", "mini", check=None)
    assert done.returncode == 2
    assert "git" in done.stderr


@pytest.mark.slow
def test_eval_works_before_the_first_commit(tmp_path: Path) -> None:
    trialbook(tmp_path, "init", "evals")
    ledger = tmp_path / "evals"
    trialbook(ledger, "eval", "example")
    assert "results example/" in git(ledger, "log", "--format=%s")
