"""What a configuration costs: for each accepted change, and how it spreads over its trials.

Every trial counts, failed, replaced and cancelled ones too. Amounts with different bases are never
added up, and where the cost of a trial is not known, the cost of an accepted change is not either.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan
from trialbook.model.trial import Trial
from trialbook.model.usage import Usage
from trialbook.reporting.results import RunResults
from trialbook.reporting.summary import AMOUNT
from trialbook.reporting.summary import spend as spend_by_basis
from trialbook.stats.cost import Ratio, TaskSpend, cost_per_accepted
from trialbook.stats.spread import Spread, Value, spread

_HOUR = 60
_LIMITED = frozenset({Outcome.AGENT_TIMEOUT, Outcome.BUDGET_EXHAUSTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """One configuration's spend, and what its trials took.

    ``spend`` is None unless every trial's cost is known on one ``basis``. ``per_accepted`` is the
    spend for each accepted slot with its interval over tasks; None too when nothing was accepted.
    ``unaided`` are the accepted slots in which nobody stepped in, ``minutes`` those that people
    spent on its trials. ``reviews`` and ``review_minutes`` are what people did who reviewed them,
    and ``review_usd`` what that cost, if the plan says what an hour costs. ``judgements`` are what
    judges said of its trials, ``judge_usd`` what that cost, on ``judge_basis``; None unless all of
    it is known on one. No other amount has either in it. The spreads are over all its trials;
    a trial that a limit stopped took at least what it took.
    """

    configuration: str
    basis: str | None
    spend: Decimal | None
    accepted: int
    unaided: int
    tasks: tuple[TaskSpend, ...]
    per_accepted: Ratio | None
    interventions: int
    minutes: float
    seconds: Spread | None
    tokens: Spread | None
    usd: Spread | None
    reviews: int = 0
    review_minutes: float = 0.0
    review_usd: Decimal | None = None
    judgements: int = 0
    judge_basis: str | None = None
    judge_usd: Decimal | None = None


def costs(results: RunResults) -> tuple[Cost, ...]:
    """The cost of each configuration of a run, in the plan's order."""
    return results.once(
        "costs", lambda: tuple(_cost(results, n) for n in results.plan.configurations)
    )


def _cost(results: RunResults, name: str) -> Cost:
    cells = [cell for slot, cell in results.summary.cells.items() if slot.configuration == name]
    trials = [trial for cell in cells for trial in cell.trials]
    basis, whole = _on_one_basis([trial.usage for trial in trials])
    judged = [
        grade.judgement.usage
        for trial in trials
        for grade in results.grades.get(trial.path, ())
        if grade.judgement is not None
    ]
    judge_basis, judge_usd = _on_one_basis(judged)
    by_task: dict[str, tuple[Decimal, int]] = {}
    for cell in cells:
        spent, accepted = by_task.get(cell.slot.task, (Decimal(0), 0))
        spent += sum((_usd(trial) or Decimal(0) for trial in cell.trials), Decimal(0))
        accepted += bool(cell.trials) and cell.trials[0].outcome is Outcome.ACCEPTED
        by_task[cell.slot.task] = (spent, accepted)
    tasks = [TaskSpend(task=task, spend=s, accepted=a) for task, (s, a) in by_task.items()]
    interventions = [one for trial in trials for one in results.standing(trial).interventions]
    accepted_first = [
        cell.trials[0]
        for cell in cells
        if cell.trials and cell.trials[0].outcome is Outcome.ACCEPTED
    ]
    reviewed = [one for trial in trials if (one := results.standing(trial).reviewed) is not None]
    review_minutes = sum(one.minutes for one in reviewed)
    return Cost(
        configuration=name,
        basis=basis,
        spend=whole,
        accepted=len(accepted_first),
        unaided=sum(not results.standing(trial).interventions for trial in accepted_first),
        tasks=tuple(tasks),
        per_accepted=cost_per_accepted(tasks) if whole is not None else None,
        interventions=len(interventions),
        minutes=sum(one.minutes for one in interventions),
        seconds=_spread(trials, _seconds),
        tokens=_spread(trials, lambda trial: trial.usage.tokens),
        usd=_spread(trials, _dollars) if _one_kind(trials) else None,
        reviews=sum(len(one.reviews) for one in reviewed),
        review_minutes=review_minutes,
        review_usd=review_usd(results.plan, review_minutes),
        judgements=len(judged),
        judge_basis=judge_basis,
        judge_usd=judge_usd,
    )


def _on_one_basis(usages: Sequence[Usage]) -> tuple[str | None, Decimal | None]:
    """The sum and its basis, if every amount is known and all of them on the same basis."""
    known = list(spend_by_basis(usages))
    if len(known) != 1 or known[0].usd is None:
        return None, None
    return known[0].basis, known[0].usd


def _one_kind(trials: Sequence[Trial]) -> bool:
    """Whether the amounts that are known are of one basis: others have no common median."""
    return len({trial.usage.basis for trial in trials if _usd(trial) is not None}) == 1


def review_usd(plan: Plan, minutes: float) -> Decimal | None:
    """What minutes of reviewers cost; None if the plan does not say what an hour costs."""
    rate = plan.judgement.usd_per_hour if plan.judgement is not None else None
    return None if rate is None else Decimal(str(round(minutes * rate / _HOUR, 2)))


def working_times(results: RunResults, name: str) -> tuple[Value, ...]:
    """How long the agent of a configuration worked in each trial of which that is known."""
    trials = [trial for trial in results.trials if trial.configuration == name]
    return tuple(one for one in _values(trials, _seconds) if one is not None)


def _spread(trials: Sequence[Trial], of: Callable[[Trial], float | None]) -> Spread | None:
    return spread(_values(trials, of))


def _values(trials: Iterable[Trial], of: Callable[[Trial], float | None]) -> Iterator[Value | None]:
    for trial in trials:
        amount = of(trial)
        limited = trial.outcome in _LIMITED or trial.graded_anyway
        yield None if amount is None else Value(amount, censored=limited)


def _usd(trial: Trial) -> Decimal | None:
    amount = trial.usage.cost_usd
    return Decimal(amount) if amount is not None and AMOUNT.fullmatch(amount) else None


def _dollars(trial: Trial) -> float | None:
    amount = _usd(trial)
    return None if amount is None else float(amount)


def _seconds(trial: Trial) -> float | None:
    """How long the agent worked, in all attempts."""
    found = [stage.seconds for stage in trial.stages if stage.name == "agent"]
    return sum(found) if found else None
