"""Quantiles and tails of the normal, t, beta and noncentral t distributions, in double precision.

The incomplete beta function is Lentz's continued fraction (Press et al., Numerical Recipes, 6.4;
DLMF 8.17.22). mpmath has the function too, but its series takes minutes at a million degrees of
freedom, and no quantiles; scipy has both, at 200 MB.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from math import exp, lgamma, log, log1p, sqrt
from statistics import NormalDist

_NORMAL = NormalDist()
_TINY = 1e-300
_SMALLEST_STEP = 1e-15
_BISECTIONS = 200
"""Bisection halves a bracket until no double lies between its ends: well within this many steps."""


def normal_quantile(p: float) -> float:
    """The value that a standard normal variable stays below with probability ``p`` (0 < p < 1)."""
    return _NORMAL.inv_cdf(p)


def normal_cdf(x: float) -> float:
    """The probability that a standard normal variable is at most ``x``."""
    return _NORMAL.cdf(x)


@lru_cache(maxsize=4096)
def beta_cdf(x: float, a: float, b: float) -> float:
    """The regularised incomplete beta function I_x(a, b), for 0 <= x <= 1 and a, b > 0."""
    if x <= 0:
        return 0.0
    if x >= 1:
        return 1.0
    front = exp(lgamma(a + b) - lgamma(a) - lgamma(b) + a * log(x) + b * log1p(-x))
    # The fraction converges fast on the side of the mean where most of the weight is not.
    if x < (a + 1) / (a + b + 2):
        return min(1.0, front * _fraction(x, a, b) / a)
    return max(0.0, 1 - front * _fraction(1 - x, b, a) / b)


@lru_cache(maxsize=1024)
def beta_quantile(p: float, a: float, b: float) -> float:
    """The x with ``beta_cdf(x, a, b) == p`` (0 <= p <= 1)."""
    if p <= 0:
        return 0.0
    if p >= 1:
        return 1.0
    return _bisect(lambda x: beta_cdf(x, a, b) - p, 0.0, 1.0)


def t_cdf(x: float, df: float) -> float:
    """The probability that Student's t with ``df`` degrees of freedom is at most ``x``."""
    tail = beta_cdf(df / (df + x * x), df / 2, 0.5) / 2
    return 1 - tail if x > 0 else tail


@lru_cache(maxsize=1024)
def t_quantile(p: float, df: float) -> float:
    """The value that Student's t with ``df`` degrees of freedom stays below with probability ``p``.

    Its square follows from a beta quantile: t² = df (1 - x) / x with I_x(df/2, 1/2) = 2 (1 - p).
    """
    if p == 0.5:
        return 0.0
    if p < 0.5:
        return -t_quantile(1 - p, df)
    x = beta_quantile(2 * (1 - p), df / 2, 0.5)
    return sqrt(df * (1 - x) / x)


@lru_cache(maxsize=4096)
def t_test_power(noncentrality: float, df: int, alpha: float) -> float:
    """The chance that a two-sided t test at level ``alpha`` rejects, given the noncentrality.

    The t statistic is (Z + noncentrality) / S with S² = chi²/df, so the power is one minus the
    expectation over S of the normal probability of the acceptance region; integrated by Simpson's
    rule over S, whose density is smooth and narrow.
    """
    limit = t_quantile(1 - alpha / 2, df)
    constant = log(2) + (df / 2) * log(df / 2) - lgamma(df / 2)
    spread = 1 / sqrt(2 * df)
    low, high = max(1e-12, 1 - 10 * spread), 1 + 14 * spread
    steps = 400
    width = (high - low) / steps

    def kept(s: float) -> float:
        density = exp(constant + (df - 1) * log(s) - df * s * s / 2)
        inside = normal_cdf(limit * s - noncentrality) - normal_cdf(-limit * s - noncentrality)
        return density * inside

    inner = sum(kept(low + i * width) * (4 if i % 2 else 2) for i in range(1, steps))
    return 1 - (kept(low) + inner + kept(high)) * width / 3


def solve_increasing(function: Callable[[float], float], low: float, high: float) -> float:
    """Where an increasing function crosses zero between ``low`` and ``high``, by bisection."""
    return _bisect(function, low, high)


def _bisect(function: Callable[[float], float], low: float, high: float) -> float:
    for _ in range(_BISECTIONS):
        middle = (low + high) / 2
        if middle in (low, high):
            break
        if function(middle) < 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def _fraction(x: float, a: float, b: float) -> float:
    """The continued fraction of the incomplete beta function, from the front by Lentz's method."""
    c, d = 1.0, 1 / _away(1 - (a + b) * x / (a + 1))
    value, m, step = d, 0, 0.0
    while abs(step - 1) > _SMALLEST_STEP:
        m += 1
        even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m))
        d, c = 1 / _away(1 + even * d), _away(1 + even / c)
        value *= d * c
        odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1))
        d, c = 1 / _away(1 + odd * d), _away(1 + odd / c)
        step = d * c
        value *= step
    return value


def _away(value: float) -> float:
    """The value, kept from zero: it is a divisor."""
    return value if abs(value) > _TINY else _TINY
