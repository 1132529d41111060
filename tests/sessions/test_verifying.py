"""What verification finds in the sessions of a trial that was tampered with."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git, trialbook
from tests.sessions.world import make_ledger

from trialbook.model.digest import sha256

Record = dict[str, Any]


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ledger with a whole series in it, and its cache."""
    top = tmp_path_factory.mktemp("honest")
    ledger = make_ledger(top / "ledger")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRIALBOOK_CACHE", str(top / "cache"))
        trialbook(ledger, "eval", "story", "--sandbox", "none")
    return top


def faults(
    honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: Callable[[Path], None]
) -> str:
    """What is said of a ledger whose trial was changed before it was committed."""
    monkeypatch.setenv("TRIALBOOK_CACHE", str(honest / "cache"))
    ledger = tmp_path / "ledger"
    shutil.copytree(honest / "ledger", ledger, symlinks=True)
    (run,) = (ledger / "runs" / "story").iterdir()
    trial = run / "table/steady/r1"
    change(trial)
    record = json.loads((trial / "trial.json").read_text())
    files = [path for path in trial.rglob("*") if path.is_file() and path.name != "trial.json"]
    record["artifacts"] = {
        str(path.relative_to(trial)): sha256(path.read_bytes()) for path in sorted(files)
    }
    write(trial / "trial.json", record)
    # As if it had never been another: the commit of the trial itself is made anew.
    paths = [str(path.relative_to(ledger)) for path in (run / "results.csv", run / "report.md")]
    plan = git(ledger, "log", "--format=%H", "--diff-filter=A", "--", f"{run}/plan.json").strip()
    git(ledger, "reset", "-q", "--soft", plan)
    for path in paths:
        (ledger / path).unlink()
    git(ledger, "add", "-A")
    git(ledger, "commit", "-q", "-m", "trial")
    return trialbook(ledger, "verify", check=1).stdout


def write(path: Path, record: Record) -> None:
    """A record as the program writes it."""
    path.write_text(json.dumps(record, indent=2, ensure_ascii=False) + "\n")


def edited(path: str, edit: Callable[[Record], None]) -> Callable[[Path], None]:
    """A change of one record."""

    def change(trial: Path) -> None:
        record = json.loads((trial / path).read_text())
        edit(record)
        write(trial / path, record)

    return change


def session(number: int, **values: Any) -> Callable[[Path], None]:
    """A change of one session's record."""
    return edited("trial.json", lambda record: record["sessions"][number - 1].update(values))


def handover(number: int, **values: Any) -> Callable[[Path], None]:
    """A change of one handover."""
    return edited(f"sessions/{number}/handover.json", lambda record: record.update(values))


def without(path: str) -> Callable[[Path], None]:
    """A file that is taken away."""
    return lambda trial: (trial / path).unlink()


def other_start(trial: Path) -> None:
    record = json.loads((trial / "trial.json").read_text())
    record["sessions"][1]["start"]["tree"] = "1" * 40
    write(trial / "trial.json", record)


def dropped(trial: Path) -> None:
    record = json.loads((trial / "trial.json").read_text())
    del record["sessions"][3]
    write(trial / "trial.json", record)


def other_message(trial: Path) -> None:
    """The message of the first commit, as the second session ended with it, in both its files."""
    record = json.loads((trial / "trial.json").read_text())
    for state in (record["sessions"][1]["end"], record["sessions"][2]["start"]):
        state["commits"][0]["body"] = "It was like this from the start."
    write(trial / "trial.json", record)
    handed = json.loads((trial / "sessions/3/handover.json").read_text())
    for key in ("before", "start"):
        handed[key]["commits"][0]["body"] = "It was like this from the start."
    write(trial / "sessions/3/handover.json", handed)


def swapped(trial: Path) -> None:
    one, two = trial / "sessions/1/change.patch", trial / "sessions/2/change.patch"
    first = one.read_bytes()
    one.write_bytes(two.read_bytes())
    two.write_bytes(first)


@pytest.mark.parametrize(
    ("change", "code", "told"),
    [
        (session(1, name="other"), "session-differs", "planned is core"),
        (session(1, brief_sha256="0" * 64), "session-differs", "which none of the plan has"),
        (session(1, usage={"turns": 3}), "session-differs", "not the sum of what its attempts"),
        (session(4, regression=2), "session-differs", "regression that the plan does not have"),
        (other_start, "session-differs", "the repository at its start is not that of the record"),
        (other_message, "session-differs", "has another message of commit"),
        (dropped, "session-differs", "it has 3 sessions, and the plan 4"),
        (handover(2, equal=False), "session-differs", "whether both are the same"),
        (handover(2, session=3), "session-differs", "of another session"),
        (handover(4, planted=None), "session-differs", "did not begin with what"),
        (handover(3, before=None), "session-differs", "not what the session before left"),
        (swapped, "patch-tree-differs", ""),
        (
            lambda trial: (trial / "sessions/2/handover.json").unlink(),
            "session-differs",
            "handover",
        ),
        (lambda trial: (trial / "sessions/2/change.patch").unlink(), "patch-differs", "gone"),
        (lambda trial: (trial / "sessions/4/planted.patch").unlink(), "patch-tree-differs", ""),
        (
            lambda trial: (trial / "sessions/2/answers.json").write_text("{}\n"),
            "session-differs",
            "no session of the record accounts for it",
        ),
        (
            edited("sessions/1/grades/private.end.json", lambda grade: grade.update(message="!")),
            "grade-differs",
            "its sha256 is",
        ),
    ],
)
def test_what_was_tampered_with_is_found(
    honest: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Path], None],
    code: str,
    told: str,
) -> None:
    said = faults(honest, tmp_path, monkeypatch, change)
    assert code in said
    assert told in said


def test_an_honest_series_verifies(
    honest: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRIALBOOK_CACHE", str(honest / "cache"))
    said = trialbook(honest / "ledger", "verify").stdout
    assert "nothing is wrong" in said
    assert "patches of sessions" not in said
    # Without the objects of the starting tree, it says what was not looked at.
    monkeypatch.setenv("TRIALBOOK_CACHE", str(tmp_path / "empty"))
    shutil.copytree(honest / "ledger", tmp_path / "ledger", symlinks=True)
    assert "nothing is wrong" in trialbook(tmp_path / "ledger", "verify").stdout


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda one: one["properties"][0].update(tree="0" * 40), "did not leave"),
        (lambda one: one["properties"].pop(), "not every decision was asked for"),
        (lambda one: one.update(repair=None), "it has no repair"),
        (lambda one: one["repair"].update(end="0" * 40), "other trees than the session"),
    ],
)
def test_what_was_tried_over_a_series_has_to_be_of_its_sessions(
    honest: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    change: Callable[[Record], None],
    told: str,
) -> None:
    def tampered(trial: Path) -> None:
        tried = json.loads((trial / "series.json").read_text())
        change(tried)
        write(trial / "series.json", tried)

    assert told in faults(honest, tmp_path, monkeypatch, tampered)
