"""Exact tests: sign flips over tasks, relabelling within tasks, McNemar, Fisher, and Holm's rule.

Two targets, never mixed. *Generalising*: the unit is the task; would this help on tasks like these?
*Within suite*: the unit is the trial, the tasks are fixed; did behaviour change on these tasks?
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations
from math import comb, exp, lgamma

from trialbook.stats.lattice import SumOf, Weights, sum_of

MOVED_FOR_A_CLAIM = 6
"""With fewer tasks that moved, the two-sided sign-flip test cannot reach 0.05: 2/2^5 is 1/16."""

MOST_SPLITS = 200_000
"""Ways to relabel the trials of one task, above which the test is not enumerated."""


MOST_COUNTED = 400
"""Trials of one task up to which choices are counted as whole numbers."""

_NOTHING = -45.0
"""The logarithm of a share that is left out: 3e-20 of the largest."""


class TooManySplits(ValueError):
    """A task has too many trials with different scores to enumerate every relabelling."""


def sign_flip(differences: Iterable[Fraction]) -> Fraction | float:
    """The two-sided p of differences that are symmetric about zero, by all sign patterns.

    Target: generalising. The share of sign patterns whose sum is at least as far from zero as the
    observed one, ties included; a float where the number of patterns forbids exact fractions.
    """
    moved = [one for one in differences if one]
    return _flips(moved).as_far_as(sum(moved, Fraction(0)))


def sign_flip_greater(differences: Iterable[Fraction]) -> Fraction | float:
    """The one-sided p against the alternative that differences are positive."""
    moved = [one for one in differences if one]
    return _flips(moved).at_least(sum(moved, Fraction(0)))


def moved_for(level: float) -> int:
    """How many tasks have to move before the two-sided sign-flip test can reach a level at all."""
    moved = 1
    while least_sign_flip(moved) > level:
        moved += 1
    return moved


def least_sign_flip(moved: int) -> Fraction:
    """The smallest two-sided p that ``moved`` differing tasks can give."""
    return min(Fraction(1), Fraction(2, 2**moved))


def _flips(moved: Sequence[Fraction]) -> SumOf:
    sizes: list[Weights] = [{one: 1, -one: 1} for one in map(abs, moved)]
    return sum_of(sizes)


class Relabelling:
    """The exact test that a task's trials are exchangeable between two configurations.

    Each task gives the scores (0 to 1) of its baseline and its candidate trials; the statistic is
    the mean over tasks of mean candidate minus mean baseline score. All ways to choose which of a
    task's trials are the candidate's are equally likely under the null. Target: within suite.
    """

    def __init__(self, tasks: Sequence[tuple[Sequence[Fraction], Sequence[Fraction]]]) -> None:
        """``tasks``: (baseline scores, candidate scores) of each task, none of them empty.

        Raises:
            TooManySplits: a task has too many trials to enumerate.
        """
        self.observed = sum((_shift(one, other) for one, other in tasks), Fraction(0))
        self._sum = sum_of([splits(one, other) for one, other in tasks])

    def lower(self) -> Fraction | float:
        """The one-sided p against the alternative that the candidate is worse."""
        return self._sum.at_most(self.observed)

    def greater(self) -> Fraction | float:
        """The one-sided p against the alternative that the candidate is better."""
        return self._sum.at_least(self.observed)

    def two_sided(self) -> Fraction | float:
        """The p against any difference."""
        return self._sum.as_far_as(self.observed)


def splits(
    baseline: Sequence[Fraction], candidate: Sequence[Fraction]
) -> dict[Fraction, int | float]:
    """How many relabellings of one task's trials give which difference of means.

    Raises:
        TooManySplits: there are more than :data:`MOST_SPLITS` and the scores are not all 0 or 1.
    """
    scores = [*baseline, *candidate]
    count = len(candidate)
    whole, rest = sum(scores, Fraction(0)), len(baseline)
    if set(scores) <= {Fraction(0), Fraction(1)}:
        return dict(_binary_splits(int(whole), count, rest))
    if comb(len(scores), count) > MOST_SPLITS:
        raise TooManySplits(f"{comb(len(scores), count):,} ways to relabel the trials of one task")
    chosen = Counter(sum(part, Fraction(0)) for part in combinations(scores, count))
    return _shifts(chosen, whole, count, rest)


# Of thousands of tasks with a few repetitions, most have counts that others had before.
@lru_cache(maxsize=4096)
def _binary_splits(ones: int, count: int, rest: int) -> Mapping[Fraction, int | float]:
    return _shifts(_hits(count + rest, ones, count), Fraction(ones), count, rest)


def _shifts(
    chosen: Mapping[Fraction, int | float], whole: Fraction, count: int, rest: int
) -> dict[Fraction, int | float]:
    """From sums of the chosen ``count`` scores to differences of means; the others are ``rest``."""
    found: dict[Fraction, int | float] = {}
    for total, ways in chosen.items():
        shift = total / count - (whole - total) / rest
        found[shift] = found.get(shift, 0) + ways
    return found


def _hits(trials: int, ones: int, count: int) -> dict[Fraction, int | float]:
    """How many choices of ``count`` trials have how many of the ones: the hypergeometric weights.

    As shares, without those that weigh nothing, where the numbers of choices are astronomical.
    """
    possible = range(max(0, count - trials + ones), min(ones, count) + 1)
    if trials <= MOST_COUNTED:
        return {
            Fraction(hit): comb(ones, hit) * comb(trials - ones, count - hit) for hit in possible
        }
    logs = {hit: _log_comb(ones, hit) + _log_comb(trials - ones, count - hit) for hit in possible}
    most = max(logs.values())
    return {
        Fraction(hit): exp(value - most) for hit, value in logs.items() if value - most > _NOTHING
    }


def _log_comb(of: int, chosen: int) -> float:
    return lgamma(of + 1) - lgamma(chosen + 1) - lgamma(of - chosen + 1)


def _shift(baseline: Sequence[Fraction], candidate: Sequence[Fraction]) -> Fraction:
    return sum(candidate, Fraction(0)) / len(candidate) - sum(baseline, Fraction(0)) / len(baseline)


def mcnemar(baseline_only: int, candidate_only: int) -> Fraction:
    """McNemar's exact two-sided p, for one trial of each task in each configuration only.

    With more repetitions it would throw data away, and is not offered.
    """
    moved = baseline_only + candidate_only
    tail = sum(comb(moved, i) for i in range(min(baseline_only, candidate_only) + 1))
    return min(Fraction(1), Fraction(2 * tail, 2**moved))


def fisher_worse(baseline: tuple[int, int], candidate: tuple[int, int]) -> Fraction:
    """Fisher's one-sided p that the candidate passes less; each is (passes, applicable)."""
    (passed, of), (new, new_of) = baseline, candidate
    passes, everything = passed + new, of + new_of
    cases = sum(
        comb(passes, hit) * comb(everything - passes, new_of - hit)
        for hit in range(max(0, new_of - everything + passes), new + 1)
    )
    return Fraction(cases, comb(everything, new_of))


def holm(values: Sequence[Fraction | float]) -> list[Fraction | float]:
    """Holm's step-down adjustment of several p values, in the order given."""
    order = sorted(range(len(values)), key=lambda place: values[place])
    adjusted = list(values)
    highest: Fraction | float | None = None
    for rank, place in enumerate(order):
        raised = min(Fraction(1), values[place] * (len(values) - rank))
        highest = raised if highest is None else max(highest, raised)
        adjusted[place] = highest
    return adjusted
