"""One run in numbers: per configuration, both views, checks per repetition, spend; and the matrix.

Computed from the plan and the trials' records alone, so that the terminal, the report and the site
say the same.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations

from trialbook.model.deciding import is_judge
from trialbook.model.grade import GradeStatus
from trialbook.model.outcome import NOT_RUN
from trialbook.model.plan import Plan, SlotKey
from trialbook.model.trial import Trial
from trialbook.model.usage import Usage
from trialbook.reporting.wording import money, nature, nature_label
from trialbook.stats.views import Counts, SlotChain, chains, comparable, count

AMOUNT = re.compile(r"[0-9]{1,12}(\.[0-9]{1,12})?", re.ASCII)
"""An amount of money as records write it. Anything else is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChecksCount:
    """Checks passed by one grader in one repetition of one configuration, over all tasks.

    ``graded`` of ``slots`` slots have a grade of it; the others' checks are in neither number.
    """

    grader: str
    repetition: int
    passed: int
    total: int
    graded: int
    slots: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """What all trials of a configuration cost, replaced ones included, by the cost's basis.

    ``usd`` is None when no trial's cost is known: unknown is never 0. Amounts with different bases
    are not added up.
    """

    basis: str
    usd: Decimal | None
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfigurationSummary:
    """One configuration's part of a run."""

    name: str
    label: str
    nature: str
    description: str
    counts: Counts
    checks: tuple[ChecksCount, ...]
    spend: tuple[Spend, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """One slot of the matrix: its outcome among all scheduled slots, and its trials.

    ``changed`` says whether the outcome of one of them is not the recorded one.
    """

    slot: SlotKey
    outcome: str
    trials: tuple[Trial, ...]
    changed: bool = False

    @property
    def last(self) -> Trial | None:
        """The trial that stands at the end of the slot's chain."""
        return self.trials[-1] if self.trials else None


@dataclass(frozen=True, slots=True, kw_only=True)
class Summary:
    """One run in numbers.

    ``not_comparable`` names pairs of configurations that lost too different numbers of slots for a
    comparison among valid executions. ``unplanned`` are trials on record outside the plan.
    """

    suite: str
    run: str
    protocol: int
    draft: bool
    tasks: tuple[str, ...]
    repetitions: int
    total: Counts
    configurations: tuple[ConfigurationSummary, ...]
    cells: Mapping[SlotKey, Cell]
    not_comparable: tuple[tuple[str, str], ...]
    not_isolated: int
    unplanned: tuple[Trial, ...]

    @property
    def finished(self) -> int:
        """Slots with at least one trial on record."""
        return sum(bool(cell.trials) for cell in self.cells.values())


def summarise(plan: Plan, trials: Iterable[Trial], changed: Collection[str] = ()) -> Summary:
    """Everything that is counted about one run.

    Args:
        plan: The run's plan.
        trials: Its trials as they count.
        changed: The paths of those whose outcome is not the recorded one.
    """
    ordered = sorted(trials, key=lambda trial: (trial.slot, trial.rerun))
    scheduled = tuple(slot.key for slot in plan.schedule)
    by_slot: dict[SlotKey, list[Trial]] = {slot: [] for slot in scheduled}
    unplanned = []
    for trial in ordered:
        if trial.slot in by_slot:
            by_slot[trial.slot].append(trial)
        else:
            unplanned.append(trial)
    found = chains(scheduled, ((trial.slot, trial.rerun, trial.outcome) for trial in ordered))
    configurations = tuple(
        _configuration(plan, name, [c for c in found if c.slot.configuration == name], by_slot)
        for name in plan.configurations
    )
    return Summary(
        suite=plan.suite,
        run=plan.run,
        protocol=plan.protocol,
        draft=plan.status == "draft",
        tasks=tuple(plan.tasks),
        repetitions=plan.repetitions,
        total=count(found),
        configurations=configurations,
        cells={chain.slot: _cell(chain, by_slot[chain.slot], changed) for chain in found},
        not_comparable=tuple(
            (one.name, other.name)
            for one, other in combinations(configurations, 2)
            if not comparable(one.counts, other.counts)
        ),
        not_isolated=sum(t.isolation is not None and not t.isolation.isolated for t in ordered),
        unplanned=tuple(unplanned),
    )


def _configuration(
    plan: Plan, name: str, slots: Sequence[SlotChain], by_slot: Mapping[SlotKey, Sequence[Trial]]
) -> ConfigurationSummary:
    planned = plan.configurations[name]
    trials = [trial for chain in slots for trial in by_slot[chain.slot]]
    return ConfigurationSummary(
        name=name,
        label=nature_label(planned),
        nature=nature(planned),
        description=" ".join(planned.description.split()),
        counts=count(slots),
        checks=tuple(_checks(slots, by_slot)),
        spend=tuple(spend([trial.usage for trial in trials])),
    )


def _cell(chain: SlotChain, trials: Sequence[Trial], changed: Collection[str]) -> Cell:
    outcome = chain.scheduled_outcome
    return Cell(
        slot=chain.slot,
        outcome=outcome or NOT_RUN,
        trials=tuple(trials),
        changed=any(trial.path in changed for trial in trials),
    )


def _checks(
    slots: Sequence[SlotChain], by_slot: Mapping[SlotKey, Sequence[Trial]]
) -> Iterable[ChecksCount]:
    """Per grader and repetition, from the trial at the end of each slot's chain."""
    last = [(chain.slot, by_slot[chain.slot][-1:]) for chain in slots]
    asked = {grade.grader for _, ended in last for t in ended for grade in t.grades}
    graders = sorted(name for name in asked if not is_judge(name))
    for grader in graders:
        for repetition in sorted({slot.repetition for slot, _ in last}):
            turn = [ended for slot, ended in last if slot.repetition == repetition]
            grades = [
                grade
                for ended in turn
                for trial in ended
                for grade in trial.grades
                if grade.grader == grader and grade.status == GradeStatus.GRADED
            ]
            yield ChecksCount(
                grader=grader,
                repetition=repetition,
                passed=sum(grade.passed for grade in grades),
                total=sum(grade.total for grade in grades),
                graded=len(grades),
                slots=len(turn),
            )


def spend(usages: Sequence[Usage]) -> Iterable[Spend]:
    """What trials cost, one entry a basis; those of unknown cost come last, without an amount.

    An amount that is no plain decimal number is not known either.
    """
    known: dict[str, list[Decimal]] = {}
    for usage in usages:
        amount = usage.cost_usd
        if amount is not None and AMOUNT.fullmatch(amount):
            known.setdefault(usage.basis, []).append(Decimal(amount))
    for basis in sorted(known):
        yield Spend(basis=basis, usd=sum(known[basis], Decimal(0)), trials=len(known[basis]))
    unknown = len(usages) - sum(map(len, known.values()))
    if unknown:
        yield Spend(basis="unknown", usd=None, trials=unknown)


def amount_said(entry: Spend) -> str:
    """An amount, or that it is not known."""
    return "unknown" if entry.usd is None else money(entry.usd)


def checks_said(count: ChecksCount) -> str:
    """One repetition's checks: ``9/9``, and how many slots were graded where not all were."""
    if not count.graded:
        return "not graded"
    said = f"{count.passed}/{count.total}"
    if count.graded == count.slots:
        return said
    return f"{said} ({count.graded} of {count.slots} slots graded)"
