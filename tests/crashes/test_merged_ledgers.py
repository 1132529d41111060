"""Two machines that each add to a ledger: their branches merge without conflict, and verify."""

from __future__ import annotations

import json
import subprocess
from dataclasses import replace
from itertools import permutations

import pytest
from tests.crashes.world import NO_SANDBOX, SMALL, World, check_clean


def clone(world: World, name: str) -> World:
    """The same ledger on another machine, with a cache of its own."""
    made = replace(world, top=world.top / name)
    made.top.mkdir()
    world.git("clone", "-q", str(world.ledger), str(made.ledger))
    return made


def push(one: World, into: World, branch: str) -> None:
    one.git("push", "-q", str(into.ledger), f"HEAD:refs/heads/{branch}")


def merge(world: World, *branches: str) -> None:
    """As a user would; a conflict fails the test."""
    done = subprocess.run(
        ["git", "merge", "-q", "--no-edit", "--no-ff", *branches],
        cwd=world.ledger, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0, done


def correct(world: World, reason: str, run: str) -> None:
    """Everything that people may add to a run that is there: corrections of the same trials."""
    told = ("--reason", reason)
    world.run("amend", f"{run}/first/good/r1", *told, "--note", reason, check=0)
    shown = json.loads(world.run("show", f"{run}/first/good/r2", "--json", check=0).out)
    if shown["standing"]["outcome"] == "accepted":
        evidence = ("--outcome", "provider_outage", "--evidence", reason)
        world.run("amend", f"{run}/first/good/r2", *told, *evidence, check=0)
    world.run("regrade", run, "--reason", reason, check=0)
    where = ("incident", "open", run, "--kind", "provider", *told, "--json")
    name = json.loads(world.run(*where, check=0).out)["incident"]
    world.run("incident", "close", name, "--decision", "keep", *told, check=0)


def run_and_rerun(world: World) -> str:
    """A run of this machine's own, in which a trial is amended and then run again."""
    world.run(*SMALL, *NO_SANDBOX, check=0)
    run = world.runs()[-1]
    correct(world, "the provider was down", run)
    world.run("rerun", run, check=0)
    assert any("r2.rerun1/trial.json" in name and run in name for name in world.names())
    return run


@pytest.fixture
def origin(world: World) -> World:
    """A ledger with a closed run, and nothing uncommitted."""
    suite = world.ledger / "suites/mini/suite.yaml"
    suite.write_text(suite.read_text() + "rerun: {provider_outage: 1}\n")
    world.git("commit", "-q", "-a", "-m", "allow reruns")
    world.run(*SMALL, *NO_SANDBOX, check=0)
    return world


def check_both(world: World, *others: World) -> None:
    """All that any of them added is there, with the same bytes, and follows."""
    for other in others:
        for name in other.names():
            mine = world.git("rev-parse", f"HEAD:{name}")
            assert mine == other.git("rev-parse", f"HEAD:{name}"), name
    check_clean(world)
    world.run("verify", check=0)


@pytest.mark.slow
@pytest.mark.parametrize("first", ["a", "b"])
def test_corrections_of_the_same_trials_merge_in_either_direction(
    origin: World, first: str
) -> None:
    a, b = clone(origin, "a"), clone(origin, "b")
    (run,) = origin.runs()
    correct(a, "seen by a", run)
    correct(b, "seen by b", run)
    into, other = (a, b) if first == "a" else (b, a)
    push(other, into, "other")
    merge(into, "other")
    check_both(into, a, b)
    shown = into.run("show", f"{run}/first/good/r1", check=0).out
    assert "seen by a" in shown
    assert "seen by b" in shown


@pytest.mark.slow
def test_after_a_merge_results_follow_again_from_all_records(origin: World) -> None:
    """The next correction writes results that know of both sides."""
    a, b = clone(origin, "a"), clone(origin, "b")
    (run,) = origin.runs()
    correct(a, "seen by a", run)
    correct(b, "seen by b", run)
    push(b, a, "other")
    merge(a, "other")
    correct(a, "seen after", run)
    check_clean(a)
    a.run("verify", check=0)
    a.run("site", "build", check=0)


@pytest.mark.slow
def test_runs_of_the_same_suite_with_the_same_seed_merge_with_all_their_reruns(
    origin: World,
) -> None:
    a, b = clone(origin, "a"), clone(origin, "b")
    assert run_and_rerun(a) != run_and_rerun(b)
    push(b, a, "other")
    merge(a, "other")
    check_both(a, a, b)
    assert len(a.runs()) == 3
    rows = json.loads(a.run("status", "--json", check=0).out)
    # Of all that was scheduled: what was run again counts as what it was first.
    assert [row["accepted"] for row in rows] == [2, 1, 1]


@pytest.mark.slow
def test_a_slot_that_both_run_again_is_merged_up_to_there_as_the_page_on_merging_says(
    origin: World,
) -> None:
    a, b = clone(origin, "a"), clone(origin, "b")
    (run,) = origin.runs()
    for one in (a, b):
        correct(one, "the provider was down", run)
        one.run("rerun", run, check=0)
    push(b, a, "other")
    done = subprocess.run(
        ["git", "merge", "-q", "--no-edit", "other"],
        cwd=a.ledger, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    assert "r2.rerun1/trial.json" in done.stdout
    assert "a merge is not finished" in a.run("verify", check=0).out
    # Whoever settles it by taking one side is told, by a code of its own, and what to do.
    taken = a.copy(a.top / "taken")
    taken.git("checkout", "-q", "--ours", ".")
    taken.git("add", "-A")
    taken.git("commit", "-q", "-m", "take ours")
    said = taken.run("verify", "--explain", check=1).out
    assert "trial-twice" in said
    assert "only up to the parent" in " ".join(said.split())
    # What the page says: all of the other branch that came before.
    a.git("merge", "--abort")
    path = f":(glob)runs/**/{run}/first/good/r2.rerun1/trial.json"
    added = a.git("log", "-1", "--format=%H", "--diff-filter=A", "other", "--", path)
    merge(a, f"{added.strip()}^")
    check_clean(a)
    a.run("verify", check=0)


@pytest.mark.slow
def test_a_rerun_waits_for_the_merge_of_what_was_fetched(origin: World) -> None:
    a, b = clone(origin, "a"), clone(origin, "b")
    (run,) = origin.runs()
    correct(a, "the provider was down", run)
    b.git("fetch", "-q", str(a.ledger), "HEAD:refs/remotes/a/main")
    merge(b, "a/main")
    a.run("rerun", run, check=0)
    b.git("fetch", "-q", str(a.ledger), "HEAD:refs/remotes/a/main")
    refused = b.run("rerun", run, check=2).err
    assert "a/main has 1 trial of" in refused
    assert "r2.rerun1" in refused
    merge(b, "a/main")
    # Nothing is left to do, and that is told by the plan's policy, not by the branch.
    assert "may be run again" in b.run("rerun", run, check=2).err
    check_clean(b)
    b.run("verify", check=0)


@pytest.mark.slow
def test_one_run_that_both_go_on_with_after_a_crash_is_the_one_thing_that_cannot_merge(
    world: World,
) -> None:
    """Two records of one trial are a contradiction that git shows; nobody decides it silently."""
    world.git("commit", "-q", "-m", "staged")
    agent = world.ledger / "suites/mini/driver/agent.py"
    agent.write_text(agent.read_text() + "import os; print(os.getpid())\n")
    world.git("commit", "-q", "-a", "-m", "an agent that never does the same")
    a = clone(world, "a")
    plan = a.run(*SMALL, *NO_SANDBOX, "--json", check=0)
    first = json.loads(plan.out)["run"].split("/")[1]
    commits = a.git("log", "--format=%H %s", "--reverse").splitlines()
    (planned,) = [line.split()[0] for line in commits if " plan " in line]
    a.git("branch", "planned", planned)
    b = clone(a, "b")
    b.git("reset", "-q", "--hard", "origin/planned")
    # Whoever has fetched the other's trials is kept from it.
    refused = b.run("resume", first, check=2).err
    assert "origin/main has" in refused
    assert "`git merge origin/main` first" in refused
    b.git("remote", "remove", "origin")
    b.run("resume", first, check=0)
    push(b, a, "other")
    done = subprocess.run(
        ["git", "merge", "-q", "--no-edit", "other"],
        cwd=a.ledger, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 1
    a.git("merge", "--abort")
    check_clean(a)
    a.run("verify", check=0)


@pytest.mark.slow
@pytest.mark.parametrize("order", list(permutations("abc"))[:4], ids="".join)
def test_many_machines_merge_at_once(origin: World, order: tuple[str, ...]) -> None:
    """With git's octopus, in different orders."""
    machines = {name: clone(origin, name) for name in order}
    for name, machine in machines.items():
        run_and_rerun(machine)
        correct(machine, f"seen by {name}", origin.runs()[0])
        push(machine, origin, name)
    merge(origin, *order)
    assert len(origin.git("log", "-1", "--format=%P").split()) == 4
    check_both(origin, *machines.values())
    for machine in machines.values():
        machine.git("pull", "-q", "--ff-only", str(origin.ledger), "main")
        check_both(machine, origin)


@pytest.mark.slow
def test_crosswise_merges_over_and_over_stay_whole(origin: World) -> None:
    a, b = clone(origin, "a"), clone(origin, "b")
    (run,) = origin.runs()
    for number in range(3):
        correct(a, f"a {number}", run)
        correct(b, f"b {number}", run)
        push(a, b, f"a{number}")
        push(b, a, f"b{number}")
        merge(a, f"b{number}")
        merge(b, f"a{number}")
        check_both(a, b)
    assert sorted(a.names()) == sorted(b.names())
