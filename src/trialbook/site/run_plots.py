"""The plots of one run: reliability, time, and cost against acceptance, as far as known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from trialbook.reporting.arms import Arm, TaskSlots, arm
from trialbook.reporting.comparison import Compared
from trialbook.reporting.comparison_said import over_tasks
from trialbook.reporting.costs import Cost, costs, working_times
from trialbook.reporting.costs_said import per_accepted, spread_said
from trialbook.reporting.report_decision import compared
from trialbook.reporting.results import RunResults
from trialbook.reporting.tradeoff import tradeoff
from trialbook.reporting.wording import duration, listed, number_of, rate, words
from trialbook.site.plots.drawing import Plot, Told
from trialbook.site.plots.passk import Curve, Point, pass_curves
from trialbook.site.plots.scale import brief
from trialbook.site.plots.strips import Strip, strip_plot
from trialbook.site.plots.tradeoff import Priced, tradeoff_plot
from trialbook.stats.interval import Interval, clustered_rate
from trialbook.stats.passk import OverTasks, suite_pass_at, suite_pass_hat
from trialbook.stats.spread import Spread, Value
from trialbook.stats.views import Tally

_BOTH_KINDS = 3
"""With more configurations than that, only the chance of *all of k* is drawn."""


def pass_plot(results: RunResults, names: Sequence[str] = ()) -> Plot | None:
    """pass^k and pass@k of a run, or of some of its configurations; none while it is not complete.

    None too where every task has one repetition: then there is no k but 1.
    """
    if results.summary.finished < len(results.summary.cells):
        return None
    found = [arm([results], name) for name in names or results.plan.configurations]
    return pass_plot_of([one for one in found if one is not None])


def pass_plot_of(arms: Sequence[Arm]) -> Plot | None:
    """The same of some arms."""
    most = max((len(task.chains) for one in arms for task in one.tasks), default=0)
    if most < 2:  # noqa: PLR2004 - two repetitions
        return None
    curves, rows, told = [], [], []
    for one in arms:
        trials = one.trials(TaskSlots.valid)
        all_of = [suite_pass_hat(trials, k) for k in range(1, most + 1)]
        one_of = [suite_pass_at(trials, k) for k in range(1, most + 1)]
        curves.append(
            Curve(
                name=one.name,
                all_of=[_point(found) for found in all_of],
                one_of=[_point(found) for found in one_of] if len(arms) <= _BOTH_KINDS else [],
            )
        )
        rows += [
            (one.name, str(a.k), over_tasks(a), over_tasks(b))
            for a, b in zip(all_of, one_of, strict=True)
        ]
        told.append(f"{one.name} {over_tasks(all_of[-1])}")
    return pass_curves(
        curves,
        Told(
            title=f"How reliable: from one trial to {most} in a row",
            text=f"All of {most} trials of a task are accepted: {'; '.join(told)}.",
            note="Means over tasks, of valid executions. Solid: all of k trials are accepted "
            "(pass^k). Dotted: at least one of k is (pass@k). Where a task has fewer than k "
            "trials, nothing is known: a bar then holds what could be.",
            columns=("configuration", "k", "all of k (pass^k)", "one of k (pass@k)"),
            rows=rows,
        ),
    )


def _point(found: OverTasks) -> Point:
    value, low, high = (
        None if one is None else float(one) for one in (found.value, found.low, found.high)
    )
    return Point(k=found.k, value=value, low=low, high=high)


def duration_plot(results: RunResults) -> Plot | None:
    """How long the agents of a run worked, trial by trial."""
    found = [
        (one.configuration, one.seconds, working_times(results, one.configuration))
        for one in costs(results)
        if one.seconds is not None
    ]
    if not found:
        return None
    size, unit = _unit(max(spread.largest.amount for _, spread, _ in found))
    strips = [_strip(name, spread, times, size) for name, spread, times in found]
    medians = listed(f"{strip.name} {strip.said}" for strip in strips)
    cut = sum(spread.censored for _, spread, _ in found)
    known = sum(spread.count for _, spread, _ in found)
    stopped = (
        f" {cut} of {number_of(known, 'trial')} were stopped by a limit, and would have gone on."
        if cut
        else ""
    )
    return strip_plot(
        strips,
        lambda value: f"{brief(round(value, 4))} {unit}",
        Told(
            title="How long the agents worked",
            text=f"Median time of a trial: {medians}.{stopped}",
            note="A dot is a trial, an open arrow one that a limit stopped: it took at least that "
            "long. The box holds the middle half, the line in it is the median.",
            columns=("configuration", "trials", "stopped", "median (quartiles; most)"),
            rows=[
                (name, str(spread.count), str(spread.censored), spread_said(spread, duration))
                for name, spread, _ in found
            ],
        ),
    )


def _strip(name: str, spread: Spread, times: Sequence[Value], size: float) -> Strip:
    low, middle, high = (
        None if value.censored else value.amount / size
        for value in (spread.low, spread.median, spread.high)
    )
    return Strip(
        name=name,
        amounts=[(time.amount / size, time.censored) for time in times],
        quartiles=(low, middle, high),
        said=("> " if spread.median.censored else "") + duration(spread.median.amount),
    )


def _unit(longest: float) -> tuple[float, str]:
    """In what a length of time is measured on an axis: seconds, minutes or hours."""
    units = ((3600.0, "h"), (60.0, "min"))
    return next(((size, name) for size, name in units if longest >= 2 * size), (1.0, "s"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Spent:
    """What a configuration cost, and what it came to among valid executions.

    ``share`` is over tasks where there are enough of them for an interval (``within``), else the
    share of all trials; None where no trial counts.
    """

    cost: Cost
    valid: Tally
    share: float | None
    within: Interval | None


def spent_of(results: RunResults) -> tuple[Spent, ...]:
    """Every configuration of a run."""
    found = []
    for cost in costs(results):
        one = arm([results], cost.configuration)
        if one is not None:
            valid = one.counts.valid_execution
            over = clustered_rate(one.trials(TaskSlots.valid))
            share = valid.rate if over is None else over.rate
            found.append(
                Spent(
                    cost=cost,
                    valid=valid,
                    share=None if share is None else float(share),
                    within=None if over is None else over.interval,
                )
            )
    return tuple(found)


def tradeoff_of(found: Compared, spent: Sequence[Spent]) -> list[str]:
    """What acceptance and cost of the two that were compared say together."""
    by_name = {one.cost.configuration: one.cost for one in spent}
    pair = (by_name[found.baseline.name], by_name[found.candidate.name])
    return list(tradeoff(found, *pair))


def cost_plot(results: RunResults) -> Plot | None:
    """What an accepted change costs against how much is accepted, where both are known."""
    spent = spent_of(results)
    found = compared(results)
    return cost_plot_of(spent, [] if found is None else tradeoff_of(found, spent))


def cost_plot_of(spent: Sequence[Spent], said: Sequence[str]) -> Plot | None:
    """The same of some configurations; ``said`` is what may be said of them.

    Amounts of different bases have no common axis: those of the most frequent one are drawn.
    """
    able = [one for one in spent if one.cost.per_accepted is not None and one.cost.basis]
    if not able:
        return None
    [(basis, _)] = Counter(one.cost.basis for one in able).most_common(1)
    drawn = [one for one in able if one.cost.basis == basis]
    left_out = [one.cost.configuration for one in spent if one not in drawn]
    text = " ".join(said) or "For each accepted change: " + "; ".join(
        f"{one.cost.configuration} {per_accepted(one.cost)}" for one in drawn
    )
    missing = f" Not drawn, since not known on this basis: {listed(left_out)}." if left_out else ""
    return tradeoff_plot(
        [_priced(one) for one in drawn],
        Told(
            title="Acceptance and cost",
            text=text if text.endswith(".") else f"{text}.",
            note=f"Amounts: {words(basis or '')}. To the left is cheaper, to the top is more "
            "accepted, of valid executions. Lines are intervals at confidence 0.95, each by "
            f"itself; an interval that ends in no bar goes on.{missing}",
            columns=("configuration", "for each accepted", "accepted (valid executions)"),
            rows=[
                (one.cost.configuration, per_accepted(one.cost), rate(one.valid)) for one in drawn
            ],
        ),
    )


def _priced(one: Spent) -> Priced:
    ratio = one.cost.per_accepted
    within = None if ratio is None else ratio.interval
    return Priced(
        name=one.cost.configuration,
        acceptance=one.share or 0.0,
        acceptance_low=None if one.within is None else one.within.low,
        acceptance_high=None if one.within is None else one.within.high,
        cost=0.0 if ratio is None else ratio.ratio,
        cost_low=None if within is None else within.low,
        cost_high=None if within is None else within.high,
    )
