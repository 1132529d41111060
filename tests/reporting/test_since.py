"""What moved between two runs: counted by task, for configurations that both have."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tests.recorded import a_bundle, a_configuration, a_plan, a_trial, new_ledger, record_run

from trialbook.model.outcome import Outcome
from trialbook.reporting.since import Since, last_two, moved_said, since, tally_said
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.rows import rows

SUITE = "instruction-drift"
FIRST, SECOND, THIRD = (f"2026120{day}T120000Z-00000{day}" for day in (1, 2, 3))


def record(
    root: Path, run: str, outcomes: Mapping[str, Outcome], *, closed: bool = True, **changes: object
) -> None:
    """A run of one configuration; each task ends the same way in both repetitions."""
    setup = a_configuration(**changes)
    plan = a_plan({"current": setup}, list(outcomes), repetitions=2, run=run)
    ended = [a_trial(plan, slot.key, outcomes[slot.task]) for slot in plan.schedule]
    record_run(root, plan, [a_bundle(trial) for trial in ended], closed=closed)


def found(root: Path, before: str, after: str) -> Since:
    reader = Reader.open(root)
    pair = RunRef(SUITE, before), RunRef(SUITE, after)
    return since(reader, *pair, {run: rows(reader, run) for run in pair})


def test_tasks_that_moved_are_told_losses_first_and_the_others_are_counted(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    yes, no = Outcome.ACCEPTED, Outcome.REJECTED
    record(root, FIRST, {"a": no, "b": yes, "c": yes})
    record(root, SECOND, {"a": yes, "b": no, "c": yes})
    moved = found(root, FIRST, SECOND)
    assert [(one.task, tally_said(one), one.up) for one in moved.moved] == [
        ("b", "2/2 to 0/2", False),
        ("a", "0/2 to 2/2", True),
    ]
    assert (moved.same, moved.configurations, moved.changed) == (1, ("current",), ())
    assert moved_said(moved) == "1 went down and 1 went up of 3 results."


def test_what_has_no_valid_execution_on_one_side_did_not_move(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    record(root, FIRST, {"a": Outcome.ACCEPTED, "b": Outcome.ACCEPTED})
    record(root, SECOND, {"a": Outcome.PROVIDER_OUTAGE, "b": Outcome.ACCEPTED})
    moved = found(root, FIRST, SECOND)
    assert (moved.moved, moved.same) == ((), 1)
    assert moved_said(moved) == "Nothing moved: 1 result as before."


def test_a_configuration_that_is_not_what_it_was_is_named(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    record(root, FIRST, {"a": Outcome.ACCEPTED})
    record(root, SECOND, {"a": Outcome.ACCEPTED}, digest="0" * 64)
    assert found(root, FIRST, SECOND).changed == ("current",)


def test_the_last_two_are_closed_and_of_the_same_rules(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    record(root, FIRST, {"a": Outcome.ACCEPTED})
    runs = [RunRef(SUITE, name) for name in (FIRST, SECOND, THIRD)]
    assert last_two(Reader.open(root), runs[:1], 10) is None
    record(root, SECOND, {"a": Outcome.ACCEPTED}, closed=False)
    assert last_two(Reader.open(root), runs[:2], 10) is None
    record(root, THIRD, {"a": Outcome.REJECTED})
    assert last_two(Reader.open(root), runs, 10) == (runs[0], runs[2])
    assert last_two(Reader.open(root), runs, 2) is None


def test_a_draft_and_another_protocol_number_are_passed_over(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    plan = a_plan({"current": a_configuration()}, ["a"], repetitions=1)
    for run, changes in (
        (FIRST, {}),
        (SECOND, {"protocol": 2}),
        (THIRD, {"status": "draft"}),
    ):
        one = replace(plan, run=run, **changes)
        ended = [a_trial(one, slot.key, Outcome.ACCEPTED) for slot in one.schedule]
        record_run(root, one, [a_bundle(trial) for trial in ended])
    runs = [RunRef(SUITE, name) for name in (FIRST, SECOND, THIRD)]
    assert last_two(Reader.open(root), runs, 10) is None
