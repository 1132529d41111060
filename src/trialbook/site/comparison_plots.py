"""The plots of a comparison: the difference with its interval, and each task from one to other."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction

from trialbook.reporting.comparison import CategoryRow, Compared
from trialbook.reporting.comparison_said import category_said, evidence, points
from trialbook.reporting.wording import number_of, ratio, words
from trialbook.site.plots.drawing import Plot, Told
from trialbook.site.plots.intervals import Row, interval_plot, of_differences
from trialbook.site.plots.slopes import Slope, slope_plot
from trialbook.stats.interval import Interval
from trialbook.stats.paired import MeanDifference, PairedTask
from trialbook.stats.passk import TaskTrials
from trialbook.stats.verdict import Comparison
from trialbook.stats.views import Tally

_MOST = 40
"""So many tasks that moved have a row of their own; the numbers beside have all."""


def difference_plot(compared: Compared) -> Plot | None:
    """The mean difference with its interval, by category and task; None while nothing may be said.

    A single task has no interval: its counts are all there is. Tasks that did not move share a row.
    """
    valid = compared.valid
    if valid is None or valid.difference is None:
        return None
    margin = compared.rule.margin
    rows = [_whole("all tasks", valid, valid.difference)]
    scheduled = compared.scheduled.difference if compared.scheduled is not None else None
    if scheduled is not None and scheduled != valid.difference:
        rows.append(_whole("all scheduled slots", valid, scheduled))
    rows += [_category(row) for row in compared.categories]
    rows += _tasks(valid)
    band = (
        "" if margin is None else " The band is the margin, which the thick part is held against."
    )
    squares = (
        " Squares: categories, each by itself, dashed where nothing may be claimed."
        if compared.categories
        else ""
    )
    return interval_plot(
        rows,
        of_differences(
            None if margin is None else float(margin),
            (f"{compared.baseline.name} accepts more", f"{compared.candidate.name} accepts more"),
        ),
        Told(
            title=f"Difference in accepted trials: {compared.candidate.name} against "
            f"{compared.baseline.name}, in points",
            text=next(evidence(compared)),
            note="Diamond: the mean over tasks, on which the answer rests; its line is the "
            f"interval.{band}{squares} Dots: single tasks, whose counts carry no interval.",
            columns=("what", "difference", "interval or counts"),
            rows=list(_numbers(compared, valid)),
        ),
    )


def _whole(label: str, found: Comparison, difference: MeanDifference) -> Row:
    bounds = difference.bounds if found.rule.margin is not None else None
    return Row(
        label=label,
        value=float(difference.mean),
        low=difference.interval.low,
        high=difference.interval.high,
        inner=None if bounds is None else (bounds.low, bounds.high),
        said=f"{points(difference.mean)} points",
        kind="whole",
    )


def _category(row: CategoryRow) -> Row:
    interval = row.interval
    return Row(
        label=words(row.category),
        value=float(row.difference),
        low=None if interval is None else interval.low,
        high=None if interval is None else interval.high,
        said=f"{points(row.difference)}, {number_of(row.tasks, 'task')}",
        kind="group",
        faint=row.p is None,
    )


def _tasks(found: Comparison) -> Iterator[Row]:
    moved = [*found.up, *reversed(found.down)]
    if len(moved) > _MOST:
        half = _MOST // 2
        shown = [*found.up[:half], *reversed(found.down[:half])]
    else:
        shown = moved
    for task in shown:
        yield Row(label=task.task, value=float(task.difference or 0), said=from_to(task))
    if len(moved) > len(shown):
        rest = number_of(len(moved) - len(shown), "task")
        yield Row(label=f"{rest} more moved", value=None, said="see the numbers")
    still = len(found.tasks) - len(moved)
    if still:
        yield Row(label=f"{number_of(still, 'task')} did not move", value=0.0, said=points(0.0))


def from_to(task: PairedTask) -> str:
    """``1/3 to 2/3``."""
    return f"{_counts(task.baseline)} to {_counts(task.candidate)}"


def _counts(trials: TaskTrials) -> str:
    return ratio(Tally(accepted=trials.accepted, slots=trials.counted))


def _numbers(compared: Compared, valid: Comparison) -> Iterator[tuple[str, str, str]]:
    views = [("valid executions", valid)]
    if compared.scheduled is not None:
        views.append(("all scheduled slots", compared.scheduled))
    for name, found in views:
        if found.difference is not None:
            yield name, points(found.difference.mean), _within(found.difference.interval)
            if found.rule.margin is not None:
                yield f"{name}, for the margin", "", _within(found.difference.bounds)
    for row in compared.categories:
        within = "" if row.interval is None else f"{_within(row.interval)}; "
        yield words(row.category), points(row.difference), f"{within}{category_said(row)}"
    for task in valid.tasks:
        yield task.task, points(task.difference or Fraction(0)), from_to(task)


def _within(interval: Interval) -> str:
    low, high = points(interval.low), points(interval.high)
    return f"{low} to {high} (confidence {interval.confidence:.3g}, {interval.method})"


def task_slopes(compared: Compared) -> Plot | None:
    """Each task from the baseline's rate to the candidate's."""
    valid = compared.valid
    if valid is None or not valid.tasks:
        return None
    slopes = [
        Slope(task=task.task, baseline=float(one), candidate=float(other))
        for task in valid.tasks
        if (one := task.baseline.rate) is not None and (other := task.candidate.rate) is not None
    ]
    up, down = len(valid.up), len(valid.down)
    still = len(valid.tasks) - up - down
    return slope_plot(
        slopes,
        (compared.baseline.name, compared.candidate.name),
        Told(
            title="Accepted trials of each task",
            text=f"Of {number_of(len(valid.tasks), 'task')}, {up} went up, {down} went down, and "
            f"{still} did not move.",
            note="A line is a task, a thick one three or more that go the same way; solid ones go "
            "up, dashed ones down. Tasks that moved are named.",
            columns=("task", compared.baseline.name, compared.candidate.name),
            rows=[
                (task.task, _counts(task.baseline), _counts(task.candidate)) for task in valid.tasks
            ],
        ),
    )
