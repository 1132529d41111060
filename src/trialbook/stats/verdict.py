"""The rule that turns a paired comparison into one word, declared before the data are seen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from trialbook.stats.exact import moved_for, sign_flip
from trialbook.stats.paired import (
    MeanDifference,
    PairedTask,
    collapse_bound,
    differences,
    mean_difference,
)

MAX_COLLAPSE_SHARE = Fraction(20, 100)


class Verdict(StrEnum):
    """What a comparison comes to. Only :attr:`BETTER` and :attr:`WORSE` name a winner."""

    BETTER = "better"
    WORSE = "worse"
    EQUIVALENT = "equivalent"
    NO_REGRESSION = "no_regression_beyond_margin"
    INCONCLUSIVE = "inconclusive"
    NOT_READY = "not_ready"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """What was declared: the level, the margin, the collapse share allowed, the looks.

    ``margin`` is a share (0.10 for ten points), None when none was declared: then no claim of
    equivalence or of no regression is possible. With several ``looks`` each gets its part of alpha.
    """

    alpha: Fraction = Fraction(5, 100)
    margin: Fraction | None = None
    max_collapse_share: Fraction = MAX_COLLAPSE_SHARE
    looks: int = 1

    @property
    def level(self) -> float:
        """The level of one look."""
        return float(self.alpha / self.looks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A paired comparison and its verdict; the target is generalising (the unit is the task).

    ``p`` is the two-sided sign-flip probability. ``within_margin`` and ``above_margin`` say whether
    the bounds lie inside the margin, or above its lower end, None without a margin;
    ``collapse_allows`` whether the collapse bound permits such a claim.
    """

    verdict: Verdict
    rule: Rule
    tasks: tuple[PairedTask, ...]
    left_out: tuple[str, ...]
    difference: MeanDifference | None
    p: Fraction | float | None
    collapsed: tuple[str, ...]
    collapse_bound: float | None
    within_margin: bool | None
    above_margin: bool | None
    collapse_allows: bool

    @property
    def testable(self) -> bool:
        """Whether enough tasks moved that the sign-flip test can reach the rule's level at all."""
        return self.difference is not None and self.difference.moved >= moved_for(self.rule.level)

    @property
    def up(self) -> tuple[PairedTask, ...]:
        """The tasks that went up, largest first."""
        return self._moved(1)

    @property
    def down(self) -> tuple[PairedTask, ...]:
        """The tasks that went down, largest first."""
        return self._moved(-1)

    def _moved(self, sign: int) -> tuple[PairedTask, ...]:
        found = [task for task in self.tasks if (task.difference or 0) * sign > 0]
        return tuple(sorted(found, key=lambda task: (-abs(task.difference or 0), task.task)))


def compare(tasks: Sequence[PairedTask], rule: Rule) -> Comparison:
    """Compare two configurations over the tasks that have counted trials in both."""
    compared = tuple(task for task in tasks if task.difference is not None)
    values = list(differences(compared).values())
    found = mean_difference(values, rule.level)
    bound = collapse_bound(compared, rule.level)
    allows = bound is not None and bound <= rule.max_collapse_share
    above = within = None
    if found is not None and rule.margin is not None:
        above = found.bounds.low > -rule.margin
        within = above and found.bounds.high < rule.margin
    p = sign_flip(values) if values else None
    return Comparison(
        verdict=_verdict(found, p, rule, (within and allows, above and allows)),
        rule=rule,
        tasks=compared,
        left_out=tuple(task.task for task in tasks if task.difference is None),
        difference=found,
        p=p,
        collapsed=tuple(task.task for task in compared if task.collapsed),
        collapse_bound=bound,
        within_margin=within,
        above_margin=above,
        collapse_allows=allows,
    )


def _verdict(
    found: MeanDifference | None,
    p: Fraction | float | None,
    rule: Rule,
    claims: tuple[bool | None, bool | None],
) -> Verdict:
    if found is None or p is None:
        return Verdict.INCONCLUSIVE
    if p <= rule.level and found.interval.low > 0:
        return Verdict.BETTER
    if p <= rule.level and found.interval.high < 0:
        return Verdict.WORSE
    equivalent, no_regression = claims
    if equivalent:
        return Verdict.EQUIVALENT
    return Verdict.NO_REGRESSION if no_regression else Verdict.INCONCLUSIVE
