"""Workflows of two attempts: how often the second was made, what came of it, what each cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from trialbook.model.outcome import Outcome
from trialbook.model.plan import PlannedConfiguration, PlannedEscalation
from trialbook.model.trial import Attempt, Trial
from trialbook.model.usage import Usage
from trialbook.reporting.markdown import code, prose, table
from trialbook.reporting.results import RunResults
from trialbook.reporting.summary import AMOUNT
from trialbook.reporting.wording import duration, listed, money, number_of, ratio, words
from trialbook.stats.views import Tally

_WORKSPACES = {
    "carried": "in the workspace as the first one left it",
    "fresh": "in a fresh workspace",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptCounts:
    """The attempts of one configuration, over all its trials, replaced ones included.

    ``escalated`` counts the trials with a second attempt, of those with any; ``after_first`` and
    ``after_second`` how many of the trials with one and with two attempts were accepted.
    ``spend`` says what the first attempts and the second ones cost, in words.
    """

    configuration: str
    declared: str
    escalated: Tally
    after_first: Tally
    after_second: Tally
    spend: tuple[str, str]


def attempt_counts(results: RunResults) -> tuple[AttemptCounts, ...]:
    """The attempts of each configuration that may make two, in the plan's order."""
    found = []
    for name, planned in results.plan.configurations.items():
        if planned.escalation is None:
            continue
        trials = [one for one in results.trials if one.configuration == name and one.attempts]
        twice = [one for one in trials if any(two.attempt > 1 for two in one.attempts)]
        once = [one for one in trials if one not in twice]
        made = [one for trial in trials for one in trial.attempts]
        found.append(
            AttemptCounts(
                configuration=name,
                declared=escalation_said(planned.escalation),
                escalated=Tally(accepted=len(twice), slots=len(trials)),
                after_first=_accepted(once),
                after_second=_accepted(twice),
                spend=(
                    _spent([one for one in made if one.attempt == 1]),
                    _spent([one for one in made if one.attempt > 1]),
                ),
            )
        )
    return tuple(found)


def attempts_section(results: RunResults) -> Iterator[str]:
    """The part of a report about attempts; nothing where no configuration may make two."""
    found = attempt_counts(results)
    if not found:
        return
    yield "## Attempts\n"
    yield table(
        [
            *("configuration", "second attempts", "accepted after one", "accepted after two"),
            *("first attempts cost", "second attempts cost"),
        ],
        (
            [
                code(one.configuration),
                ratio(one.escalated),
                ratio(one.after_first),
                ratio(one.after_second),
                *map(prose, one.spend),
            ]
            for one in found
        ),
        numbers=(1, 2, 3),
    )
    for one in found:
        yield f"{code(one.configuration)} makes {prose(one.declared)}.\n"
    yield (
        "Numbers of trials, replaced ones included. Every attempt is charged to its trial: all "
        "other numbers of this report have both in them.\n"
    )


def escalation_said(planned: PlannedEscalation) -> str:
    """What a configuration declares, in a sentence without its subject."""
    to = planned.to
    model = f", {to.model}" if to.model else ""
    when = " or ".join(one.words for one in planned.when)
    told = ", and is told what they found" if planned.tell else ""
    return (
        f"a second attempt with {to.name} ({to.agent}{model}) when {when}; it works "
        f"{_WORKSPACES.get(planned.workspace, planned.workspace)}{told}"
    )


def attempts_difference(one: PlannedConfiguration, other: PlannedConfiguration) -> str:
    """What is different in how many attempts two configurations make; empty if nothing is."""
    if one.escalation == other.escalation:
        return ""
    said = [
        "one" if planned.escalation is None else escalation_said(planned.escalation)
        for planned in (one, other)
    ]
    return f"attempts ({said[0]}; against {said[1]})"


def cost_said(trial: Trial) -> str:
    """What a trial cost; where that is not known, what is known of its attempts."""
    whole = _amount(trial.usage)
    if whole is not None:
        return f"${whole} ({words(trial.usage.basis)})"
    known = [
        f"${amount} ({words(one.usage.basis)}) is known, of attempt {one.attempt}"
        for one in trial.attempts
        if one.usage is not None and (amount := _amount(one.usage)) is not None
    ]
    return "; ".join(["unknown", *known]) if len(trial.attempts) > 1 else "unknown"


def attempts_said(trial: Trial) -> list[tuple[str, list[tuple[str, str]]]]:
    """Each attempt of a workflow: a title, and facts with their names; nothing of other trials."""
    if all(one.configuration is None for one in trial.attempts):
        return []
    return [
        (f"attempt {one.attempt}: {one.configuration or trial.configuration}", list(_facts(one)))
        for one in trial.attempts
    ]


def _facts(attempt: Attempt) -> Iterator[tuple[str, str]]:
    if attempt.agent is not None:
        agent = attempt.agent
        said = f", says it is {agent.reported_version}" if agent.reported_version else ""
        yield "agent", f"{agent.name} {agent.version}{said}"
        yield "model", agent.model or "none named"
    if attempt.workspace is not None:
        yield "workspace", attempt.workspace
    yield "ended", f"{words(attempt.end or 'unknown')}: {attempt.message}"
    if attempt.outcome is not None:
        yield "comes to", words(attempt.outcome.value)
    if attempt.seconds is not None:
        yield "took", duration(attempt.seconds)
    yield "cost", _cost(attempt.usage)
    if attempt.change is not None:
        change = attempt.change
        yield "left", f"{number_of(change.files, 'file')} +{change.insertions} -{change.deletions}"
    if attempt.after is not None:
        for check in attempt.after.checks:
            yield "visible checks", f"{check.grader} {check.passed}/{check.total}"
        told = "another one followed" if attempt.after.escalated else "no other followed"
        yield "then", f"{told}: {attempt.after.reason}"


def _accepted(trials: Sequence[Trial]) -> Tally:
    accepted = sum(one.outcome is Outcome.ACCEPTED for one in trials)
    return Tally(accepted=accepted, slots=len(trials))


def _spent(attempts: Iterable[Attempt]) -> str:
    """What attempts cost, each basis for itself, and of how many that is not known."""
    known: dict[str, Decimal] = {}
    unknown = 0
    for one in attempts:
        amount = None if one.usage is None else _amount(one.usage)
        if one.usage is None or amount is None:
            unknown += 1
        else:
            basis = words(one.usage.basis)
            known[basis] = known.get(basis, Decimal(0)) + Decimal(amount)
    parts = [f"{money(usd)} ({basis})" for basis, usd in sorted(known.items())]
    if unknown:
        parts.append(f"unknown of {number_of(unknown, 'attempt')}")
    return listed(parts) or "none were made"


def _cost(usage: Usage | None) -> str:
    amount = None if usage is None else _amount(usage)
    return "unknown" if usage is None or amount is None else f"${amount} ({words(usage.basis)})"


def _amount(usage: Usage) -> str | None:
    cost = usage.cost_usd
    return cost if cost is not None and AMOUNT.fullmatch(cost) else None
