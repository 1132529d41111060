"""A comparison in words, for terminal, report and site: the answer, its evidence, its limits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction

from trialbook.reporting.comparison import CategoryRow, Compared
from trialbook.reporting.estimates import Estimates
from trialbook.reporting.wording import listed, number_of, percent, rate, ratio, words
from trialbook.stats.exact import least_sign_flip, moved_for
from trialbook.stats.interval import Interval
from trialbook.stats.paired import PairedTask
from trialbook.stats.passk import OverTasks, TaskTrials
from trialbook.stats.verdict import Comparison, Verdict
from trialbook.stats.views import Tally

_SMALLEST_SHOWN = 1e-4
_LONGEST_FRACTION = 100_000


def points(share: Fraction | float) -> str:
    """A difference of shares in percentage points, signed: ``+3.3``; ties go to the even digit."""
    tenths = round(share * 1000)
    sign = "-" if tenths < 0 else "+" if tenths else ""
    return f"{sign}{abs(tenths) // 10}.{abs(tenths) % 10}"


def probability(p: Fraction | float) -> str:
    """A p value: ``0.0078``, and the exact fraction where it is a short one: ``0.0078 (1/128)``."""
    if p < _SMALLEST_SHOWN:
        return f"less than {_SMALLEST_SHOWN}"
    shown = f"{float(p):.4f}".rstrip("0").rstrip(".")
    short = isinstance(p, Fraction) and 1 < p.denominator <= _LONGEST_FRACTION
    return f"{shown} ({p})" if short else shown


def interval_said(interval: Interval) -> str:
    """``-14.5 to +21.2 points (confidence 0.95, t, guarded)``."""
    return (
        f"{points(interval.low)} to {points(interval.high)} points "
        f"(confidence {interval.confidence:.3g}, {interval.method})"
    )


def answer(compared: Compared) -> str:
    """The answer in one sentence."""
    one, other = compared.baseline.name, compared.candidate.name
    because = f": {'; '.join(compared.because)}" if compared.because else ""
    said = {
        Verdict.BETTER: f"{other} is better than {one}",
        Verdict.WORSE: f"{other} is worse than {one}",
        Verdict.EQUIVALENT: f"{other} and {one} are equivalent within the margin",
        Verdict.NO_REGRESSION: f"{other} is not worse than {one} by more than the margin",
        Verdict.INCONCLUSIVE: f"inconclusive: {_cannot_say(compared)}",
        Verdict.NOT_READY: f"not ready{because}",
    }[compared.verdict]
    if compared.verdict is Verdict.WORSE and compared.valid and compared.valid.within_margin:
        said += ", by less than the margin"
    return f"{said}."


def _cannot_say(compared: Compared) -> str:
    if compared.because:
        return "; ".join(compared.because)
    return f"these trials do not show whether {compared.candidate.name} is better or worse"


def views(compared: Compared) -> list[tuple[str, str, str]]:
    """Per arm: its name, accepted of all scheduled slots, accepted of valid executions."""
    return [
        (arm.name, rate(arm.counts.all_scheduled), rate(arm.counts.valid_execution))
        for arm in (compared.baseline, compared.candidate)
    ]


ESTIMATES_HEAD = ("configuration", "rate over tasks", "all of k", "one of k", "lost in a streak")


def estimates_row(found: Estimates) -> list[str]:
    """A configuration's rate with its interval, pass^k and pass@k, and the flakiness gap."""
    last = found.reliability[-1]
    rate_said = "too few tasks for an interval"
    if found.rate is not None:
        interval = found.rate.interval
        rate_said = (
            f"{found.rate.accepted}/{found.rate.trials} ({percent(found.rate.rate)} over "
            f"{number_of(found.rate.tasks, 'task')}; {percent(Fraction(interval.low))} to "
            f"{percent(Fraction(interval.high))} at confidence {interval.confidence:.3g}, "
            f"{interval.method})"
        )
    return [
        found.configuration,
        rate_said,
        f"pass^{last.k} {over_tasks(last.all_of)}",
        f"pass@{last.k} {over_tasks(last.one_of)}",
        "" if found.gap is None else f"{points(found.gap).removeprefix('+')} points",
    ]


def over_tasks(found: OverTasks) -> str:
    """A mean over tasks, or that it is unknown and within which bounds."""
    if found.value is not None:
        return f"{float(found.value * found.tasks):.3g}/{found.tasks} ({percent(found.value)})"
    if found.low is None or found.high is None:
        return "unknown"
    mean = "" if found.eligible_mean is None else f"{percent(found.eligible_mean)} over "
    return (
        f"unknown: {mean}{found.eligible}/{found.tasks} (tasks with {found.k} trials; "
        f"{percent(found.low)} to {percent(found.high)})"
    )


