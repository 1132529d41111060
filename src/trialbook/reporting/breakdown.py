"""Accepted slots by what tasks are declared to be: category, split, contamination."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from trialbook.model.plan import PlannedTask
from trialbook.reporting.arms import Arm, TaskSlots, arm
from trialbook.reporting.results import RunResults
from trialbook.stats.views import Counts, count

KINDS: Mapping[str, Callable[[PlannedTask], str]] = {
    "category": lambda task: task.category,
    "split": lambda task: task.split,
    "contamination": lambda task: task.contamination,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """The tasks of one class; ``counts`` by configuration, in the plan's order."""

    kind: str
    name: str
    tasks: int
    counts: Mapping[str, Counts]


def breakdown(results: RunResults) -> tuple[Part, ...]:
    """Every class of every kind that divides the run's tasks; what all tasks share is left out."""
    arms = [arm([results], name) for name in results.plan.configurations]
    known = [one for one in arms if one is not None]
    return tuple(part for kind in KINDS for part in _parts(results, kind, known))


def _parts(results: RunResults, kind: str, arms: Sequence[Arm]) -> Iterator[Part]:
    of = KINDS[kind]
    names = {name: of(task) for name, task in results.plan.tasks.items()}
    classes = sorted(set(names.values()))
    if len(classes) == 1:
        return
    for one in classes:
        yield Part(
            kind=kind,
            name=one,
            tasks=sum(name == one for name in names.values()),
            counts={side.name: _counts(side.tasks, names, one) for side in arms},
        )


def _counts(tasks: Sequence[TaskSlots], names: Mapping[str, str], one: str) -> Counts:
    return count([chain for task in tasks if names[task.task] == one for chain in task.chains])
