"""The plots of one run: reliability, time, and cost against acceptance, as far as known."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from trialbook.reporting.arms import Arm, TaskSlots, arm
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
from trialbook.stats.interval import clustered_rate
from trialbook.stats.passk import OverTasks, suite_pass_at, suite_pass_hat
from trialbook.stats.spread import Spread, Value

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
        f" {cut} of {number_of(known, 'trial')} were stopped by a limit, and took longer than that."
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


def cost_plot(results: RunResults) -> Plot | None:
    """What an accepted change costs against how much is accepted, where both are known."""
    spent = costs(results)
    found = compared(results)
    said: list[str] = []
    if found is not None:
        by_name = {one.configuration: one for one in spent}
        pair = (by_name[found.baseline.name], by_name[found.candidate.name])
        said = list(tradeoff(found, *pair))
    arms = [arm([results], one.configuration) for one in spent]
    pairs = [(one, of) for one, of in zip(spent, arms, strict=True) if of is not None]
    return cost_plot_of(pairs, said)


def cost_plot_of(pairs: Sequence[tuple[Cost, Arm]], said: Sequence[str]) -> Plot | None:
    """The same of some configurations; ``said`` is what may be said of them.

    Amounts of different bases have no common axis: those of the most frequent one are drawn.
    """
    able = [(cost, one) for cost, one in pairs if cost.per_accepted is not None and cost.basis]
    if not able:
        return None
    [(basis, _)] = Counter(cost.basis for cost, _ in able).most_common(1)
    drawn = [(cost, one) for cost, one in able if cost.basis == basis]
    left_out = [cost.configuration for cost, _ in pairs if all(cost is not c for c, _ in drawn)]
    priced = list(_priced(drawn))
    if not priced:
        return None
    text = " ".join(said) or "For each accepted change: " + "; ".join(
        f"{cost.configuration} {per_accepted(cost)}" for cost, _ in drawn
    )
    missing = f" Not drawn, since not known on this basis: {listed(left_out)}." if left_out else ""
    return tradeoff_plot(
        priced,
        Told(
            title="Acceptance and cost",
            text=text if text.endswith(".") else f"{text}.",
            note=f"Amounts: {words(basis or '')}. To the left is cheaper, to the top is more "
            "accepted, of valid executions. Lines are intervals at confidence 0.95, each by "
            f"itself; an interval that ends in no bar goes on.{missing}",
            columns=("configuration", "for each accepted", "accepted (valid executions)"),
            rows=[
                (cost.configuration, per_accepted(cost), rate(one.counts.valid_execution))
                for cost, one in drawn
            ],
        ),
    )


def _priced(drawn: Sequence[tuple[Cost, Arm]]) -> Iterator[Priced]:
    for cost, one in drawn:
        share = clustered_rate(one.trials(TaskSlots.valid))
        plain = one.counts.valid_execution.rate
        middle: Fraction | None = share.rate if share is not None else plain
        if cost.per_accepted is None or middle is None:
            continue
        within = cost.per_accepted.interval
        yield Priced(
            name=cost.configuration,
            acceptance=float(middle),
            acceptance_low=None if share is None else share.interval.low,
            acceptance_high=None if share is None else share.interval.high,
            cost=cost.per_accepted.ratio,
            cost_low=None if within is None else within.low,
            cost_high=None if within is None else within.high,
        )
