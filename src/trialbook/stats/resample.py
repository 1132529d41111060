"""Bootstrap intervals that anybody can draw again: all draws follow from a seed."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import accumulate, count

from trialbook.stats.agreement import AgreementTable, Scale, cohen_kappa
from trialbook.stats.interval import Interval

DRAWS = 2000
"""How many samples are drawn unless somebody asks for more."""

_WORD = 8


def kappa_bootstrap(
    table: AgreementTable,
    seed: str,
    *,
    scale: Scale = Scale.NOMINAL,
    draws: int = DRAWS,
    confidence: float = 0.95,
) -> Interval | None:
    """The percentile interval of kappa over samples of the units, drawn with replacement.

    Args:
        table: The answers.
        seed: Stored with the result; a plan's digest, say.
        scale: The weights of kappa.
        draws: How many samples.
        confidence: How many of them the interval spans.

    Returns:
        None where kappa is not defined. Samples in which it is not are left out, as they would be
        had they been collected.
    """
    if cohen_kappa(table, scale) is None:
        return None
    numbers = _numbers(seed, table.units)
    found = []
    for _ in range(draws):
        kappa = cohen_kappa(_sample(table, numbers), scale)
        if kappa is not None:
            found.append(float(kappa))
    found.sort()
    return Interval(
        low=_percentile(found, (1 - confidence) / 2),
        high=_percentile(found, (1 + confidence) / 2),
        confidence=confidence,
        method=f"bootstrap, {draws} draws",
    )


def _numbers(seed: str, below: int) -> Iterator[int]:
    """Whole numbers from 0 up to ``below``, as even as 64 bits make them."""
    for block in count():
        digest = sha256(f"{seed}:{block}".encode()).digest()
        for start in range(0, len(digest), _WORD):
            yield int.from_bytes(digest[start : start + _WORD]) * below >> (8 * _WORD)


def _sample(table: AgreementTable, numbers: Iterator[int]) -> AgreementTable:
    size = len(table.categories)
    ends = list(accumulate(count for row in table.counts for count in row))
    drawn = [0] * len(ends)
    for _ in range(table.units):
        drawn[bisect_right(ends, next(numbers))] += 1
    counts = tuple(tuple(drawn[start : start + size]) for start in range(0, len(drawn), size))
    return AgreementTable(categories=table.categories, counts=counts)


def _percentile(ordered: Sequence[float], share: float) -> float:
    """The value at a share of the way, between the two nearest if it falls between them."""
    place = share * (len(ordered) - 1)
    low = int(place)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (place - low)
