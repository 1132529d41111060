"""What an accepted change costs, and how sure that is.

The spend counts every trial: failed, replaced and cancelled ones, each attempt, the judge, and the
minutes of people. Money is decimal; a ratio's interval is the delete-one-task jackknife on its log.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from math import exp, log, sqrt

from trialbook.stats.distributions import t_quantile
from trialbook.stats.interval import Interval


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpend:
    """What one task cost under one configuration, and how many slots were accepted."""

    task: str
    spend: Decimal
    accepted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """A ratio, the standard error of its logarithm, and its interval; None where not defined."""

    ratio: float
    standard_error: float | None
    interval: Interval | None


def per_accepted(spend: Decimal, accepted: int) -> Decimal | None:
    """The spend for each accepted slot; None when nothing was accepted."""
    return spend / accepted if accepted else None


def cost_per_accepted(tasks: Sequence[TaskSpend], confidence: float = 0.95) -> Ratio | None:
    """Spend over accepted slots with its jackknife interval; None when nothing was accepted."""
    return _ratio([(float(task.spend), task.accepted) for task in tasks], _log_ratio, confidence)


def cost_ratio(
    baseline: Sequence[TaskSpend], candidate: Sequence[TaskSpend], confidence: float = 0.95
) -> Ratio | None:
    """The candidate's cost of an accepted change over the baseline's, leaving out a task at a time.

    Both must have the same tasks in the same order. None when either accepted nothing or was free.
    """
    rows = [
        (float(one.spend), one.accepted, float(other.spend), other.accepted)
        for one, other in zip(baseline, candidate, strict=True)
    ]

    def log_of(part: Sequence[tuple[float, ...]]) -> float | None:
        first = _log_ratio([row[:2] for row in part])
        second = _log_ratio([row[2:] for row in part])
        return None if first is None or second is None else second - first

    return _ratio(rows, log_of, confidence)


def _log_ratio(rows: Sequence[tuple[float, ...]]) -> float | None:
    spend, accepted = sum(row[0] for row in rows), sum(row[1] for row in rows)
    return log(spend / accepted) if spend > 0 and accepted > 0 else None


def _ratio(
    rows: Sequence[tuple[float, ...]],
    log_of: Callable[[Sequence[tuple[float, ...]]], float | None],
    confidence: float,
) -> Ratio | None:
    whole, count = log_of(rows), len(rows)
    if whole is None:
        return None
    parts = [log_of([*rows[:place], *rows[place + 1 :]]) for place in range(count)]
    known = [part for part in parts if part is not None]
    if count < 2 or len(known) < count:
        return Ratio(ratio=exp(whole), standard_error=None, interval=None)
    mean = sum(known) / count
    error = sqrt((count - 1) / count * sum((part - mean) ** 2 for part in known))
    half = t_quantile((1 + confidence) / 2, count - 1) * error
    return Ratio(
        ratio=exp(whole),
        standard_error=error,
        interval=Interval(
            low=exp(whole - half),
            high=exp(whole + half),
            confidence=confidence,
            method="jackknife over tasks, on the logarithm",
        ),
    )
