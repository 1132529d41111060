"""Folders that cannot be written: named, with what to do, and nothing is lost by it."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.crashes import moments
from tests.crashes.test_full_disk import PARTS
from tests.crashes.test_kills import calls_of, undisturbed
from tests.crashes.world import NO_SANDBOX, SMALL, Before, Fault, Said, World, check_whole, finish

NONE = Before(records={}, spooled={})


@contextmanager
def read_only(folder: Path) -> Iterator[None]:
    """A folder that nobody can write to: by permissions, or, for the administrator, by a mount."""
    folder.mkdir(parents=True, exist_ok=True)
    if os.geteuid():
        modes = {
            path: path.stat().st_mode for path in [folder, *folder.rglob("*")] if path.is_dir()
        }
        for path, mode in modes.items():
            path.chmod(stat.S_IMODE(mode) & ~0o222)
        try:
            yield
        finally:
            for path, mode in modes.items():
                path.chmod(stat.S_IMODE(mode))
        return
    where = str(folder)
    if subprocess.run(
        ["mount", "--bind", where, where], check=False, capture_output=True
    ).returncode:
        pytest.skip("this administrator may not mount, and permissions do not stop one")
    try:
        subprocess.run(["mount", "-o", "remount,bind,ro", where], check=True)
        yield
    finally:
        subprocess.run(["umount", "-l", where], check=True)


def check_said(said: Said, folder: Path) -> None:
    assert "Traceback" not in said.err, said
    assert "error: " in said.err, said
    assert str(folder) in said.err, said
    assert "hint: " in said.err, said
    assert "ermission" in said.err or "Read-only" in said.err, said


@pytest.mark.parametrize("name", [".git/objects", ".git/refs", ".git/trialbook", ".git"])
def test_a_git_folder_that_cannot_be_written_stops_a_run_before_it_begins(
    world: World, name: str
) -> None:
    folder = world.ledger / name
    with read_only(folder):
        said = world.run(*SMALL, *NO_SANDBOX, check=2)
    check_said(said, folder)
    assert world.runs() == []
    finish(world)
    check_whole(world, NONE)


def test_a_read_only_runs_folder_delays_only_the_files(world: World) -> None:
    with read_only(world.ledger / "runs"):
        said = world.run(*SMALL, *NO_SANDBOX, check=0)
        assert str(world.ledger / "runs") in said.err
        assert "commits are safe" in said.err
        assert "permissions" in said.err
        (run,) = world.runs()
        assert f"resume {run}" in said.err
        assert len(world.trials()) == 2
    world.run("resume", run, check=0)
    check_whole(world, NONE)


def test_a_read_only_cache_is_named(world: World) -> None:
    with read_only(world.cache):
        said = world.run(*SMALL, *NO_SANDBOX, check=2)
    check_said(said, world.cache)
    assert world.runs() == []
    finish(world)
    check_whole(world, NONE)


def test_a_read_only_work_folder_is_named(world: World) -> None:
    with read_only(world.work):
        said = world.run(*SMALL, *NO_SANDBOX, check=2)
    check_said(said, world.work)
    assert "TRIALBOOK_WORK" in said.err
    (run,) = world.runs()
    assert f"`trialbook resume {run}` goes on" in said.err
    assert world.trials() == {}
    finish(world)
    assert world.runs() == [run]
    check_whole(world, NONE)


@pytest.mark.slow
def test_objects_that_become_read_only_in_the_middle_of_a_run_cost_nothing(world: World) -> None:
    below = (str(world.ledger / ".git/objects"),)
    calls = calls_of(world, "ledger/.git/objects")
    said = world.run(*SMALL, *NO_SANDBOX, fault=Fault(at=calls // 2, kind="denied", below=below))
    assert said.code == 2
    check_said(said, world.ledger / ".git/objects")
    before = Before.of(world)
    assert before.spooled
    finish(world)
    check_whole(world, before)


def deny_at(world: World, numbers: Iterable[int]) -> None:
    """From each of these calls on, nothing in the ledger may be changed any more."""
    for number in numbers:
        one = world.copy(world.top.parent / f"{world.top.name}-denied-{number}")
        fault = Fault(at=number, kind="denied", below=(str(one.ledger),))
        said = one.run(*SMALL, *NO_SANDBOX, fault=fault)
        try:
            assert said.code in {0, 2}, said
            assert "Traceback" not in said.err, said
            assert said.code == 0 or "hint: " in said.err, said
            assert "ermission" in said.err, said
            before = Before.of(one)
            finish(one)
            check_whole(one, before)
        except AssertionError as error:
            raise AssertionError(f"denied from call {number} on: {error}") from error
        shutil.rmtree(one.top)


@pytest.mark.slow
def test_a_ledger_that_is_read_only_from_each_kind_of_call_on(world: World) -> None:
    """From the middle one of each function on each part of the ledger."""
    calls, top = undisturbed(world, "ledger")
    kinds = moments.kinds(calls, top).values()
    chosen = {numbers[len(numbers) // 2] for numbers in kinds}
    assert len(chosen) > 30
    deny_at(world, sorted(number for number in chosen if number < len(calls) - 2))


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
def test_a_ledger_that_is_read_only_from_any_call_on(world: World, part: int) -> None:
    calls = calls_of(world, "ledger")
    deny_at(world, range(1 + part, calls - 2, PARTS * 2))
