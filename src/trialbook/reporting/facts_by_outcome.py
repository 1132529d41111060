"""How agents worked in a run, for each configuration, apart by whether the trial was accepted.

Failed work tends to be longer and to repeat itself more, so the two are never mixed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from trialbook.model.outcome import Outcome
from trialbook.model.trial import Trial
from trialbook.reporting.trial_facts import TrialFacts
from trialbook.stats.conduct import Conduct

Number = float | int | None


def _percent(share: float | None) -> Number:
    return None if share is None else share * 100


MEASURES: tuple[tuple[str, Callable[[Conduct], Number]], ...] = (
    ("events", lambda one: one.events),
    ("commands", lambda one: one.commands),
    ("commands repeated, %", lambda one: _percent(one.repeat_ratio)),
    ("same failure in a row", lambda one: one.failing_run),
    ("unchanged files read again", lambda one: one.rereads),
    ("edits", lambda one: one.edits + one.shell_edits),
    ("edits taken back", lambda one: one.reverted_edits),
    ("events before the first edit", lambda one: one.events_before_edit),
    ("seconds after the last useful edit", lambda one: one.seconds_after_edit),
    ("risky commands", lambda one: one.risky_commands),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """Median and ends of what is known, of how many trials; ``of`` counts those that are not."""

    known: int
    of: int
    median: float | None = None
    least: float | None = None
    most: float | None = None

    def __str__(self) -> str:
        if self.median is None or self.least is None or self.most is None:
            return "" if not self.of else f"unknown of {self.of}"
        told = f"{self.median:.4g} ({self.least:.4g} to {self.most:.4g})"
        return told if self.known == self.of else f"{told}, known of {self.known}/{self.of}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """One measure of one configuration."""

    configuration: str
    name: str
    accepted: Spread
    others: Spread


def facts_by_outcome(
    trials: Iterable[Trial], facts: Mapping[str, TrialFacts]
) -> tuple[Measured, ...]:
    """The measures of every configuration that has trajectories.

    Args:
        trials: The trials as they count; those that were no valid execution are left out.
        facts: The facts of trials, by path; of several attempts the last one counts.
    """
    return conduct_by_outcome(trials, {path: last_conduct(one) for path, one in facts.items()})


def conduct_by_outcome(
    trials: Iterable[Trial], conducts: Mapping[str, Conduct | None]
) -> tuple[Measured, ...]:
    """The same from how agents worked in each trial, by its path."""
    found: dict[str, tuple[list[Conduct], list[Conduct]]] = {}
    for trial in trials:
        made = conducts.get(trial.path)
        if made is not None and trial.outcome.valid:
            sides = found.setdefault(trial.configuration, ([], []))
            sides[trial.outcome is not Outcome.ACCEPTED].append(made)
    return tuple(
        Measured(
            configuration=name,
            name=measure,
            accepted=_spread([value(one) for one in accepted]),
            others=_spread([value(one) for one in others]),
        )
        for name, (accepted, others) in sorted(found.items())
        for measure, value in MEASURES
    )


def last_conduct(facts: TrialFacts) -> Conduct | None:
    """How the agent worked in the last attempt that has a trajectory."""
    made = [one.conduct for one in facts.attempts if one.conduct]
    return made[-1] if made else None


def _spread(values: Sequence[Number]) -> Spread:
    known = [value for value in values if value is not None]
    if not known:
        return Spread(known=0, of=len(values))
    return Spread(
        known=len(known),
        of=len(values),
        median=float(median(known)),
        least=float(min(known)),
        most=float(max(known)),
    )
