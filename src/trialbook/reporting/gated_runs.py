"""The gate's answer for runs on record: which two sides they have, and if they may be judged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trialbook.errors import UserError
from trialbook.reporting.arms import Arm, arm
from trialbook.reporting.gate import Gated, gate
from trialbook.reporting.historical import obstacles_of_age
from trialbook.reporting.results import RunResults
from trialbook.reporting.sides import declared, reasons_against, rule, sides
from trialbook.reporting.wording import listed


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """The gate's answer, or the reasons why these runs may not be judged."""

    suite: str
    gated: Gated | None
    reasons: tuple[str, ...]


def judged(
    results: Sequence[RunResults],
    baseline: str | None,
    candidate: str | None,
    old: RunResults | None = None,
) -> Judged:
    """Judge runs.

    Args:
        results: The runs.
        baseline: The configuration as it was; None for the one that the plans declare.
        candidate: The configuration with the change; likewise.
        old: The older run that has the baseline's trials, if the runs have not.

    Raises:
        UserError: there are no such configurations.
    """
    suite = f"{results[0].plan.suite}@{results[0].plan.protocol}"
    if old is None:
        one, other = sides(results, baseline, candidate)
        reasons = reasons_against(results, one, other)
    else:
        one, other = _then_and_now(old, results, baseline, candidate)
        reasons = reasons_against([old, *results])
        for run in results:
            reasons += obstacles_of_age(old.plan, run.plan, one.name, other.name)
    if reasons:
        return Judged(suite=suite, gated=None, reasons=tuple(dict.fromkeys(reasons)))
    return Judged(suite=suite, gated=gate(one, other, rule(results).margin), reasons=())


def _then_and_now(
    old: RunResults,
    results: Sequence[RunResults],
    baseline: str | None,
    candidate: str | None,
) -> tuple[Arm, Arm]:
    """The baseline in the older run, and the candidate in the newer ones."""
    plans = declared(results)
    names = list(dict.fromkeys(name for one in results for name in one.plan.configurations))
    candidate = candidate or (plans.candidate if plans else None)
    if candidate is None and len(names) > 1:
        raise UserError(
            "which configuration is the candidate? the plan names none",
            hint=f"add --candidate; there are {listed(names)}",
        )
    candidate = candidate or names[0]
    baseline = baseline or (plans.baseline if plans else None) or candidate
    if baseline == candidate and old.plan.run in {one.plan.run for one in results}:
        raise UserError(
            f"{old.plan.run} would be compared with itself",
            hint="name an older run with --baseline-from, or another --baseline",
        )
    found = arm([old], baseline), arm(results, candidate)
    for side, name, where in zip(found, (baseline, candidate), ("older", "newer"), strict=True):
        if side is None:
            raise UserError(f"the {where} run has no configuration {name!r}")
    one, other = (side for side in found if side is not None)
    return one, other
