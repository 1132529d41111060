"""What a user does with git while a run goes on: nothing of either is lost.

The agent of the run's first trial plays the user: it runs git in the ledger's repository.
"""

from __future__ import annotations

import textwrap

import pytest
from tests.crashes.world import NO_SANDBOX, SMALL, Before, Said, World, check_clean, check_whole

NONE = Before(records={}, spooled={})


def meanwhile(world: World, script: str) -> Said:
    """A run during whose first trial a shell script runs in the ledger's folder."""
    agent = world.ledger / "suites/mini/driver/agent.py"
    code = f"""
        import os, subprocess
        if repetition == "1":
            done = subprocess.run(
                ["sh", "-e", "-c", {script!r}], cwd={str(world.ledger)!r}, capture_output=True,
                env={world.environ!r},
            )
            print(done)
            if done.returncode:
                raise SystemExit(3)
        """
    agent.write_text(agent.read_text() + textwrap.dedent(code))
    world.git("commit", "-q", "-a", "-m", "play the user")
    world.git("branch", "-q", "before")
    return world.run(*SMALL, *NO_SANDBOX)


def status(world: World) -> list[str]:
    return world.git("status", "--porcelain").splitlines()


@pytest.mark.slow
@pytest.mark.parametrize(
    "script",
    [
        "git commit -q --allow-empty -m mine",
        "git commit -q --amend -m 'plan, in my words'",
        "git commit -q --allow-empty -m one; git rebase -q --autostash --force-rebase HEAD~2",
        "git gc -q --prune=now",
        "git repack -q -a -d",
        "git pack-refs --all",
        "git stash -q --include-untracked && git stash pop -q --index",
        "git switch -q -c other && git switch -q main",
        "git branch -q -m trunk && git branch -q -m main",
    ],
)
def test_what_leaves_the_run_in_history_changes_nothing(world: World, script: str) -> None:
    said = meanwhile(world, script)
    assert said.code == 0, said
    assert "warning" not in said.err, said
    assert "untracked.txt" in world.git("status", "--porcelain")
    records = world.trials()
    assert [record["outcome"] for record in records.values()] == ["accepted"] * 2
    check_clean(world)


@pytest.mark.slow
@pytest.mark.parametrize("script", ["git commit -q --allow-empty -m mine", "git gc -q --prune=now"])
def test_what_only_adds_verifies_afterwards(world: World, script: str) -> None:
    assert meanwhile(world, script).code == 0
    check_whole(world, NONE)


@pytest.mark.slow
def test_a_plan_that_was_committed_anew_is_seen_by_verify(world: World) -> None:
    """The run goes on, since nothing may be lost; but it is no proof of anything any more."""
    assert meanwhile(world, "git commit -q --amend -m 'plan, in my words'").code == 0
    said = world.run("verify", check=1)
    assert "plan" in said.out


def test_a_reset_to_before_the_run_is_said_and_made_up_for(world: World) -> None:
    said = meanwhile(world, "git reset -q --hard before")
    assert said.code == 0, said
    assert "had lost 2 files of this run" in said.err
    assert "they are back with the next commit" in said.err
    assert [record["outcome"] for record in world.trials().values()] == ["accepted"] * 2
    check_clean(world)


@pytest.mark.slow
def test_a_branch_that_was_deleted_is_not_made_anew_and_nothing_is_lost(world: World) -> None:
    said = meanwhile(world, "git switch -q -c other before && git branch -q -D main")
    assert said.code == 2, said
    assert "refs/heads/main, which the run commits to, is gone" in said.err
    (hint,) = [line for line in said.err.splitlines() if line.startswith("hint:")]
    command = hint.split("`")[1]
    assert command.startswith("git update-ref refs/heads/main ")
    assert world.git("branch", "--format=%(refname:short)").split() == ["before", "other"]
    before = world.spooled()
    # The next one had begun: it was stopped, or was done before it could be.
    assert "accepted" in before.values()
    assert set(before.values()) <= {"accepted", "cancelled"}

    world.git(*command.split()[1:])
    world.git("switch", "-q", "main")
    (run,) = world.runs()
    world.run("resume", run, check=0)
    check_whole(world, Before(records={}, spooled=before))


def test_commits_go_on_to_the_branch_on_which_the_run_began(world: World) -> None:
    world.git("commit", "-q", "-m", "staged")
    said = meanwhile(world, "git switch -q -c other before")
    assert said.code == 0, said
    assert world.git("rev-parse", "other") == world.git("rev-parse", "before")
    assert world.runs("other") == []
    assert status(world) == ["?? untracked.txt"]
    assert not list((world.ledger / "runs/mini").glob("*"))
    world.git("switch", "-q", "main")
    check_whole(world, NONE)


@pytest.mark.slow
def test_a_work_tree_of_another_branch_in_the_same_repository_is_left_alone(world: World) -> None:
    side = world.top / "side"
    world.git("worktree", "add", "-q", "-b", "side", str(side))
    (side / "README.md").write_text("mine\n")
    said = meanwhile(world, f"git -C {side} add README.md && git -C {side} commit -q -m mine")
    assert said.code == 0, said
    assert world.git("-C", str(side), "status", "--porcelain") == ""
    assert world.runs("side") == []
    check_whole(world, NONE)


@pytest.mark.slow
def test_a_detached_head_that_the_user_attaches_is_left_alone(world: World) -> None:
    world.git("checkout", "-q", "--detach")
    said = meanwhile(world, "git switch -q main")
    assert said.code == 2, said
    assert "HEAD was detached when the run began and now names refs/heads/main" in said.err
    (hint,) = [line for line in said.err.splitlines() if line.startswith("hint:")]
    assert "trialbook resume" in hint
    assert world.runs("main") == []
    before = world.spooled()
    # The next one had begun: it was stopped, or was done before it could be.
    assert "accepted" in before.values()
    assert set(before.values()) <= {"accepted", "cancelled"}
    world.git(*hint.split("`")[1].split()[1:])
    (run,) = world.runs()
    world.run("resume", run, check=0)
    check_whole(world, Before(records={}, spooled=before))


@pytest.mark.slow
def test_a_merge_with_conflicts_that_is_under_way_goes_on_afterwards(world: World) -> None:
    (world.ledger / "runs/README.md").write_text("ours\n")
    world.git("commit", "-q", "-a", "-m", "ours")
    world.git("branch", "-q", "theirs", "HEAD~1")
    world.git("worktree", "add", "-q", str(world.top / "side"), "theirs")
    (world.top / "side/runs/README.md").write_text("theirs\n")
    world.git("-C", str(world.top / "side"), "commit", "-q", "-a", "-m", "theirs")
    said = meanwhile(world, "! git merge -q theirs")
    assert said.code == 0, said
    assert "UU runs/README.md" in status(world)
    (world.ledger / "runs/README.md").write_text("both\n")
    world.git("commit", "-q", "-a", "-m", "merged")
    check_whole(world, NONE)
