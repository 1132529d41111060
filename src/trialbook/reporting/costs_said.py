"""Costs in words: what an accepted change costs, and medians with what surrounds them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from trialbook.reporting.costs import Cost, review_usd
from trialbook.reporting.results import RunResults
from trialbook.reporting.wording import duration, listed, money, number_of, number_of_minutes
from trialbook.stats.spread import Spread, Value

COSTS_HEAD = (
    "configuration",
    "for each accepted",
    "with judge and review",
    "accepted with nobody's help",
    "time",
    "tokens",
    "cost of a trial",
    "people",
    "review",
)


def cost_row(cost: Cost) -> list[str]:
    """One configuration's row under :data:`COSTS_HEAD`."""
    return [
        cost.configuration,
        per_accepted(cost),
        with_review(cost),
        f"{cost.unaided}/{cost.accepted}",
        spread_said(cost.seconds, duration),
        spread_said(cost.tokens, _count),
        spread_said(cost.usd, dollars),
        people(cost),
        review(cost),
    ]


def per_accepted(cost: Cost) -> str:
    """``$0.50 (24 accepted; $0.31 to $0.81 at confidence 0.95)``, or why it is not known."""
    if cost.spend is None:
        return "unknown"
    if cost.per_accepted is None:
        none = "nothing accepted" if not cost.accepted else f"{cost.accepted} accepted"
        return f"{money(cost.spend)} spent, {none}"
    said = f"{dollars(cost.per_accepted.ratio)} ({cost.accepted} accepted"
    interval = cost.per_accepted.interval
    if interval is not None:
        said += (
            f"; {dollars(interval.low)} to {dollars(interval.high)} at confidence "
            f"{interval.confidence:.3g}"
        )
    return said + ")"


def with_review(cost: Cost) -> str:
    """The same with what judging it took: ``$8.00 (agent $12.00, people $180.00)``."""
    if not cost.judgements and not cost.reviews:
        return "none"
    amounts = [("agent", cost.basis, cost.spend)]
    amounts += [("judge", cost.judge_basis, cost.judge_usd)] if cost.judgements else []
    amounts += [("people", None, cost.review_usd)] if cost.reviews else []
    known = [amount for _, _, amount in amounts if amount is not None]
    if len(known) < len(amounts):
        lacking = [who for who, _, amount in amounts if amount is None]
        return f"unknown: {listed(lacking)}"
    parts = ", ".join(
        f"{who} {money(amount)}" + (f" {basis}" if basis else "")
        for who, basis, amount in amounts
        if amount is not None
    )
    whole = sum(known, Decimal(0))
    if not cost.accepted:
        return f"{money(whole)} spent, nothing accepted ({parts})"
    return f"{dollars(float(whole / cost.accepted))} ({parts})"


def review(cost: Cost) -> str:
    """How many reviews there are, how long they took, and what that cost, if that is known."""
    if not cost.reviews:
        return "none"
    minutes = number_of_minutes(round(cost.review_minutes, 1))
    said = f"{number_of(cost.reviews, 'review')}, {minutes}"
    return said if cost.review_usd is None else f"{said}, {money(cost.review_usd)}"


def review_line(results: RunResults) -> str:
    """What reviewing took in all, in one or two sentences; empty if nobody is asked."""
    judgement = results.plan.judgement
    if judgement is None:
        return ""
    known = [one.reviewed for one in results.standings.values() if one.reviewed is not None]
    if any(one.sealed for one in known) or not any(one.reviews for one in known):
        return "Reviews by people are not in yet; their time is not known."
    minutes = sum(one.minutes for one in known) + results.elsewhere_minutes
    said = f"People reviewed for {number_of_minutes(round(minutes, 1))}"
    if results.elsewhere_minutes:
        elsewhere = number_of_minutes(round(results.elsewhere_minutes, 1))
        said += f", {elsewhere} of that on controls and repeats, which belong to no configuration"
    usd = review_usd(results.plan, minutes)
    if usd is None:
        return f"{said}. No amount of money has that in it."
    rate = money(Decimal(str(judgement.usd_per_hour)))
    return f"{said}: {money(usd)} at {rate} an hour. No other amount has that in it."


def people(cost: Cost) -> str:
    """How often people stepped in, and for how long."""
    if not cost.interventions:
        return "none"
    times = number_of(cost.interventions, "intervention")
    return f"{times}, {number_of_minutes(cost.minutes)}"


def spread_said(found: Spread | None, said: Callable[[float], str]) -> str:
    """Median, quartiles and the largest of some amounts, as ``said`` words one of them."""
    if found is None:
        return "unknown"

    def shown(value: Value) -> str:
        return ("> " if value.censored else "") + said(value.amount)

    text = (
        f"{shown(found.median)} ({shown(found.low)} to {shown(found.high)}; "
        f"at most {shown(found.largest)})"
    )
    return text + (f", unknown of {found.unknown}" if found.unknown else "")


def dollars(amount: float) -> str:
    """An amount of money that was computed, to a hundredth of a cent."""
    return money(Decimal(str(round(amount, 4))))


def _count(amount: float) -> str:
    return f"{amount:,.0f}"
