"""What one configuration comes to by itself: its rate with an interval, and how reliable it is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from trialbook.reporting.arms import Arm, TaskSlots
from trialbook.stats.interval import ClusteredRate, Interval, clustered_rate, wilson
from trialbook.stats.paired import mean_of_tasks
from trialbook.stats.passk import (
    OverTasks,
    TaskTrials,
    flakiness_gap,
    pass_hat,
    suite_pass_at,
    suite_pass_hat,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reliability:
    """pass^k and pass@k for one k, over tasks; the interval is that of pass^k.

    None in ``interval``: a task has too few trials, or there are too few tasks.
    """

    k: int
    all_of: OverTasks
    one_of: OverTasks
    interval: Interval | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimates:
    """One configuration among valid executions.

    ``rate`` is None with fewer than five tasks: then the counts say all there is. ``gap`` is what a
    streak of ``reliability[-1].k`` trials loses against a single one.
    """

    configuration: str
    rate: ClusteredRate | None
    reliability: tuple[Reliability, ...]
    gap: Fraction | None


def estimates(arm: Arm) -> Estimates:
    """The estimates of one arm: k is 1, and the number of repetitions if that is more."""
    tasks = arm.trials(TaskSlots.valid)
    most = max((len(task.chains) for task in arm.tasks), default=0)
    ks = sorted({1, most} - {0})
    rate = clustered_rate(tasks)
    return Estimates(
        configuration=arm.name,
        rate=rate,
        reliability=tuple(_reliability(tasks, k, rate) for k in ks),
        gap=flakiness_gap(tasks, most) if most > 1 else None,
    )


def _reliability(tasks: Sequence[TaskTrials], k: int, rate: ClusteredRate | None) -> Reliability:
    found = suite_pass_hat(tasks, k)
    return Reliability(
        k=k,
        all_of=found,
        one_of=suite_pass_at(tasks, k),
        interval=None if rate is None or found.value is None else _interval(tasks, k, rate),
    )


def _interval(tasks: Sequence[TaskTrials], k: int, rate: ClusteredRate) -> Interval | None:
    """Of pass^1 the rate's; where k is every trial there is, a plain proportion over tasks."""
    if k == 1:
        return rate.interval
    values = [pass_hat(task.counted, task.accepted, k) for task in tasks]
    known = [value for value in values if value is not None]
    if all(task.counted == k for task in tasks):
        return wilson(float(sum(known)), len(known))
    return mean_of_tasks(known)
