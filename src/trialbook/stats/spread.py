"""Medians and quartiles of durations, tokens, costs: with values that a limit cut short.

A trial that a limit stopped took at least the limit: its value is right-censored. A quantile that
lies among such values is known only as "more than"; a mean would hide that, and runaway trials too.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import ceil, floor


@dataclass(frozen=True, slots=True, order=True)
class Value:
    """A measured value, or with ``censored`` a value that the true one exceeds."""

    amount: float
    censored: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Quartiles of ``count`` values, ``censored`` of them cut short; ``unknown`` are absent."""

    low: Value
    median: Value
    high: Value
    largest: Value
    count: int
    censored: int
    unknown: int


def spread(values: Iterable[Value | None]) -> Spread | None:
    """The quartiles of the known values, by linear interpolation; None when none is known."""
    everything = list(values)
    known = sorted(value for value in everything if value is not None)
    if not known:
        return None
    return Spread(
        low=_quantile(known, Fraction(1, 4)),
        median=_quantile(known, Fraction(1, 2)),
        high=_quantile(known, Fraction(3, 4)),
        largest=known[-1],
        count=len(known),
        censored=sum(value.censored for value in known),
        unknown=len(everything) - len(known),
    )


def _quantile(ordered: list[Value], share: Fraction) -> Value:
    place = share * (len(ordered) - 1)
    below, above = ordered[floor(place)], ordered[ceil(place)]
    part = float(place - floor(place))
    # A censored value may be any larger one: what is at or beyond it is not known to be its own.
    first = next((at for at, value in enumerate(ordered) if value.censored), len(ordered))
    return Value(below.amount + (above.amount - below.amount) * part, censored=ceil(place) >= first)
