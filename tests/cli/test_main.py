from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.cli.test_eval import run_folder, slow_down, start_eval, wait_for_trials
from tests.conftest import git, trialbook


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
@pytest.mark.parametrize("arguments", [["status"], ["plugins", "--json"], ["--help"]], ids=" ".join)
def test_output_that_cannot_be_written_is_no_bug_of_ours(
    ledger: Path, arguments: list[str]
) -> None:
    trialbook(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-m", "trialbook", *arguments],
            cwd=ledger,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.stderr == "error: cannot write the output: No space left on device\n"
    assert done.returncode == 2


def test_a_mistyped_command_is_met_with_the_nearest_one(tmp_path: Path) -> None:
    done = trialbook(tmp_path, "evl", "mini", check=2)
    assert "there is no command 'evl'; did you mean `eval`?" in done.stderr
    assert "--help" in trialbook(tmp_path, "xyzzy", check=2).stderr


@pytest.mark.slow
def test_stopped_at_once_a_run_says_its_name_and_how_to_go_on(ledger: Path) -> None:
    slow_down(ledger, "60")
    stubborn = ledger / "suites/mini/driver/agent.py"
    stubborn.write_text(
        "import signal\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n" + stubborn.read_text()
    )
    git(ledger, "commit", "-q", "-a", "-m", "stubborn")
    process = start_eval(ledger, "--jobs", "2")
    wait_for_trials(ledger, 1)
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    time.sleep(0.7)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    run = os.fsdecode(run_folder(ledger).rsplit("/", 1)[1])
    assert f"the run {run} was stopped at once" in err.decode()
    assert f"trialbook resume {run}`" in err.decode().splitlines()[-1]
    # Nothing that it had is lost, and it goes on.
    again = trialbook(ledger, "--quiet", "show", run)
    assert "trialbook resume" in again.stdout


@pytest.mark.slow
def test_commands_to_copy_call_the_program_as_it_was_called(ledger: Path, tmp_path: Path) -> None:
    program = tmp_path / "bin/trialbook"
    program.parent.mkdir()
    program.write_text(
        f"#!{sys.executable}\nimport sys\nfrom trialbook.cli.main import main\nsys.exit(main())\n"
    )
    program.chmod(0o755)

    def said(*arguments: str) -> str:
        return subprocess.run(
            [program, *arguments], cwd=ledger, capture_output=True, text=True, check=True
        ).stdout

    ended = said("eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    run = run_folder(ledger).rsplit("/", 1)[1]
    assert f"{program} show {run}" in ended
    assert said("status").rstrip().endswith(f"{program} show {run}")
    assert f"{program} show {run}/TASK/CONFIGURATION/r1" in said("show", run)
