"""Held-out tasks: kept back until a decision, so that nobody tunes a configuration to them."""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path

from trialbook.errors import TrialbookError, UserError
from trialbook.model.plan import DECISION, Plan
from trialbook.model.suite import Split, Suite, Task
from trialbook.reporting.wording import number_of
from trialbook.storage.reader import Reader

WORN_AFTER = 3
"""Openings after which the tasks are no longer quite unseen."""


def allowed(tasks: tuple[Task, ...], kind: str, *, named: Collection[str]) -> tuple[Task, ...]:
    """The tasks that a plan of this kind may run.

    Raises:
        UserError: a held-out task was asked for by name, or nothing else is left.
    """
    if kind == DECISION:
        return tasks
    held = [task.name for task in tasks if task.split is Split.HELD_OUT]
    wanted = [name for name in held if name in named]
    if wanted or len(held) == len(tasks):
        raise UserError(
            f"held out until a decision: {', '.join(wanted or held)}",
            hint="add --decision to run held-out tasks; each time is recorded in the ledger",
        )
    return tuple(task for task in tasks if task.split is not Split.HELD_OUT)


def openings(root: Path, suite: Suite, say: Callable[[str], None]) -> int:
    """How often the suite's held-out tasks were run, this time included; 0 if there are none now.

    ``say`` is told, since each time makes them a little less unseen.
    """
    if all(task.split is not Split.HELD_OUT for task in suite.tasks):
        return 0
    count = 1 + _before(root, suite.name)
    worn = "; they are no longer quite unseen" if count > WORN_AFTER else ""
    say(f"held-out tasks: run {number_of(count, 'time')} now, this one included{worn}")
    return count


def _before(root: Path, suite: str) -> int:
    try:
        reader = Reader.open(root)
    except TrialbookError:
        return 0  # No repository, so no run.
    try:
        plans = [reader.plan(run) for run in reader.runs() if run.suite == suite]
    finally:
        reader.close()
    return sum(opens_held_out(plan) for plan in plans)


def opens_held_out(plan: Plan) -> bool:
    """Whether a plan runs held-out tasks."""
    return any(task.split == Split.HELD_OUT for task in plan.tasks.values())
