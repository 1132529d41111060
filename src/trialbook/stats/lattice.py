"""The distribution of a sum of independent discrete variables with rational values.

Exact while that is cheap: whole-number weights over sums scaled to whole numbers. Beyond that
weights are kept to 64 binary digits after the point, and what weighs less is cut from the ends;
that changes a probability by far less than is ever printed. They are multiplied as one
large whole number each (Kronecker substitution), so that Python's multiplication does the work.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import lcm
from typing import TypeAlias

Weights: TypeAlias = Mapping[Fraction, int | float]
"""Value to weight: how many of the equally likely cases have this value, or their share."""

EXACT_COST = 4_000_000
"""Products of weights up to which the sum is computed exactly."""

_DIGITS = 64
_ONE = 1 << _DIGITS
_SMALLEST = 1 << 4
_SLOT = 24
"""Bytes for one product of weights: twice the digits, and room for as many sums as there can be."""

_WIDEST = 1_000_000
"""Whole-number keys from end to end up to which a distribution is kept densely."""

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
    counted = [(part, times) for part, times in whole if _whole(part)]
    if len(counted) == len(whole) and _cost(whole) <= EXACT_COST:
        total: dict[int, int] = {0: 1}
        for part, times in counted:
            for _ in range(times):
                total = _convolve(total, part)  # type: ignore[arg-type]
        return SumOf(weights=total, total=sum(total.values()), scale=scale)
    return _approximately(whole, scale)


def _whole(part: Mapping[int, int | float]) -> bool:
    return all(isinstance(weight, int) for weight in part.values())


def _cost(parts: list[tuple[dict[int, int | float], int]]) -> int:
    """How many products of weights the exact sum takes, at most."""
    cost, low, high = 0, 0, 0
    for part, times in parts:
        for _ in range(times):
            cost += (high - low + 1) * len(part)
            low, high = low + min(part), high + max(part)
            if cost > EXACT_COST:
                return cost
    return cost


def _approximately(parts: list[tuple[dict[int, int | float], int]], scale: int) -> SumOf:
    if any(max(part) - min(part) > _WIDEST for part, _ in parts):
        return _sparsely(parts, scale)
    result = _Dense(low=0, weights=[_ONE])
    for part, times in parts:
        result = result.plus(_Dense.of(part).repeated(times))
    weights = {result.low + place: weight for place, weight in enumerate(result.weights) if weight}
    return SumOf(weights=weights, total=float(sum(weights.values())), scale=scale)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Dense:
    """Weights of the keys from ``low`` on, as shares of :data:`_ONE`."""

    low: int
    weights: list[int]

    @classmethod
    def of(cls, part: Mapping[int, int | float]) -> _Dense:
        whole = sum(part.values())
        low = min(part)
        weights = [0] * (max(part) - low + 1)
        for key, weight in part.items():
            share = Fraction(weight) / Fraction(whole)
            weights[key - low] = share.numerator * _ONE // share.denominator
        return cls(low=low, weights=weights).trimmed()

    def plus(self, other: _Dense) -> _Dense:
        """The distribution of the sum of one draw from each."""
        length = len(self.weights) + len(other.weights) - 1
        product = (_packed(self.weights) * _packed(other.weights)).to_bytes(
            (length + 1) * _SLOT, "little"
        )
        weights = [
            int.from_bytes(product[place : place + _SLOT], "little") >> _DIGITS
            for place in range(0, length * _SLOT, _SLOT)
        ]
        return _Dense(low=self.low + other.low, weights=weights).trimmed()

    def repeated(self, times: int) -> _Dense:
        """The sum of so many draws, by repeated doubling."""
        result, square = _Dense(low=0, weights=[_ONE]), self
        while times:
            if times & 1:
                result = result.plus(square)
            times >>= 1
            if times:
                square = square.plus(square)
        return result

    def trimmed(self) -> _Dense:
        """The same without the ends that weigh nothing."""
        known = [place for place, weight in enumerate(self.weights) if weight >= _SMALLEST]
        first, last = known[0], known[-1]
        return _Dense(low=self.low + first, weights=self.weights[first : last + 1])


def _packed(weights: list[int]) -> int:
    return int.from_bytes(b"".join(one.to_bytes(_SLOT, "little") for one in weights), "little")


def _sparsely(parts: list[tuple[dict[int, int | float], int]], scale: int) -> SumOf:
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
