"""Lock files that somebody left behind: healed where they are ours, named where they are not."""

from __future__ import annotations

import fcntl
from pathlib import Path

import pytest
from tests.crashes.world import (
    NO_SANDBOX,
    SMALL,
    Before,
    Fault,
    World,
    check_clean,
    check_whole,
    finish,
)

NONE = Before(records={}, spooled={})


def leave(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.touch()
    return path


@pytest.mark.slow
def test_a_strangers_lock_on_the_branch_stops_a_run_and_is_named(world: World) -> None:
    lock = leave(world.ledger / ".git/refs/heads/main.lock")
    said = world.run(*SMALL, *NO_SANDBOX, check=2)
    assert f"refs/heads/main is locked: {lock}" in said.err
    assert "remove that file" in said.err
    assert lock.exists()
    assert world.runs() == []
    lock.unlink()
    finish(world)
    check_whole(world, NONE)


@pytest.mark.slow
def test_a_strangers_lock_in_the_middle_of_a_run_costs_nothing_that_was_finished(
    world: World,
) -> None:
    """The plan is committed, then the branch is locked: what is done is kept until `resume`."""
    driver = world.ledger / "suites/mini/driver/agent.py"
    lock = world.ledger / ".git/refs/heads/main.lock"
    driver.write_text(driver.read_text() + f"open({str(lock)!r}, 'w')\n")
    said = world.run(*SMALL, *NO_SANDBOX, check=2)
    assert str(lock) in said.err
    assert "trialbook resume" in said.err
    before = Before.of(world)
    assert set(before.spooled.values()) == {"accepted"}
    driver.write_text(driver.read_text().replace("open(", "id("))
    lock.unlink()
    refused = world.run("resume", world.runs()[0], check=2)
    assert "driver/agent.py" in refused.err
    assert world.spooled() == before.spooled


@pytest.mark.slow
def test_a_strangers_lock_on_the_index_delays_only_the_index(world: World) -> None:
    lock = leave(world.ledger / ".git/index.lock")
    said = world.run(*SMALL, *NO_SANDBOX, check=0)
    assert str(lock) in said.err
    assert "commits are safe" in said.err
    assert "remove the file" in said.err
    (run,) = world.runs()
    assert f"resume {run}" in said.err
    assert len(world.trials()) == 2
    lock.unlink()
    world.run("resume", run, check=0)
    check_whole(world, NONE)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["index.lock", "refs/heads/main.lock"])
def test_a_lock_of_ours_that_a_killed_process_left_heals_itself(world: World, name: str) -> None:
    """The moment between taking the lock and giving it back, found by its call."""
    lock = world.ledger / ".git" / name
    number = 0
    while not lock.exists():
        number += 1
        world.run(*SMALL, *NO_SANDBOX, fault=Fault(at=number, below=(str(lock),)))
        assert number < 4
    finish(world)
    check_whole(world, NONE)


@pytest.mark.slow
def test_the_lock_file_of_a_dead_process_is_no_lock(world: World) -> None:
    leave(world.ledger / ".git/trialbook/ledger.lock")
    world.run(*SMALL, *NO_SANDBOX, fault=Fault(at=330))
    before = Before.of(world)
    (run,) = world.runs()
    assert (world.ledger / f".git/trialbook/runs/mini/{run}/lock").exists()
    finish(world)
    check_whole(world, before)


@pytest.mark.slow
def test_a_run_that_another_process_works_on_is_left_alone(world: World) -> None:
    world.run(*SMALL, *NO_SANDBOX, fault=Fault(at=330))
    (run,) = world.runs()
    with (world.ledger / f".git/trialbook/runs/mini/{run}/lock").open("a") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        said = world.run("resume", run, check=2)
        assert "being worked on by another process" in said.err
        assert "wait for it" in said.err
    finish(world)
    check_clean(world)
