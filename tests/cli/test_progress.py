from __future__ import annotations

import signal
from pathlib import Path

import pytest
from tests.cli.test_eval import run_folder, slow_down, start_eval, trials, wait_for_trials
from tests.conftest import trialbook


@pytest.mark.slow
def test_a_slot_that_was_cut_off_is_not_counted_as_done(ledger: Path) -> None:
    slow_down(ledger, "1.5")
    process = start_eval(ledger, "--jobs", "1", "-c", "good")
    wait_for_trials(ledger, 1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=60)
    run = run_folder(ledger).rsplit("/", 1)[1]
    records = trials(ledger)
    ended = sum(record["outcome"] != "cancelled" for record in records.values())
    cut_off = len(records) - ended
    done = trialbook(ledger, "resume", run)
    assert f"\n{ended} of 4 slots done already\n" in done.stderr
    if cut_off:
        assert f"{cut_off} slot cut off or errored: to be run again" in done.stderr
    numbers = [line.split("]")[0] for line in done.stderr.splitlines() if line.startswith("[")]
    assert numbers == [f"[{number}/4" for number in range(ended + 1, 5)]


def test_one_of_each_is_said_in_the_singular(ledger: Path) -> None:
    done = trialbook(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    assert "1 task x 1 configuration x 1 repetition = 1 slot," in done.stderr
    assert "preparing 1 snapshot\n" in done.stderr
