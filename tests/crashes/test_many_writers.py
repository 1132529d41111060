"""Many processes that write to one ledger, some of them killed: nothing lost, nothing left."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import git
from tests.crashes.faults import descendants
from tests.crashes.world import NO_SANDBOX, SMALL, World, check_clean

from trialbook.storage.ledger import Ledger
from trialbook.system import System

WRITERS = 8
COMMITS = 15
KILLS = 10

# Commits trials of a run of its own, from the first that is not there yet; tells each commit.
WRITER = """
import sys
from pathlib import Path
from trialbook.storage.ledger import Ledger
from trialbook.system import System

root, name, first, last = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
ledger = Ledger.open(root, System())
for number in range(first, last + 1):
    base = f"runs/demo/{name}/task/current/r{number}"
    files = {f"{base}/trial.json": f"{name} {number}".encode(), f"{base}/log.txt": b"x" * number}
    print(ledger.commit(files, f"trial {name} {number}\\n"), flush=True)
for warning in ledger.warnings:
    print(warning, file=sys.stderr)
"""


def landed(ledger: Path, name: str) -> int:
    """How many trials of a run are in the ledger; they come one after the other."""
    listing = git(ledger, "ls-tree", "--name-only", "HEAD", f"runs/demo/{name}/task/current/")
    numbers = sorted(int(line.rpartition("/r")[2]) for line in listing.split())
    assert numbers == list(range(1, len(numbers) + 1)), name
    return len(numbers)


class Writer:
    """One process at a time that writes one run."""

    def __init__(self, ledger: Path, name: str) -> None:
        self._ledger = ledger
        self.name = name
        self.told: list[str] = []
        self._start()

    def _start(self) -> None:
        first = landed(self._ledger, self.name) + 1
        self._process = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(self._ledger), self.name, str(first), str(COMMITS)],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip

    def kill(self, *, tree: bool) -> None:
        """Kill it, with its children or without, and let another go on."""
        for pid in [*(descendants(self._process.pid) if tree else []), self._process.pid]:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self._read()
        self._start()

    def end(self) -> int:
        """Wait for its end; gives its exit status."""
        assert self._read() == ""
        return self._process.returncode

    def _read(self) -> str:
        out, err = self._process.communicate(timeout=240)
        self.told += [line for line in out.split() if len(line) == 40]
        return err


@pytest.mark.slow
@pytest.mark.timeout(900)
@pytest.mark.parametrize("seed", [1, 2])
def test_eight_writers_of_which_some_are_killed_lose_nothing(world: World, seed: int) -> None:
    before = world.git("status", "--porcelain=v2")
    chance = random.Random(seed)
    writers = [Writer(world.ledger, f"run{number}") for number in range(WRITERS)]
    for number in range(KILLS):
        time.sleep(chance.uniform(0.2, 0.9))
        chance.choice(writers).kill(tree=bool(number % 2))
    assert [writer.end() for writer in writers] == [0] * WRITERS
    history = world.git("rev-list", "--first-parent", "HEAD").split()
    told = [commit for writer in writers for commit in writer.told]
    assert set(told) <= set(history), "what was told to be committed is committed"
    assert [landed(world.ledger, writer.name) for writer in writers] == [COMMITS] * WRITERS
    assert len(history) == 1 + WRITERS * COMMITS
    with contextlib.closing(Ledger.open(world.ledger, System())) as ledger:
        assert ledger.sync(), ledger.warnings
    assert world.git("status", "--porcelain=v2") == before
    check_clean(world)


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_runs_at_once_of_which_one_is_killed_all_end_whole(world: World) -> None:
    environ = {
        **world.environ,
        "TRIALBOOK_CACHE": str(world.cache),
        "TRIALBOOK_WORK": str(world.work),
    }
    command = [sys.executable, "-m", "trialbook", *SMALL, *NO_SANDBOX, "-r", "4", "--json"]
    running = [
        subprocess.Popen(
            command, cwd=world.ledger, env=environ, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        for _ in range(3)
    ]  # fmt: skip
    for _ in range(600):
        if len(world.runs()) == len(running) and len(world.trials()) >= 3:
            break
        time.sleep(0.05)
    running[0].kill()
    said = [process.communicate(timeout=240) for process in running]
    assert [process.returncode for process in running] == [-9, 0, 0], said
    ended = {json.loads(out)["run"].split("/")[1] for out, _ in said[1:]}
    (cut,) = set(world.runs()) - ended
    world.run("resume", cut, check=0)
    for run in world.runs():
        outcomes = [r["outcome"] for r in world.trials().values() if r["run"] == run]
        assert outcomes.count("accepted") == 4, run
        assert set(outcomes) <= {"accepted", "cancelled"}
    check_clean(world)
    world.run("verify", check=0)
