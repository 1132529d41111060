"""The distribution of a sum of independent discrete variables with rational values.

Exact while that is cheap: whole-number weights over sums scaled to whole numbers. Beyond that the
weights are doubles and what weighs less than 1e-18 of the whole is cut from the ends, which changes
a probability by far less than is ever printed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TypeAlias

Weights: TypeAlias = Mapping[Fraction, int]
"""Value to weight: how many of the equally likely cases have this value."""

EXACT_COST = 4_000_000
"""Products of weights up to which the sum is computed exactly."""

_NEGLIGIBLE = 1e-18


@dataclass(frozen=True, slots=True)
class SumOf:
    """The distribution of a sum; ``scale`` turns its whole-number keys into values."""

    weights: Mapping[int, int | float]
    total: int | float
    scale: int

    @property
    def exact(self) -> bool:
        """Whether probabilities are exact fractions."""
        return isinstance(self.total, int)

    def at_most(self, value: Fraction) -> Fraction | float:
        """The probability that the sum is at most ``value``, ties included."""
        return self._share(
            weight for key, weight in self.weights.items() if key <= self._key(value)
        )

    def at_least(self, value: Fraction) -> Fraction | float:
        """The probability that the sum is at least ``value``, ties included."""
        return self._share(
            weight for key, weight in self.weights.items() if key >= self._key(value)
        )

    def as_far_as(self, value: Fraction) -> Fraction | float:
        """The probability that the sum is at least as far from zero as ``value``, ties included."""
        far = abs(self._key(value))
        return self._share(weight for key, weight in self.weights.items() if abs(key) >= far)

    def _key(self, value: Fraction) -> Fraction:
        return value * self.scale

    def _share(self, weights: Iterable[int | float]) -> Fraction | float:
        found = sum(weights)
        if isinstance(found, int) and isinstance(self.total, int):
            return Fraction(found, self.total)
        return min(1.0, found / self.total)


def sum_of(parts: Iterable[Weights]) -> SumOf:
    """The distribution of the sum of one value drawn from each of ``parts`` independently."""
    kinds = Counter(tuple(sorted(part.items())) for part in parts)
    scale = lcm(1, *(value.denominator for kind in kinds for value, _ in kind))
    whole = [
        ({int(value * scale): weight for value, weight in kind}, times)
        for kind, times in kinds.items()
    ]
    if _cost(whole) <= EXACT_COST:
        total: dict[int, int] = {0: 1}
        for part, times in whole:
            for _ in range(times):
                total = _convolve(total, part)
        return SumOf(weights=total, total=sum(total.values()), scale=scale)
    return _approximately(whole, scale)


def _cost(parts: list[tuple[dict[int, int], int]]) -> int:
    """How many products of weights the exact sum takes, at most."""
    cost, low, high = 0, 0, 0
    for part, times in parts:
        for _ in range(times):
            cost += (high - low + 1) * len(part)
            low, high = low + min(part), high + max(part)
            if cost > EXACT_COST:
                return cost
    return cost


def _approximately(parts: list[tuple[dict[int, int], int]], scale: int) -> SumOf:
    result: dict[int, float] = {0: 1.0}
    for part, times in parts:
        whole = sum(part.values())
        shares = {key: weight / whole for key, weight in part.items()}
        result = _trim(_convolve_shares(result, _power(shares, times)))
    return SumOf(weights=result, total=sum(result.values()), scale=scale)


def _power(shares: dict[int, float], times: int) -> dict[int, float]:
    """The sum of ``times`` draws, by repeated doubling."""
    result: dict[int, float] = {0: 1.0}
    square = shares
    while times:
        if times & 1:
            result = _trim(_convolve_shares(result, square))
        times >>= 1
        if times:
            square = _trim(_convolve_shares(square, square))
    return result


def _trim(shares: dict[int, float]) -> dict[int, float]:
    return {key: share for key, share in shares.items() if share > _NEGLIGIBLE}


def _convolve(one: Mapping[int, int], other: Mapping[int, int]) -> dict[int, int]:
    found: dict[int, int] = {}
    for key, weight in one.items():
        for step, times in other.items():
            place = key + step
            found[place] = found.get(place, 0) + weight * times
    return found


def _convolve_shares(one: Mapping[int, float], other: Mapping[int, float]) -> dict[int, float]:
    found: dict[int, float] = {}
    for key, weight in one.items():
        for step, times in other.items():
            place = key + step
            found[place] = found.get(place, 0.0) + weight * times
    return found
