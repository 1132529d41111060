"""``trialbook verify`` as people and programs run it, on a ledger that a real run made."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from tests.conftest import git, trialbook, write_files


@pytest.fixture
def evaluated(ledger: Path) -> Path:
    """A ledger with one closed run."""
    trialbook(ledger, "eval", "mini", "--jobs", "2", "--repetitions", "1")
    return ledger


def tamper(ledger: Path) -> tuple[str, str]:
    """Change a record and commit that; gives path and commit."""
    path = next((ledger / "runs").rglob("good/r1/trial.json"))
    path.write_text(path.read_text().replace('"accepted"', '"rejected"', 1))
    git(ledger, "commit", "-q", "-am", "a better story")
    return path.relative_to(ledger).as_posix(), git(ledger, "rev-parse", "HEAD").strip()


def test_a_real_run_verifies_and_says_how_much_it_looked_at(evaluated: Path) -> None:
    done = trialbook(evaluated, "verify")
    assert "1 run, 4 trials, 7 commits" in done.stdout
    assert "nothing is wrong" in done.stdout
    assert "not checked" not in done.stdout
    assert done.stderr == ""


def test_a_clone_without_the_cache_says_what_it_could_not_check(
    evaluated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(evaluated, "clone", "-q", "--no-hardlinks", ".", str(tmp_path / "clone"))
    monkeypatch.setenv("TRIALBOOK_CACHE", str(tmp_path / "no-cache"))
    # The snapshots are folders of the suite, so that their trees are in the clone.
    assert "not checked" not in trialbook(tmp_path / "clone", "verify").stdout
    assert not (tmp_path / "no-cache").exists()


def test_verifying_needs_no_git_and_writes_nothing(
    evaluated: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    before = sorted((path, path.lstat().st_mtime_ns) for path in (evaluated / ".git").rglob("*"))
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    trialbook(evaluated, "verify")
    after = sorted((path, path.lstat().st_mtime_ns) for path in (evaluated / ".git").rglob("*"))
    assert after == before


def test_what_is_wrong_is_told_with_code_path_and_commit(evaluated: Path) -> None:
    path, commit = tamper(evaluated)
    done = trialbook(evaluated, "verify", check=1)
    assert "record-changed  A record was changed after it was committed." in done.stdout
    assert path in done.stdout
    assert f"(commit {commit[:12]})" in done.stdout
    assert "outcome-differs" in done.stdout
    assert "trialbook verify --explain" in done.stdout


def test_as_json_it_says_the_same(evaluated: Path) -> None:
    path, commit = tamper(evaluated)
    found = json.loads(trialbook(evaluated, "verify", "--json", check=1).stdout)
    assert found["holds"] is False
    (fault,) = [one for one in found["faults"] if one["code"] == "record-changed"]
    assert (fault["path"], fault["commit"]) == (path, commit)
    assert fault["sentence"].endswith(".")
    assert fault["detail"]
    assert found["head"] == commit
    assert "explanations" not in found


def test_explained_it_says_what_it_shows_and_what_not(evaluated: Path) -> None:
    done = trialbook(evaluated, "verify", "--explain")
    assert "is shown" in done.stdout
    assert "this is not" in done.stdout
    tamper(evaluated)
    done = trialbook(evaluated, "verify", "--explain", "--json", check=1)
    found = json.loads(done.stdout)
    assert len(found["proves"]) == len(found["does_not_prove"])
    assert "record-changed" in found["explanations"]


def test_one_run_alone(evaluated: Path) -> None:
    trialbook(evaluated, "eval", "mini", "--jobs", "2", "--repetitions", "1")
    tamper(evaluated)
    runs = sorted(path.name for path in (evaluated / "runs/mini").iterdir())
    said = [trialbook(evaluated, "verify", "--run", run, check=None).returncode for run in runs]
    assert sorted(said) == [0, 1]


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--run", "nothing"], "there is no run 'nothing'"),
        (["--witness", "main"], "no full commit id"),
        (["--signers", "nobody:list"], "no ref 'nobody'"),
        (["--nonsense"], "No such option"),
    ],
)
def test_mistakes_are_for_the_user_to_fix(ledger: Path, arguments: list[str], said: str) -> None:
    assert said in trialbook(ledger, "verify", *arguments, check=2).stderr


def test_a_witness_from_another_history(evaluated: Path) -> None:
    witness = git(evaluated, "rev-parse", "HEAD").strip()
    trialbook(evaluated, "verify", "--witness", witness)
    git(evaluated, "commit", "-q", "--amend", "-m", "rewritten")
    done = trialbook(evaluated, "verify", "--witness", witness, check=1)
    assert "witness-not-ancestor" in done.stdout


def test_hostile_names_and_texts_do_not_act_on_the_terminal(evaluated: Path) -> None:
    run = next((evaluated / "runs/mini").iterdir())
    write_files(run, {"\x1b]52;c;aGk=\x07\x1b[31m.txt": "x\n"})
    git(evaluated, "add", "-A", "-f")
    git(evaluated, "commit", "-q", "-m", "hostile")
    done = trialbook(evaluated, "verify", check=1)
    assert "file-unlisted" in done.stdout
    assert "\x1b" not in done.stdout
    assert "\x1b" not in trialbook(evaluated, "verify", "--json", check=1).stdout


def test_a_ledger_without_runs_verifies(ledger: Path) -> None:
    assert "0 runs" in trialbook(ledger, "verify").stdout
    shutil.rmtree(ledger / ".git")
    assert "not in a git repository" in trialbook(ledger, "verify", check=2).stderr
