"""Acceptance against cost: whether one configuration dominates, or what one more accepted costs."""

from __future__ import annotations

from collections.abc import Iterator

from trialbook.reporting.comparison import Compared
from trialbook.reporting.costs import Cost
from trialbook.reporting.costs_said import dollars
from trialbook.stats.cost import Ratio, cost_ratio
from trialbook.stats.verdict import Verdict

_NO_LOSS = frozenset({Verdict.BETTER, Verdict.EQUIVALENT})


def tradeoff(compared: Compared, baseline: Cost, candidate: Cost) -> Iterator[str]:
    """What acceptance and cost say together, a sentence each; nothing where a cost is unknown.

    *Dominates* without a qualification takes a verdict that nothing was lost, and an interval of
    the cost ratio that leaves out 1. What one more accepted change costs is only said where the
    verdict names a winner.
    """
    if compared.valid is None or baseline.basis is None or baseline.basis != candidate.basis:
        return
    ratio = cost_ratio(baseline.tasks, candidate.tasks)
    if ratio is None:
        return
    yield _ratio(compared, ratio)
    yield from _dominance(compared, baseline, candidate, ratio)
    yield from _one_more(compared, baseline, candidate)


def _ratio(compared: Compared, ratio: Ratio) -> str:
    names = f"{compared.candidate.name} costs {ratio.ratio:.2f} times what {compared.baseline.name}"
    said = f"For each accepted change {names} does"
    if ratio.interval is None:
        return f"{said}; no interval, since it hangs on a single task."
    interval = ratio.interval
    return (
        f"{said} ({interval.low:.2f} to {interval.high:.2f} at confidence "
        f"{interval.confidence:.3g}, {interval.method})."
    )


def _dominance(compared: Compared, baseline: Cost, candidate: Cost, ratio: Ratio) -> Iterator[str]:
    accepts = candidate.accepted - baseline.accepted
    for better, winner, loser, verdicts in (
        (accepts >= 0 and ratio.ratio <= 1, compared.candidate, compared.baseline, _NO_LOSS),
        (
            accepts <= 0 and ratio.ratio >= 1,
            compared.baseline,
            compared.candidate,
            {Verdict.WORSE, Verdict.EQUIVALENT},
        ),
    ):
        if not better or (accepts == 0 and ratio.ratio == 1):
            continue
        interval = ratio.interval
        sure = interval is not None and (interval.high < 1 or interval.low > 1)
        proven = sure and compared.verdict in verdicts
        qualified = "" if proven else " by these counts alone, which proves nothing"
        yield (
            f"{winner.name} accepts as many or more and costs no more for each than {loser.name}: "
            f"it dominates{qualified}."
        )
        return


def _one_more(compared: Compared, baseline: Cost, candidate: Cost) -> Iterator[str]:
    if baseline.spend is None or candidate.spend is None:
        return
    more = candidate.accepted - baseline.accepted
    extra = candidate.spend - baseline.spend
    if compared.verdict is Verdict.BETTER and more > 0 and extra > 0:
        yield (
            f"Each accepted change more costs {dollars(float(extra / more))} more: {more} more for "
            f"{dollars(float(extra))}."
        )
