"""Which two configurations of which runs a command is about, and whether they may be compared."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from trialbook.errors import UserError
from trialbook.model.suite import Comparison
from trialbook.reporting.arms import Arm, arm, changed_between_runs
from trialbook.reporting.comparability import graded_apart, invalidated, obstacles
from trialbook.reporting.results import RunResults
from trialbook.reporting.wording import listed
from trialbook.stats.verdict import Rule

_PAIR = 2


def declared(results: Sequence[RunResults]) -> Comparison | None:
    """What the plans declare, if all of them declare the same."""
    found = {one.plan.compare for one in results}
    return found.pop() if len(found) == 1 else None


def rule(results: Sequence[RunResults]) -> Rule:
    """How the plans say that results are compared; without a margin if they do not agree."""
    found = declared(results)
    if found is None:
        return Rule()
    return Rule(
        alpha=Fraction(str(found.alpha)),
        margin=None if found.margin is None else Fraction(str(found.margin)),
        max_collapse_share=Fraction(str(found.max_collapse_share)),
        looks=len(found.looks) + 1,
    )


def sides(
    results: Sequence[RunResults], baseline: str | None, candidate: str | None
) -> tuple[Arm, Arm]:
    """The two arms, by name or as the plans declare them.

    Raises:
        UserError: there are no such configurations, or more than two and none declared.
    """
    names = list(dict.fromkeys(name for one in results for name in one.plan.configurations))
    plans = declared(results)
    if plans is not None:
        baseline, candidate = baseline or plans.baseline, candidate or plans.candidate
    elif len(names) == _PAIR and baseline is None and candidate is None:
        baseline, candidate = names
    if baseline is None or candidate is None:
        raise UserError(
            "which configurations? the plan does not name two to compare",
            hint=f"add --baseline and --candidate; there are {listed(names)}",
        )
    if baseline == candidate:
        raise UserError("a configuration does not compare with itself")
    return _arm(results, baseline, names), _arm(results, candidate, names)


def _arm(results: Sequence[RunResults], name: str, names: Sequence[str]) -> Arm:
    found = arm(results, name)
    if found is None:
        raise UserError(f"no run has a configuration {name!r}", hint=f"there are {listed(names)}")
    return found


def reasons_against(results: Sequence[RunResults], *arms: Arm) -> list[str]:
    """Why these may not be compared, one sentence each; empty if they may."""
    return [
        *obstacles([one.plan for one in results]),
        *invalidated(results),
        *graded_apart(results),
        *changed_between_runs(results, [one.name for one in arms]),
    ]
