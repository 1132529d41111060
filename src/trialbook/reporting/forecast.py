"""What a plan can be expected to show and to cost, told before its first trial."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from trialbook.model.plan import Plan
from trialbook.reporting.arms import TaskSlots, arm
from trialbook.reporting.costs import costs
from trialbook.reporting.results import RunResults
from trialbook.reporting.wording import duration, money, number_of
from trialbook.stats.paired import paired
from trialbook.stats.power import ASSUMED, Variation, detectable, variation
from trialbook.stats.spread import Spread

REPETITIONS = (1, 3, 5, 10)
"""The repetitions that the power table shows, besides the plan's own."""

_PAIR = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class PowerRow:
    """The smallest difference that is found in four runs of five; None if none is."""

    repetitions: int
    difference: float | None
    planned: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Forecast:
    """What to expect of a plan.

    ``power`` is empty unless two configurations or more have two tasks or more. ``pilot`` is the
    run whose variation it rests on, or None: then common values are assumed. ``seconds`` and
    ``usd`` are of the whole run, from what earlier trials of the same configurations took; None
    where that is not known for each of them.
    """

    tasks: int
    repetitions: int
    power: tuple[PowerRow, ...]
    pilot: str | None
    seconds: float | None
    usd: Decimal | None
    slots: int


def forecast(plan: Plan, past: Sequence[RunResults]) -> Forecast:
    """What to expect, from earlier runs of the suite (newest last)."""
    found, pilot = _variation(plan, past)
    tasks = len(plan.tasks)
    power: tuple[PowerRow, ...] = ()
    if tasks >= _PAIR and len(plan.configurations) >= _PAIR:
        power = tuple(
            PowerRow(
                repetitions=number,
                difference=detectable(tasks, found.of_difference(number)),
                planned=number == plan.repetitions,
            )
            for number in sorted({*REPETITIONS, plan.repetitions})
        )
    seconds, usd = _took(plan, past)
    return Forecast(
        tasks=tasks,
        repetitions=plan.repetitions,
        power=power,
        pilot=pilot,
        seconds=seconds,
        usd=usd,
        slots=len(plan.schedule),
    )


def _variation(plan: Plan, past: Sequence[RunResults]) -> tuple[Variation, str | None]:
    """The variation of the newest earlier run that shows one, or what is commonly seen."""
    names = list(plan.configurations)
    if plan.compare is not None:
        names = [plan.compare.baseline, plan.compare.candidate]
    for run in reversed(past):
        sides = [arm([run], name) for name in names[:_PAIR]]
        one, other = ([*sides, None, None])[:_PAIR]
        if run.plan.protocol != plan.protocol or one is None or other is None:
            continue
        found = variation(paired(one.trials(TaskSlots.valid), other.trials(TaskSlots.valid)))
        if found is not None and found.of_difference(1) > 0:
            return found, run.plan.run
    return ASSUMED, None


def _took(plan: Plan, past: Sequence[RunResults]) -> tuple[float | None, Decimal | None]:
    slots = len(plan.schedule) // max(1, len(plan.configurations))
    seconds: list[float] = []
    usd: list[Decimal] = []
    for name, planned in plan.configurations.items():
        known = [
            cost
            for run in past
            for cost in costs(run)
            if cost.configuration == name and run.plan.configurations[name].digest == planned.digest
        ]
        if known and known[-1].seconds is not None:
            seconds.append(known[-1].seconds.median.amount * slots / plan.jobs)
        amount = _median(known[-1].usd) if known else None
        if amount is not None:
            usd.append(amount * slots)
    whole = len(plan.configurations)
    return (
        sum(seconds) if len(seconds) == whole else None,
        sum(usd, Decimal(0)) if len(usd) == whole else None,
    )


def _median(found: Spread | None) -> Decimal | None:
    return None if found is None or found.unknown else Decimal(str(found.median.amount))


def said(found: Forecast) -> Iterator[str]:
    """The forecast in sentences."""
    planned = next((row for row in found.power if row.planned), None)
    size = f"{number_of(found.tasks, 'task')} x {found.repetitions}"
    if planned is not None and planned.difference is None:
        yield f"{size}: no difference can be expected to show; add tasks"
    elif planned is not None:
        yield (
            f"{size}: expect to detect about {_points(planned)} points; smaller differences will "
            "come out inconclusive"
        )
    elif found.tasks < _PAIR:
        yield f"{size}: one task cannot show a difference beyond itself; add tasks"
    others = [f"{_points(row)} at {row.repetitions}" for row in found.power if not row.planned]
    if any(row.difference is not None for row in found.power if not row.planned):
        based = f"as run {found.pilot} varied" if found.pilot else "with variation as is common"
        yield f"with other repetitions, {based}: {', '.join(others)}"
    took = [
        *([f"about {duration(found.seconds or 0)}"] if (found.seconds or 0) >= 1 else []),
        *([f"about {money(round(found.usd, 2))}"] if found.usd is not None else []),
    ]
    if took:
        yield f"{number_of(found.slots, 'trial')}, {' and '.join(took)}, as earlier ones were"


def _points(row: PowerRow) -> str:
    return "none" if row.difference is None else str(round(Fraction(row.difference) * 100))
