"""Whether trials ended as their suite says that they must: for controls and demonstrations."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from trialbook.model.plan import Plan
from trialbook.model.trial import Trial
from trialbook.reporting.wording import words


@dataclass(frozen=True, slots=True, kw_only=True)
class Surprise:
    """A trial that did not end as expected."""

    trial: str
    outcome: str
    expected: tuple[str, ...]

    @property
    def _wanted(self) -> str:
        return " or ".join(map(words, self.expected))

    def __str__(self) -> str:
        """``lock/escape/r1: accepted, expected: rejected``."""
        return f"{self.trial}: {words(self.outcome)}, expected: {self._wanted}"


@dataclass(frozen=True, slots=True, kw_only=True)
class AsExpected:
    """How many trials had an expectation, and those that did not meet it."""

    asked: int
    surprises: tuple[Surprise, ...]

    @property
    def met(self) -> int:
        """Trials that ended as expected."""
        return self.asked - len(self.surprises)


def as_expected(plan: Plan, trials: Iterable[Trial]) -> AsExpected:
    """Hold the valid trials of a run against the plan's expectations.

    Invalid trials are nobody's answer, so nothing is expected of them.
    """
    asked, surprises = 0, []
    for trial in trials:
        task = plan.tasks.get(trial.task)
        wanted = task.expected_outcomes.get(trial.configuration) if task else None
        if wanted is None or not trial.outcome.valid:
            continue
        asked += 1
        if trial.outcome.value not in wanted:
            surprises.append(
                Surprise(trial=trial.path, outcome=trial.outcome.value, expected=wanted)
            )
    return AsExpected(asked=asked, surprises=tuple(sorted(surprises, key=lambda one: one.trial)))


def said(found: AsExpected) -> Iterator[str]:
    """The same in sentences; none where nothing was expected."""
    if found.asked:
        yield f"{found.met}/{found.asked} valid trials ended as the suite expects"
        yield from map(str, found.surprises)
