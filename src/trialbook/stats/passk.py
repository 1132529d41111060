"""pass@k and pass^k: the chance that one of, or all of, k fresh trials are accepted.

Unbiased estimators over the trials of each task, averaged over tasks without weights. Sources:
Chen et al. 2021 (arXiv 2107.03374) for pass@k, Yao et al. 2024 (arXiv 2406.12045) for pass^k.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import comb


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskTrials:
    """What counts of one task under one configuration: ``accepted`` of ``counted`` trials."""

    task: str
    counted: int
    accepted: int

    def __post_init__(self) -> None:
        if not 0 <= self.accepted <= self.counted:
            raise ValueError(f"{self.task}: {self.accepted} accepted of {self.counted}")

    @property
    def rate(self) -> Fraction | None:
        """The share accepted; None when no trial counts."""
        return _rate(self.accepted, self.counted) if self.counted else None


# Of thousands of tasks with a few repetitions, most have counts that others had before.
_rate = lru_cache(maxsize=4096)(Fraction)


@dataclass(frozen=True, slots=True, kw_only=True)
class OverTasks:
    """The mean of a per-task value over the tasks of a suite.

    ``value`` is None when some task has fewer than k counted trials; then ``eligible_mean`` is over
    the ``eligible`` of ``tasks`` tasks, and ``low`` and ``high`` hold whatever the others would be.
    """

    k: int
    value: Fraction | None
    eligible_mean: Fraction | None
    eligible: int
    tasks: int
    low: Fraction | None
    high: Fraction | None


def pass_at(counted: int, accepted: int, k: int) -> Fraction | None:
    """1 - C(n-c, k) / C(n, k): the chance that at least one of k trials is accepted.

    None when fewer than k trials count: it is not known then, neither 0 nor 1.
    """
    if k < 1 or counted < k:
        return None
    return 1 - Fraction(comb(counted - accepted, k), comb(counted, k))


def pass_hat(counted: int, accepted: int, k: int) -> Fraction | None:
    """C(c, k) / C(n, k): the chance that all of k trials are accepted, or None."""
    if k < 1 or counted < k:
        return None
    return Fraction(comb(accepted, k), comb(counted, k))


def suite_pass_at(tasks: Sequence[TaskTrials], k: int) -> OverTasks:
    """pass@k of a suite: the unweighted mean over its tasks."""
    return _over(tasks, k, pass_at)


def suite_pass_hat(tasks: Sequence[TaskTrials], k: int) -> OverTasks:
    """pass^k of a suite: the unweighted mean over its tasks."""
    return _over(tasks, k, pass_hat)


def flakiness_gap(tasks: Sequence[TaskTrials], k: int) -> Fraction | None:
    """How much is lost between one trial and k trials in a row: pass^1 - pass^k."""
    once, always = suite_pass_hat(tasks, 1).value, suite_pass_hat(tasks, k).value
    return None if once is None or always is None else once - always


def projection(rate: Fraction, k: int) -> Fraction:
    """rate^k: what independent trials at a *known* rate would give.

    Biased upwards when the rate was estimated from few trials, so never a basis of a verdict.
    """
    return rate**k


def _over(
    tasks: Sequence[TaskTrials], k: int, of: Callable[[int, int, int], Fraction | None]
) -> OverTasks:
    values = [of(task.counted, task.accepted, k) for task in tasks]
    known = [value for value in values if value is not None]
    total, missing = sum(known, Fraction(0)), len(values) - len(known)
    return OverTasks(
        k=k,
        value=total / len(known) if known and not missing else None,
        eligible_mean=total / len(known) if known else None,
        eligible=len(known),
        tasks=len(values),
        low=total / len(values) if values else None,
        high=(total + missing) / len(values) if values else None,
    )
