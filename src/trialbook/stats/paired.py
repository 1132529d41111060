"""Two configurations compared task by task: differences, their interval, moved and collapsed tasks.

Differences are candidate minus baseline. Sources: Miller 2024 (arXiv 2411.00640) for pairing;
Bowyer, Aitchison and Ivanova 2025 (arXiv 2503.01747) for why not the normal approximation; the
guard adds two pseudo-observations, after Agresti and Caffo 2000, where few tasks moved.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import sqrt
from statistics import median, stdev

from trialbook.stats.distributions import t_quantile
from trialbook.stats.exact import MOVED_FOR_A_CLAIM
from trialbook.stats.interval import Interval, clopper_pearson_upper
from trialbook.stats.passk import TaskTrials

_PSEUDO = (Fraction(1, 2), Fraction(-1, 2))


@dataclass(frozen=True, slots=True, kw_only=True)
class PairedTask:
    """One task under both configurations; ``cluster`` groups tasks that are not independent."""

    baseline: TaskTrials
    candidate: TaskTrials
    cluster: str

    @property
    def task(self) -> str:
        """The task's name."""
        return self.baseline.task

    @property
    def difference(self) -> Fraction | None:
        """Candidate's rate minus baseline's; None when either has no counted trial."""
        one, other = self.baseline, self.candidate
        if not one.counted or not other.counted:
            return None
        return _difference(one.accepted, one.counted, other.accepted, other.counted)

    @property
    def collapsed(self) -> bool:
        """Accepted in most trials of the baseline, and in a minority of the candidate's."""
        one, other = self.baseline.rate, self.candidate.rate
        half = Fraction(1, 2)
        return one is not None and other is not None and one > half > other


# Of thousands of tasks with a few repetitions, most have counts that others had before.
@lru_cache(maxsize=4096)
def _difference(one: int, of_one: int, other: int, of_other: int) -> Fraction:
    return Fraction(other, of_other) - Fraction(one, of_one)


@dataclass(frozen=True, slots=True, kw_only=True)
class MeanDifference:
    """The mean of differences with two intervals around it.

    ``interval`` is the two-sided one of the level asked for; ``bounds`` that of a pair of one-sided
    tests at the same level (0.90 for 0.95), which claims of equivalence and no regression rest on.
    ``moved`` counts the differences that are not zero.
    """

    mean: Fraction
    standard_error: float
    units: int
    moved: int
    interval: Interval
    bounds: Interval


def paired(
    baseline: Iterable[TaskTrials],
    candidate: Iterable[TaskTrials],
    clusters: dict[str, str] | None = None,
) -> tuple[PairedTask, ...]:
    """The tasks that both configurations have, in order of their names."""
    other = {one.task: one for one in candidate}
    groups = clusters or {}
    return tuple(
        PairedTask(baseline=one, candidate=other[one.task], cluster=groups.get(one.task, one.task))
        for one in sorted(baseline, key=lambda each: each.task)
        if one.task in other
    )


def differences(tasks: Iterable[PairedTask]) -> dict[str, Fraction]:
    """The difference of each cluster: the mean over its tasks. Tasks without one are left out."""
    found: dict[str, list[Fraction]] = {}
    for task in tasks:
        if task.difference is not None:
            found.setdefault(task.cluster, []).append(task.difference)
    return {name: sum(values, Fraction(0)) / len(values) for name, values in found.items()}


def mean_difference(values: Sequence[Fraction], alpha: float = 0.05) -> MeanDifference | None:
    """The mean of differences with the guarded t interval; None for fewer than two of them."""
    if len(values) < 2:
        return None
    moved = sum(value != 0 for value in values)
    error, method = _guarded_error(values, moved)
    mean = sum(values, Fraction(0)) / len(values)

    def around(confidence: float) -> Interval:
        half = t_quantile((1 + confidence) / 2, len(values) - 1) * error
        return Interval(
            low=max(-1.0, float(mean) - half),
            high=min(1.0, float(mean) + half),
            confidence=confidence,
            method=method,
        )

    return MeanDifference(
        mean=mean,
        standard_error=error,
        units=len(values),
        moved=moved,
        interval=around(1 - alpha),
        bounds=around(1 - 2 * alpha),
    )


def mean_of_tasks(values: Sequence[Fraction], confidence: float = 0.95) -> Interval | None:
    """The guarded t interval of a mean of per-task values between 0 and 1 (pass^k, say).

    Here "not moved" means: equal to the median. None for fewer than two tasks.
    """
    if len(values) < 2:
        return None
    middle = median(values)
    error, method = _guarded_error(
        [value - middle for value in values], sum(value != middle for value in values)
    )
    centre = float(sum(values, Fraction(0)) / len(values))
    half = t_quantile((1 + confidence) / 2, len(values) - 1) * error
    return Interval(
        low=max(0.0, centre - half),
        high=min(1.0, centre + half),
        confidence=confidence,
        method=method,
    )


def _guarded_error(values: Sequence[Fraction], moved: int) -> tuple[float, str]:
    """The standard error of the mean, never taken as small only because little moved."""
    error = _deviation(values) / sqrt(len(values))
    if moved >= MOVED_FOR_A_CLAIM:
        return error, "t"
    guard = _deviation([*values, *_PSEUDO]) / sqrt(len(values) + len(_PSEUDO))
    return max(error, guard), "t, guarded"


def _deviation(values: Sequence[Fraction]) -> float:
    return stdev([float(value) for value in values])


def collapse_bound(tasks: Sequence[PairedTask], alpha: float = 0.05) -> float | None:
    """The exact upper bound on the share of tasks that collapse; None without a paired task."""
    compared = [task for task in tasks if task.difference is not None]
    if not compared:
        return None
    return clopper_pearson_upper(sum(task.collapsed for task in compared), len(compared), alpha)
