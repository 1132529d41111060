"""A run that is killed at one of its calls, any of them, goes on as if nothing had been."""

from __future__ import annotations

import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest
from tests.crashes import moments
from tests.crashes.world import NO_SANDBOX, SMALL, Before, Fault, World, check_whole, finish

PARTS = 12
"""Into so many tests the exhaustive one is cut."""


def killed(code: int) -> bool:
    return code == -9


def kill_at(world: World, calls: Iterable[int], kind: str, below: tuple[str, ...] = ()) -> int:
    """Each call in a ledger of its own; gives how many of the runs were killed."""
    count = 0
    for number in calls:
        one = world.copy(world.top.parent / f"{world.top.name}-{kind}-{number}")
        inside = tuple(str(one.top / name) for name in below)
        said = one.run(*SMALL, *NO_SANDBOX, fault=Fault(at=number, kind=kind, below=inside))
        if killed(said.code):
            count += 1
            try:
                before = Before.of(one)
                finish(one)
                check_whole(one, before)
                assert one.git("status", "--porcelain") == world.git("status", "--porcelain")
            except AssertionError as error:
                raise AssertionError(f"killed ({kind}) at call {number}: {error}") from error
        shutil.rmtree(one.top)
    return count


def undisturbed(world: World, *below: str) -> tuple[list[str], Path]:
    """Every call that an undisturbed run makes, and the folder of the world that it ran in."""
    one = world.copy(world.top.parent / f"{world.top.name}-undisturbed")
    inside = tuple(str(one.top / name) for name in below)
    one.run(*SMALL, *NO_SANDBOX, fault=Fault(below=inside), check=0)
    calls = one.calls
    check_whole(one, Before(records={}, spooled={}))
    shutil.rmtree(one.top)
    return calls, one.top


def calls_of(world: World, *below: str) -> int:
    """How many calls an undisturbed run makes."""
    return len(undisturbed(world, *below)[0])


@pytest.mark.slow
def test_killed_at_some_calls_nothing_that_was_finished_is_lost(world: World) -> None:
    """Spread over the whole run, from before its plan to after its results."""
    calls = calls_of(world)
    assert calls > 300
    step = calls // 5
    assert kill_at(world, range(step // 2, calls - step // 2, step), "kill") >= 4
    assert kill_at(world, [calls // 2], "tree") == 1


@pytest.mark.slow
@pytest.mark.parametrize("part", range(moments.PARTS))
def test_killed_at_each_kind_of_call(world: World, part: int) -> None:
    """Each function on each part of ledger, cache and workspaces: first, middle and last call."""
    chosen = moments.representative(*undisturbed(world))
    assert len(chosen) > 150
    numbers = chosen[part :: moments.PARTS]
    assert kill_at(world, numbers, "kill") >= len(numbers) - 2
    assert kill_at(world, numbers[part::8], "tree") >= len(numbers[part::8]) - 1


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("kind", ["kill", "tree"])
def test_killed_at_every_call_that_touches_the_ledger(world: World, kind: str, part: int) -> None:
    """With the children of the process or without; every second call for the latter."""
    calls = calls_of(world, "ledger")
    step = PARTS if kind == "kill" else PARTS * 2
    numbers = range(1 + part, calls + 1, step)
    assert kill_at(world, numbers, kind, ("ledger",)) >= len(numbers) - 2


@pytest.mark.slow
@pytest.mark.exhaustive
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(4))
def test_killed_at_calls_outside_of_the_ledger(world: World, part: int) -> None:
    """Where snapshots and workspaces are prepared, for the first time."""
    calls = calls_of(world, "cache", "work")
    numbers = range(1 + part * 2, calls + 1, 8)
    assert kill_at(world, numbers, "kill", ("cache", "work")) >= len(numbers) - 2


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("stride", [pytest.param(5, marks=pytest.mark.exhaustive), 17])
def test_a_run_that_is_killed_again_and_again_ends_whole(
    world: World, stride: int, tmp_path: Path
) -> None:
    """Each resume is killed a little later than the one before, until one gets through."""
    first = world.run(*SMALL, *NO_SANDBOX, fault=Fault(at=400))
    assert killed(first.code)
    (run,) = world.runs()
    before = Before.of(world)
    kills = 0
    for number in range(1, 2000, stride):
        kind = "tree" if number % 2 else "kill"
        said = world.run("resume", run, fault=Fault(at=number, kind=kind))
        now = Before.of(world)
        assert {path: now.records[path] for path in before.records} == before.records
        before = now
        if not killed(said.code):
            assert said.code == 0, said
            break
        kills += 1
    assert kills > 10
    check_whole(world, before)
