from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import git, trialbook


@pytest.fixture
def guarded(ledger: Path) -> Path:
    """The suite `mini` with its second task held out."""
    path = ledger / "suites/mini/tasks/second/task.yaml"
    path.write_text(path.read_text() + "split: held-out\n")
    git(ledger, "commit", "-q", "-am", "hold one back")
    return ledger


def plan_of(ledger: Path, *options: str) -> dict[str, object]:
    done = trialbook(ledger, "eval", "mini", "--dry-run", "--json", *options)
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_held_out_tasks_are_left_out_of_ordinary_runs(guarded: Path) -> None:
    plan = plan_of(guarded)
    assert sorted(plan["tasks"]) == ["first"]  # type: ignore[call-overload]
    assert (plan["kind"], plan["held_out_opened"]) == ("development", 0)


def test_asking_for_one_by_name_is_refused_with_the_way_to_open_it(guarded: Path) -> None:
    told = trialbook(guarded, "eval", "mini", "--task", "second", check=2).stderr
    assert "held out until a decision: second" in told
    assert "add --decision" in told


@pytest.mark.slow
def test_each_opening_is_in_the_ledger_and_counted(guarded: Path) -> None:
    few = ("-r", "1", "-c", "good", "--sandbox", "none")
    first = trialbook(guarded, "eval", "mini", "--decision", "--json", *few)
    run = json.loads(first.stdout)["run"]
    plan = json.loads((guarded / f"runs/{run}/plan.json").read_text())
    assert (plan["kind"], plan["held_out_opened"]) == ("decision", 1)
    assert sorted(plan["tasks"]) == ["first", "second"]
    trialbook(guarded, "eval", "mini", *few)
    again = trialbook(guarded, "eval", "mini", "--decision", *few)
    assert "held-out tasks: run 2 times now, this one included" in again.stderr
    trialbook(guarded, "verify")
    assert (
        "held-out tasks: run 3 times"
        in trialbook(guarded, "eval", "mini", "--decision", "--dry-run").stderr
    )
