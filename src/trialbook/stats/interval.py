"""Intervals for one rate: binomial ones, and the one for tasks tried several times each.

Trials of one task are not independent, so a plain binomial interval over all trials is too narrow.
Sources: Wilson 1927; Clopper and Pearson 1934; Brown, Cai and DasGupta 2001 for Jeffreys; Korn and
Graubard 1998 for the correction of the effective sample size; Miller 2024 (arXiv 2411.00640).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt
from statistics import stdev

from trialbook.stats.distributions import beta_quantile, normal_quantile, t_quantile
from trialbook.stats.passk import TaskTrials

FEWEST_TASKS = 5
"""Below this many tasks no interval of a rate is given: counts only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """An interval, its ``confidence`` (0.95, say) and the name of the ``method``."""

    low: float
    high: float
    confidence: float
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusteredRate:
    """A configuration's rate over tasks, with what its interval is made from.

    ``rate`` is the mean of the tasks' rates, ``standard_error`` that of the mean, ``design_effect``
    how many times the binomial variance that is, ``effective_size`` and ``corrected_size`` how many
    independent trials the data are worth, the second after the correction for few tasks.
    """

    rate: Fraction
    tasks: int
    trials: int
    accepted: int
    standard_error: float
    design_effect: float
    effective_size: float
    corrected_size: float
    interval: Interval


def wilson(accepted: float, counted: float, confidence: float = 0.95) -> Interval:
    """Wilson's score interval; ``counted`` need not be whole (an effective sample size)."""
    z = normal_quantile((1 + confidence) / 2)
    rate = accepted / counted
    centre = (rate + z * z / (2 * counted)) / (1 + z * z / counted)
    half = z * sqrt(rate * (1 - rate) / counted + (z / (2 * counted)) ** 2) / (1 + z * z / counted)
    return Interval(
        low=0.0 if accepted == 0 else max(0.0, centre - half),
        high=1.0 if accepted == counted else min(1.0, centre + half),
        confidence=confidence,
        method="Wilson",
    )


def clopper_pearson(accepted: int, counted: int, confidence: float = 0.95) -> Interval:
    """The exact binomial interval: for claims about safety, never too narrow."""
    alpha = (1 - confidence) / 2
    return Interval(
        low=clopper_pearson_lower(accepted, counted, alpha),
        high=clopper_pearson_upper(accepted, counted, alpha),
        confidence=confidence,
        method="Clopper-Pearson",
    )


def clopper_pearson_lower(accepted: int, counted: int, alpha: float) -> float:
    """The one-sided exact lower bound at level ``alpha``."""
    return beta_quantile(alpha, accepted, counted - accepted + 1) if accepted else 0.0


def clopper_pearson_upper(accepted: int, counted: int, alpha: float) -> float:
    """The one-sided exact upper bound at level ``alpha``."""
    if accepted == counted:
        return 1.0
    return beta_quantile(1 - alpha, accepted + 1, counted - accepted)


def jeffreys(accepted: int, counted: int, confidence: float = 0.95) -> Interval:
    """The interval of Jeffreys' prior; its bound is 0 at no success and 1 at no failure."""
    alpha = (1 - confidence) / 2
    a, b = accepted + 0.5, counted - accepted + 0.5
    return Interval(
        low=beta_quantile(alpha, a, b) if accepted else 0.0,
        high=beta_quantile(1 - alpha, a, b) if accepted < counted else 1.0,
        confidence=confidence,
        method="Jeffreys",
    )


def clustered_rate(tasks: Sequence[TaskTrials], confidence: float = 0.95) -> ClusteredRate | None:
    """The rate over tasks with Wilson's interval on the effective sample size.

    Tasks without a counted trial are left out. None when fewer than :data:`FEWEST_TASKS` remain:
    such data carry no interval.
    """
    rates = [task.rate for task in tasks if task.rate is not None]
    count, trials = len(rates), sum(task.counted for task in tasks)
    if count < FEWEST_TASKS:
        return None
    rate = sum(rates, Fraction(0)) / count
    error = stdev([float(one) for one in rates]) / sqrt(count)
    most = trials / count
    if rate in (0, 1):
        effect = most
    else:
        effect = min(max(error**2 / (float(rate * (1 - rate)) / trials), 1.0), most)
    tail = (1 + confidence) / 2
    correction = 1.0
    if trials > count:
        correction = (t_quantile(tail, trials - 1) / t_quantile(tail, count - 1)) ** 2
    size = trials / effect * correction
    score = wilson(float(rate) * size, size, confidence)
    return ClusteredRate(
        rate=rate,
        tasks=count,
        trials=trials,
        accepted=sum(task.accepted for task in tasks),
        standard_error=error,
        design_effect=effect,
        effective_size=trials / effect,
        corrected_size=size,
        interval=Interval(
            low=score.low,
            high=score.high,
            confidence=confidence,
            method="Wilson on the effective sample size",
        ),
    )
