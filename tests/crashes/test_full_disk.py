"""No space left: the message says so and what to do, and `resume` goes on when there is some."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest
from tests.crashes import moments
from tests.crashes.faults import FILLING
from tests.crashes.test_kills import calls_of, undisturbed
from tests.crashes.world import NO_SANDBOX, SMALL, Before, Fault, Said, World, check_whole, finish

PARTS = 8
_NOT_THE_AGENTS = {"environment_failure", "grader_failure"}


def check_said(world: World, said: Said) -> None:
    """What went wrong, where, and what to do; and no traceback."""
    assert said.code in {0, 2}, said
    assert "Traceback" not in said.err, said
    if said.code == 0 and "warning: " not in said.err:
        # So late that there was nothing left to write.
        check_whole(world, Before.of(world))
        return
    if said.code == 2:
        assert "error: " in said.err, said
        assert "hint: " in said.err, said
        if world.runs():
            assert f"`trialbook resume {world.runs()[-1]}` goes on" in said.err, said
    assert "space" in said.err or "too large" in said.err, said


def fill_at(world: World, numbers: Iterable[int]) -> None:
    """At each of these calls, and from then on, the disk that the ledger is on is full."""
    for number in numbers:
        one = world.copy(world.top.parent / f"{world.top.name}-full-{number}")
        fault = Fault(at=number, kind="full", below=(str(one.ledger),))
        said = one.run(*SMALL, *NO_SANDBOX, fault=fault)
        try:
            check_said(one, said)
            before = Before.of(one)
            finish(one)
            check_whole(one, before)
        except AssertionError as error:
            raise AssertionError(f"full at call {number}: {error}") from error
        shutil.rmtree(one.top)


@pytest.mark.slow
def test_a_disk_that_is_full_at_some_call_is_named_and_the_run_goes_on_later(world: World) -> None:
    calls = calls_of(world, "ledger")
    fill_at(world, range(calls // 6, calls - 5, calls // 3))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_a_disk_that_is_full_at_each_kind_of_write(world: World, part: int) -> None:
    """At the first and the last call of each function on each part of the ledger."""
    calls, top = undisturbed(world, "ledger")
    kinds = moments.kinds(calls, top)
    writing = [numbers for (name, _), numbers in kinds.items() if name in FILLING]
    assert len(writing) > 20
    # What comes after the last two is nothing that the ledger would miss.
    chosen = {number for numbers in writing for number in (numbers[0], numbers[-1])}
    fill_at(world, sorted(chosen - {len(calls) - 1, len(calls)})[part::2])


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_disk_that_is_full_at_any_call(world: World, part: int) -> None:
    calls = calls_of(world, "ledger")
    fill_at(world, range(1 + part, calls - 2, PARTS))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_disk_without_space_for_workspaces_is_no_fault_of_the_agent(world: World) -> None:
    """Trials that could not be carried out count as that, with the reason; nothing crashes."""
    calls = calls_of(world, "cache", "work")
    for number in range(3, calls, 23):
        one = world.copy(world.top.parent / f"{world.top.name}-work-{number}")
        inside = (str(one.cache), str(one.work))
        said = one.run(*SMALL, *NO_SANDBOX, fault=Fault(at=number, kind="full", below=inside))
        assert said.code in {0, 2}, (number, said)
        if said.code == 2:
            assert "hint: " in said.err, (number, said)
            assert "space" in said.err, (number, said)
        for record in one.trials().values():
            if record["outcome"] != "accepted":
                assert record["outcome"] in _NOT_THE_AGENTS, (number, record)
                assert "space" in record["reason"], (number, record)
        finish(one)
        one.run("verify", check=0)
        shutil.rmtree(one.top)


@pytest.mark.slow
def test_files_may_be_limited_in_size_by_the_system(world: World) -> None:
    """What an ordinary user has at hand to make writing fail, in the program and in git alike."""
    said = world.run(*SMALL, *NO_SANDBOX, file_limit=2000)
    check_said(world, said)
    before = Before.of(world)
    finish(world)
    check_whole(world, before)


@pytest.fixture
def small_disk(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A file system of a few megabytes; only the administrator can make one."""
    folder = tmp_path_factory.mktemp("small")
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(folder)],
        capture_output=True, check=False,
    )  # fmt: skip
    if made.returncode:
        pytest.skip("needs to be able to mount a file system")
    try:
        yield folder
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("left_kilobytes", [0, 8, 24, 40, 60, 100, 160])
def test_a_disk_that_is_really_full(world: World, small_disk: Path, left_kilobytes: int) -> None:
    """Ledger, cache and workspaces on one disk with next to no space, git's children included."""
    one = world.copy(small_disk / "top")
    one.run(*SMALL, *NO_SANDBOX, check=0)
    runs = len(one.runs())
    filler = small_disk / "filler"
    facts = os.statvfs(small_disk)
    filler.write_bytes(b"x" * max(0, facts.f_bavail * facts.f_frsize - left_kilobytes * 1024))
    said = one.run(*SMALL, *NO_SANDBOX)
    assert "Traceback" not in said.err, said
    assert said.code in {0, 2}, said
    failed = [r for r in one.trials().values() if r["outcome"] not in {"accepted", "cancelled"}]
    assert all("space" in record["reason"] for record in failed), failed
    if said.code == 2:
        assert "hint: " in said.err, said
        assert "space" in said.err, said
    filler.unlink()
    if len(one.runs()) == runs:
        one.run(*SMALL, *NO_SANDBOX, check=0)
    else:
        finish(one)
    assert one.git("status", "--porcelain", "--", "runs") == ""
    one.run("verify", check=0)
