"""`status` answers from what it said before only while that is what it would say now."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import git, trialbook

_LOADED = """\
import sys
from trialbook.cli.main import main
main(["status"])
print(*sorted(name for name in sys.modules if name.split(".")[0] in
              {"dulwich", "msgspec", "rich", "json", "ruamel", "jsonschema", "jinja2"}),
      file=sys.stderr)
"""


@pytest.fixture
def run_once(ledger: Path) -> Path:
    trialbook(ledger, "eval", "mini", "-t", "first", "-r", "1")
    return ledger


def status(ledger: Path) -> list[str]:
    """The runs, asked twice: what is remembered must be what was said."""
    said = trialbook(ledger, "status", "--json").stdout
    assert trialbook(ledger, "status", "--json").stdout == said
    return [row["run"] for row in json.loads(said)]


def loaded(ledger: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", _LOADED], cwd=ledger, capture_output=True, text=True, check=True
    )
    return done.stderr.strip()


def answers(ledger: Path, home: Path) -> list[Path]:
    return [path for path in (home / "trialbook/said").rglob("status*") if path.is_file()]


def test_an_answer_that_still_holds_is_given_without_reading_the_ledger(run_once: Path) -> None:
    first = trialbook(run_once, "status").stdout
    assert trialbook(run_once, "status").stdout == first
    assert "dulwich" in loaded(run_once)
    assert loaded(run_once) == ""


def test_what_is_said_follows_the_branch(run_once: Path) -> None:
    (one,) = status(run_once)
    git(run_once, "branch", "before")
    trialbook(run_once, "eval", "mini", "-t", "second", "-r", "1")
    both = status(run_once)
    assert len(both) == 2
    git(run_once, "checkout", "-q", "before")
    assert status(run_once) == [one]
    git(run_once, "checkout", "-q", "--detach", "main")
    assert status(run_once) == both
    git(run_once, "reset", "-q", "--hard", "before")
    assert status(run_once) == [one]
    git(run_once, "checkout", "-q", "main")
    git(run_once, "pack-refs", "--all")
    assert status(run_once) == both
    git(run_once, "update-ref", "refs/heads/main", "before")
    assert status(run_once) == [one]


def test_a_branch_of_its_own_is_read_each_time(run_once: Path) -> None:
    (one,) = status(run_once)
    git(run_once, "config", "trialbook.branch", "elsewhere")
    assert status(run_once) == []
    git(run_once, "branch", "elsewhere")
    assert status(run_once) == [one]
    git(run_once, "config", "trialbook.branch", "nowhere")
    (run_once / "more.config").write_text("[trialbook]\n\tbranch = elsewhere\n")
    git(run_once, "config", "--unset", "trialbook.branch")
    git(run_once, "config", "include.path", "../more.config")
    assert status(run_once) == [one]
    (run_once / "more.config").write_text("[trialbook]\n\tbranch = nowhere\n")
    assert status(run_once) == []


def test_a_linked_work_tree_and_a_ledger_below_it_have_answers_of_their_own(
    run_once: Path, tmp_path: Path
) -> None:
    (one,) = status(run_once)
    git(run_once, "worktree", "add", "-q", "-b", "other", str(tmp_path / "other"))
    trialbook(tmp_path / "other", "eval", "mini", "-t", "second", "-r", "1")
    assert len(status(tmp_path / "other")) == 2
    assert status(run_once) == [one]
    (run_once / "inner/suites").mkdir(parents=True)
    assert status(run_once / "inner") == []
    assert status(run_once) == [one]


@pytest.mark.parametrize("damage", [b"", b"nothing", None], ids=["empty", "other", "cut"])
def test_a_damaged_answer_is_not_given(
    run_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: bytes | None
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("TRIALBOOK_CACHE")
    said = status(run_once)
    (file,) = answers(run_once, tmp_path / "cache")
    file.write_bytes(file.read_bytes()[:-20] if damage is None else damage)
    assert status(run_once) == said


def test_a_cache_that_cannot_be_written_changes_nothing(
    run_once: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIALBOOK_CACHE", "/dev/null/cache")
    assert len(status(run_once)) == 1


def test_an_answer_is_for_one_width(run_once: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wide = trialbook(run_once, "status").stdout
    monkeypatch.setenv("NO_COLOR", "1")
    assert trialbook(run_once, "status").stdout == wide
    assert trialbook(run_once, "--quiet", "status").stdout == wide
    assert trialbook(run_once.parent, "-C", str(run_once), "status").stdout == wide
