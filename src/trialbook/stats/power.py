"""What a plan can detect before it is run, and what a decision would have needed after it.

Per task, the variance of the difference is ω² + σ²_A/R + σ²_B/R: real variation of the effect from
task to task, and the trials' own. The power is that of the paired t test, by the noncentral t.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, sqrt
from statistics import fmean, variance

from trialbook.stats.distributions import normal_quantile, solve_increasing, t_test_power
from trialbook.stats.paired import PairedTask
from trialbook.stats.passk import TaskTrials

ALPHA = 0.05
POWER = 0.80
_MOST_TASKS = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Variation:
    """Where differences vary: between tasks (``effect``), and within a task's trials."""

    effect: float
    baseline: float
    candidate: float

    def of_difference(self, repetitions: float) -> float:
        """The variance of one task's difference with so many repetitions in each configuration."""
        return self.effect + (self.baseline + self.candidate) / repetitions


ASSUMED = Variation(effect=0.02, baseline=0.10, candidate=0.10)
"""Where there is no pilot: what suites of mixed tasks commonly show."""


def within_task(tasks: Sequence[TaskTrials]) -> float | None:
    """The mean of R/(R-1) p(1-p) over tasks of two or more trials; None where there is none."""
    found = [
        float(Fraction(task.counted, task.counted - 1) * task.rate * (1 - task.rate))
        for task in tasks
        if task.rate is not None and task.counted > 1
    ]
    return fmean(found) if found else None


def variation(tasks: Sequence[PairedTask]) -> Variation | None:
    """The variation that a pilot shows; None when it had no repetitions or fewer than two tasks."""
    counted = [task for task in tasks if task.difference is not None]
    one = within_task([task.baseline for task in counted])
    other = within_task([task.candidate for task in counted])
    if len(counted) < 2 or one is None or other is None:
        return None
    spread = variance([float(task.difference or 0) for task in counted])
    trials = fmean([1 / task.baseline.counted for task in counted]) * one
    trials += fmean([1 / task.candidate.counted for task in counted]) * other
    return Variation(effect=max(0.0, spread - trials), baseline=one, candidate=other)


def power_of(difference: float, tasks: int, of_difference: float, alpha: float = ALPHA) -> float:
    """The chance to find a true mean difference with so many tasks of this variance each."""
    if of_difference <= 0:
        return 1.0
    return t_test_power(difference / sqrt(of_difference / tasks), tasks - 1, alpha)


def detectable(
    tasks: int, of_difference: float, alpha: float = ALPHA, power: float = POWER
) -> float | None:
    """The smallest mean difference found with this power; None when even 1 is not, or 1 task."""
    if tasks < 2 or power_of(1.0, tasks, of_difference, alpha) < power:
        return None
    return solve_increasing(
        lambda size: power_of(size, tasks, of_difference, alpha) - power, 0.0, 1.0
    )


def tasks_needed(
    difference: float, of_difference: float, alpha: float = ALPHA, power: float = POWER
) -> int | None:
    """How many tasks find this mean difference with this power; None when no number does."""
    if difference <= 0 or of_difference <= 0:
        return None
    z = normal_quantile(1 - alpha / 2) + normal_quantile(power)
    tasks = max(2, ceil(z * z * of_difference / difference**2))
    while tasks < _MOST_TASKS and power_of(difference, tasks, of_difference, alpha) < power:
        tasks += 1
    return tasks if tasks < _MOST_TASKS else None


def best_repetitions(
    task_cost: float, pair_cost: float, found: Variation = ASSUMED
) -> float | None:
    """The repetitions that give most power for the cost of tasks and of pairs of trials.

    None when the effect does not vary between tasks: repetitions are then as good as tasks.
    """
    if found.effect <= 0 or pair_cost <= 0:
        return None
    return sqrt(task_cost / pair_cost * (found.baseline + found.candidate) / found.effect)
