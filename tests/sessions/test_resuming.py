"""A series whose runner is killed or stopped goes on with the session that it was in."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.conftest import git, trialbook
from tests.sessions.world import ran, short_ledger

CORE = "echo core >> {log}; printf 'def write' > rows.py; git add -A; git commit -qm one\n"
DOCS = "echo docs >> {log}; [ -e {gate} ] || sleep 120; printf '# Rows' > DOCS.md\n"


@contextmanager
def running(ledger: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """The program as a process of its own."""
    with (ledger.parent / "said.txt").open("ab") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "trialbook", *arguments], cwd=ledger, stdout=said, stderr=said
        )
        try:
            yield process
        finally:
            process.kill()
            process.wait(timeout=60)


def wait_for(text: str, log: Path) -> None:
    """Wait until the agents have said so."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if log.is_file() and log.read_text().endswith(text):
            return
        time.sleep(0.05)
    raise AssertionError(log.read_text() if log.is_file() else "nothing was done")


def interrupted(top: Path, number: int) -> tuple[Path, Path]:
    """A ledger whose run got a signal in its second session; what the agents said."""
    log, gate = top / "log.txt", top / "gate"
    names = {"log": log, "gate": gate}
    ledger = short_ledger(top / "ledger", core=CORE.format_map(names), docs=DOCS.format_map(names))
    with running(ledger, "eval", "story", "--sandbox", "none") as process:
        wait_for("docs\n", log)
        process.send_signal(number)
        process.wait(timeout=60)
    gate.touch()
    return ledger, log


def left_over(ledger: Path) -> list[str]:
    """What of the runner's notes is still there."""
    top = ledger / ".git/trialbook/runs"
    return [
        str(path) for path in top.rglob("*") if path.is_file() and not path.name.endswith("lock")
    ]


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_a_series_goes_on_with_the_session_that_it_was_in(tmp_path: Path, number: int) -> None:
    ledger, log = interrupted(tmp_path, number)
    assert git(ledger, "ls-files", "runs").count("trial.json") == 0
    notes = [Path(path) for path in left_over(ledger)]
    assert any(path.name == "session-1" for path in notes)
    assert all(path.stat().st_mode & 0o077 == 0 for path in notes if "series" in path.parts)
    trialbook(ledger, "resume", (ledger / "runs/story").iterdir().__next__().name)
    assert log.read_text().split() == ["core", "docs", "docs"]
    found = ran(ledger)
    assert found.record["outcome"] == "accepted"
    assert found.outcomes == ["accepted", "accepted"]
    assert [one["interrupted"] for one in found.sessions] == [0, 1]
    text = trialbook(ledger, "show", f"{found.record['run'].split('/')[-1]}/table/steady/r1").stdout
    assert text.count("anew after 1 interruption of the runner") == 1
    assert found.sessions[1]["start"] == found.sessions[0]["end"]
    assert [one["subject"] for one in found.sessions[1]["end"]["commits"]] == ["one"]
    assert left_over(ledger) == []
    trialbook(ledger, "verify")


@pytest.mark.slow
def test_what_an_interrupted_session_used_is_not_known(tmp_path: Path) -> None:
    ledger, _ = interrupted(tmp_path, signal.SIGKILL)
    trialbook(ledger, "resume", next((ledger / "runs/story").iterdir()).name)
    found = ran(ledger)
    assert found.record["usage"]["cost_usd"] is None
    assert found.sessions[1]["usage"]["output_tokens"] is None


@pytest.mark.slow
def test_a_series_without_the_objects_of_its_sessions_begins_anew(tmp_path: Path) -> None:
    ledger, log = interrupted(tmp_path, signal.SIGKILL)
    cache = Path(os.environ["TRIALBOOK_CACHE"])
    subprocess.run(["rm", "-rf", str(cache)], check=True)
    trialbook(ledger, "resume", next((ledger / "runs/story").iterdir()).name)
    assert log.read_text().split() == ["core", "docs", "core", "docs"]
    assert ran(ledger).outcomes == ["accepted", "accepted"]
    trialbook(ledger, "verify")


@pytest.mark.slow
def test_notes_that_cannot_be_read_are_no_obstacle(tmp_path: Path) -> None:
    ledger, log = interrupted(tmp_path, signal.SIGKILL)
    (notes,) = (ledger / ".git/trialbook/runs").rglob("session-1")
    notes.write_bytes(b"of another version")
    trialbook(ledger, "resume", next((ledger / "runs/story").iterdir()).name)
    assert log.read_text().split() == ["core", "docs", "core", "docs"]
    assert ran(ledger).record["outcome"] == "accepted"


@pytest.mark.slow
def test_one_that_is_stopped_in_its_first_session_is_recorded_and_run_again(tmp_path: Path) -> None:
    log, gate = tmp_path / "log.txt", tmp_path / "gate"
    work = f"echo core >> {log}; [ -e {gate} ] || sleep 120; printf 'def write' > rows.py\n"
    ledger = short_ledger(tmp_path / "ledger", core=work)
    with running(ledger, "eval", "story", "--sandbox", "none") as process:
        wait_for("core\n", log)
        process.send_signal(signal.SIGINT)
        process.wait(timeout=60)
    gate.touch()
    trialbook(ledger, "resume", next((ledger / "runs/story").iterdir()).name)
    assert ran(ledger).record["outcome"] == "cancelled"
    assert ran(ledger, "table/steady/r1.rerun1").outcomes == ["accepted", "accepted"]
    assert left_over(ledger) == []
    trialbook(ledger, "verify")
