"""Several processes at once, and processes that are killed: nothing is lost, nothing is left."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.storage.conftest import Git, run_files
from tests.storage.test_ledger import check_no_leftovers, make_busy

from trialbook.storage.ledger import Ledger
from trialbook.system import System

WRITER = """
import sys
from pathlib import Path
from trialbook.storage.ledger import Ledger
from trialbook.system import System

root, name, count = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
ledger = Ledger.open(root, System())
for number in range(count):
    base = f"runs/demo/{name}/task/current/r{number + 1}"
    files = {f"{base}/trial.json": f"{name} {number}".encode(), f"{base}/same.txt": b"same"}
    print(ledger.commit(files, f"trial {name} {number}\\n"), flush=True)
for warning in ledger.warnings:
    print(warning, file=sys.stderr)
ledger.close()
"""

# Forks a writer at each line that it reads, so that many can be killed in a short time.
FORKER = """
import os, sys
from pathlib import Path
from trialbook.storage.ledger import Ledger
from trialbook.system import System

root = Path(sys.argv[1])
for line in sys.stdin:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        ledger = Ledger.open(root, System())
        number = int(line)
        while True:
            number += 1
            base = f"runs/demo/first/task/current/r{number}"
            files = {f"{base}/trial.json": b"%d" % number, f"{base}/log.txt": b"x" * number}
            commit = ledger.commit(files, f"trial {number}\\n")
            os.write(writer, f"{commit} {number}\\n".encode())
            print("committed", flush=True)
    os.close(writer)
    print(child, flush=True)
    os.waitpid(child, 0)
    with open(reader) as done:
        print("dead", ",".join(line.strip() for line in done), flush=True)
"""


def start(script: str, *arguments: object) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", script, *map(str, arguments)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def check_history(git: Git, reported: list[str], ref: str = "main") -> None:
    line = git("rev-list", "--first-parent", ref).split()
    assert set(reported) <= set(line)
    assert git("rev-list", ref).split() == line


@pytest.mark.slow
def test_four_processes_lose_nothing_and_leave_nothing(git: Git) -> None:
    make_busy(git)
    before = git.state()
    count = int(git("rev-list", "--count", "main"))
    writers = [start(WRITER, git.folder, f"run{number}", 25) for number in range(4)]
    reported: list[str] = []
    for writer in writers:
        out, err = writer.communicate(timeout=120)
        assert (writer.returncode, err) == (0, "")
        reported += out.split()
    assert len(set(reported)) == 100
    check_history(git, reported)
    assert int(git("rev-list", "--count", "main")) == count + 100
    names = git("ls-tree", "-r", "--name-only", "main", "runs").split()
    assert len(names) == 200
    assert git.state() == before
    git.fsck()
    check_no_leftovers(git)


@pytest.mark.slow
def test_writers_and_a_user_who_commits_get_along(git: Git) -> None:
    """The user's own commits may have to be tried again, as with any two gits at once."""
    writers = [start(WRITER, git.folder, f"run{number}", 10) for number in range(2)]
    mine: list[str] = []
    number = 0
    while any(writer.poll() is None for writer in writers):
        number += 1
        (git.folder / f"mine{number}").write_text(f"{number}\n")
        tried = git.run("add", f"mine{number}")
        if (
            tried.returncode == 0
            and git.run("commit", "-q", "-m", f"mine {number}").returncode == 0
        ):
            mine.append(git("log", "-1", "--format=%H", "--", f"mine{number}").strip())
        time.sleep(0.02)
    reported: list[str] = []
    for writer in writers:
        out, err = writer.communicate(timeout=120)
        assert (writer.returncode, err) == (0, "")
        reported += out.split()
    git.run("add", "-A")
    git.run("commit", "-q", "-m", "the rest")
    assert mine
    check_history(git, [*reported, *mine])
    assert len(git("ls-tree", "-r", "--name-only", "main", "runs").split()) == 40
    assert git("status", "--porcelain") == ""
    git.fsck()
    check_no_leftovers(git)


def descendants(pid: int) -> list[int]:
    found = []
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except (FileNotFoundError, ProcessLookupError):  # it ended while we looked
        return found
    for child in children:
        found += [int(child), *descendants(int(child))]
    return found


def kill_writers(git: Git, *, times: int, whole_tree: bool) -> list[str]:
    """Let writers commit and kill each at a moment that chance chooses; what they reported."""
    chance = random.Random(20261130 + whole_tree)
    reported: list[str] = []
    number = 0
    with start(FORKER, git.folder) as forker:
        assert forker.stdin is not None
        assert forker.stdout is not None
        for _ in range(times):
            forker.stdin.write(f"{number}\n")
            forker.stdin.flush()
            child = int(forker.stdout.readline())
            if chance.random() < 0.8:
                assert forker.stdout.readline() == "committed\n"
            time.sleep(chance.uniform(0, 0.05))
            for pid in [child, *(descendants(child) if whole_tree else [])]:
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
            while (line := forker.stdout.readline()) == "committed\n":
                pass
            assert line.startswith("dead"), line
            pairs = filter(None, line.removeprefix("dead").strip().split(","))
            reported += [pair.split()[0] for pair in pairs]
            # The one after the last that was reported may or may not have been committed.
            listing = git("ls-tree", "--name-only", "main", "runs/demo/first/task/current/")
            number = max((int(name.rpartition("/r")[2]) for name in listing.split()), default=0)
            git.fsck()
        _, errors = forker.communicate(timeout=60)
        assert (forker.returncode, errors) == (0, "")
    return reported


@pytest.mark.slow
@pytest.mark.parametrize("whole_tree", [False, True])
def test_a_writer_killed_at_any_moment_harms_nothing(git: Git, whole_tree: bool) -> None:
    """With its git child or without: what was reported is there, all else is as before."""
    make_busy(git)
    before = git.state()
    with contextlib.closing(Ledger.open(git.folder, System())) as ledger:
        ledger.commit(run_files(), "plan\n")
        reported = kill_writers(git, times=40, whole_tree=whole_tree)
        assert ledger.sync("runs/demo/first"), ledger.warnings
        assert ledger.warnings == []
    assert len(reported) > 30
    check_history(git, reported)
    assert git.state() == before
    for name in git("ls-tree", "-r", "--name-only", "main", "runs").split():
        assert (
            git.run("cat-file", "blob", f"main:{name}").stdout == (git.folder / name).read_bytes()
        )
    left = [path for path in git.folder.glob(".git/**/*.lock") if path.name != "ledger.lock"]
    assert left == []
