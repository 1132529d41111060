"""Axes that all plots share: from a value to a place, with marks at round values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil, floor, isfinite, log10

_STEPS = (1.0, 2.0, 2.5, 5.0, 10.0)
_MOST_MARKS = 6
_WIDE = 30.0
"""From this ratio of the largest value to the smallest on, an axis of amounts is logarithmic."""

_TINY = 1e-9
_HUGE = 1e15


@dataclass(frozen=True, slots=True)
class Scale:
    """A straight or logarithmic axis between two places of a drawing."""

    low: float
    high: float
    start: float
    end: float
    logarithmic: bool = False

    def at(self, value: float) -> float:
        """Where a value is; what lies outside of the axis is at its end."""
        held = min(max(value, self.low), self.high)
        if self.logarithmic:
            span = log10(self.high) - log10(self.low)
            share = (log10(held) - log10(self.low)) / span
        else:
            share = (held - self.low) / (self.high - self.low)
        return self.start + (self.end - self.start) * share

    def holds(self, value: float) -> bool:
        """Whether a value lies on the axis, and not outside of it."""
        return self.low <= value <= self.high

    def marks(self, most: int = _MOST_MARKS) -> list[float]:
        """Round values on the axis, at most so many."""
        if self.logarithmic:
            return _powers(self.low, self.high, most)
        return _round_values(self.low, self.high, most)


def shares(start: float, end: float) -> Scale:
    """An axis from 0 to 1."""
    return Scale(0.0, 1.0, start, end)


def differences(values: Iterable[float], start: float, end: float) -> Scale:
    """An axis of differences of shares, with 0 in its middle, as long as the largest needs."""
    largest = max((abs(value) for value in values if isfinite(value)), default=0.0)
    for half in (0.2, 0.3, 0.4, 0.5, 0.6, 0.8):
        if largest <= half:
            return Scale(-half, half, start, end)
    return Scale(-1.0, 1.0, start, end)


def amounts(values: Iterable[float], start: float, end: float) -> Scale:
    """An axis of amounts: from 0, or logarithmic where they differ by more than thirty times."""
    known = [min(value, _HUGE) for value in values if isfinite(value) and value >= 0]
    largest = max(known, default=0.0)
    least = min((value for value in known if value > _TINY), default=0.0)
    if largest <= _TINY:
        return Scale(0.0, 1.0, start, end)
    if least and largest / least > _WIDE and min(known) > _TINY:
        low, high = 10.0 ** floor(log10(least)), 10.0 ** ceil(log10(largest))
        return Scale(low, high if high > low else low * 10, start, end, logarithmic=True)
    step = _step(0.0, largest, _MOST_MARKS)
    return Scale(0.0, step * ceil(largest / step - _TINY), start, end)


def number(value: float) -> str:
    """A place in a drawing: one decimal at most, and never ``-0``."""
    tenths = round(value * 10)
    whole, rest = divmod(abs(tenths), 10)
    sign = "-" if tenths < 0 else ""
    return f"{sign}{whole}.{rest}" if rest else f"{sign}{whole}"


def decimals(value: float, places: int) -> str:
    """A value with fixed decimals, and never ``-0``."""
    text = f"{value:.{places}f}"
    return text.removeprefix("-") if float(text) == 0 else text


def brief(value: float) -> str:
    """A round value on an axis, as short as it can be: ``0.05``, ``1.5``, ``20``, ``3000``."""
    text = f"{value:.6f}".rstrip("0").rstrip(".")
    return "0" if text in ("", "-0") else text


def _step(low: float, high: float, most: int) -> float:
    rough = (high - low) / most
    power = 10.0 ** floor(log10(rough))
    return power * next((step for step in _STEPS if power * step >= rough * (1 - _TINY)), 10.0)


def _round_values(low: float, high: float, most: int) -> list[float]:
    step = _step(low, high, most)
    first, last = ceil(low / step - _TINY), floor(high / step + _TINY)
    return [at * step for at in range(first, last + 1)]


def _powers(low: float, high: float, most: int) -> list[float]:
    first, last = round(log10(low)), round(log10(high))
    every = max(1, ceil((last - first + 1) / most))
    found: Sequence[float] = [10.0**power for power in range(first, last + 1, every)]
    if last - first <= 1:
        found = [10.0**first * part for part in (1, 2, 5, 10)]
    return list(found)