def evidence(compared: Compared) -> Iterator[str]:
    """What the verdict rests on, a sentence each."""
    if compared.valid is None:
        return
    yield from _difference("valid executions", compared.valid)
    if compared.scheduled is not None and _numbers(compared.scheduled) != _numbers(compared.valid):
        yield from _difference("all scheduled slots", compared.scheduled)
    if compared.within_suite is not None:
        yield (
            "On these very tasks (target: within suite), by relabelling trials within tasks: "
            f"p = {probability(compared.within_suite)}."
        )
    yield from _margin(compared.valid)


def _numbers(found: Comparison) -> object:
    return found.difference and (found.difference.mean, found.difference.interval, found.p)


def _difference(view: str, found: Comparison) -> Iterator[str]:
    if found.difference is None or found.p is None:
        yield f"Of {view}: fewer than two tasks have a trial in both, so no interval."
        return
    moved = found.difference.moved
    yield (
        f"Of {view}, mean difference over {number_of(found.difference.units, 'task')} (target: "
        f"generalising): {points(found.difference.mean)} points, interval "
        f"{interval_said(found.difference.interval)}."
    )
    if found.testable:
        yield f"Exact sign-flip test over tasks: p = {probability(found.p)}."
    else:
        floor, level = probability(least_sign_flip(moved)), found.rule.level
        yield (
            f"{number_of(moved, 'task')} moved; with fewer than {moved_for(level)} the sign-flip "
            f"test cannot reach {level:.3g}, here not below {floor} (p = {probability(found.p)})."
        )


def _margin(found: Comparison) -> Iterator[str]:
    if found.collapse_bound is None:
        return
    hit = f": {listed(found.collapsed)}" if found.collapsed else ""
    bound, allowed = percent(Fraction(found.collapse_bound)), found.rule.max_collapse_share
    yield (
        f"Collapsed tasks: {len(found.collapsed)}/{len(found.tasks)} (of such tasks up to "
        f"{bound} may, by a one-sided bound at {1 - found.rule.level:.3g}; a claim of no "
        f"regression allows {float(allowed):.2f}){hit}."
    )
    if found.rule.margin is None:
        yield "No margin was declared, so nothing can be called equivalent or not worse."
        return
    if found.difference is None:
        return
    inside = "inside" if found.within_margin else "not inside"
    bounds = interval_said(found.difference.bounds)
    margin = f"{float(found.rule.margin * 100):g} points"
    yield f"Margin {margin}: {bounds} is {inside} it{_one_side(found)}."


def _one_side(found: Comparison) -> str:
    if found.within_margin:
        return ""
    return ", but above its lower end" if found.above_margin else ", and reaches below it"


def moved(found: Comparison) -> list[str]:
    """Every task that moved: ``up refunds: 1/3 to 2/3``, largest first."""
    rows = [("up", task) for task in found.up] + [("down", task) for task in found.down]
    return [f"{word} {task.task}: {_from_to(task)}" for word, task in rows]


def unstable(tasks: Sequence[PairedTask]) -> list[str]:
    """Every task whose repetitions disagree, with what it came to in each arm."""
    return [f"{task.task}: {_from_to(task, ' and ')}" for task in tasks]


def _from_to(task: PairedTask, between: str = " to ") -> str:
    return between.join(ratio(_tally(side)) for side in (task.baseline, task.candidate))


def _tally(trials: TaskTrials) -> Tally:
    return Tally(accepted=trials.accepted, slots=trials.counted)


def category_said(row: CategoryRow) -> str:
    """What may be said of a category's difference."""
    if row.p is not None:
        return f"p = {probability(row.p)} (Holm)"
    if row.flagged:
        return f"possible regression, {number_of(row.tasks, 'task')}, not testable"
    return "not testable"


def needed(compared: Compared) -> str:
    """What would have decided, in one sentence; empty when nothing can be said."""
    if not compared.needed:
        return ""
    told = [
        f"{number_of(one.tasks, 'task')} for {float(one.difference * 100):g} points"
        for one in compared.needed
    ]
    repetitions = max((len(task.chains) for task in compared.baseline.tasks), default=0)
    return (
        f"To find a difference in four runs of five, with tasks that vary as these do and "
        f"{number_of(repetitions, 'repetition')}: {listed(told)}."
    )


CATEGORIES_HEAD = ("category", "tasks", "up", "down", "points", "what may be said")


def category_table(rows: Sequence[CategoryRow]) -> list[list[str]]:
    """Category, tasks, moved up, moved down, mean difference, what may be said."""
    return [
        [
            words(row.category),
            str(row.tasks),
            listed(row.up) or "none",
            listed(row.down) or "none",
            points(row.difference),
            category_said(row),
        ]
        for row in rows
    ]
