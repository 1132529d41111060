"""A run in a few numbers, for lists of runs: read once for as long as nothing is added to it."""

from __future__ import annotations

from dataclasses import dataclass

from trialbook.model.plan import Plan
from trialbook.reporting.results import RunResults
from trialbook.reporting.summary import ConfigurationSummary
from trialbook.reporting.wording import part_said
from trialbook.stats.views import Counts
from trialbook.storage.reader import RunRef


@dataclass(frozen=True, slots=True, kw_only=True)
class RunBrief:
    """One run as lists show it.

    ``part`` says how much of its suite it has, if not all. ``finished`` counts slots with a trial,
    ``last`` is when the last trial ended, empty before the first.
    """

    suite: str
    run: str
    protocol: int
    draft: bool
    partial: bool
    part: str
    decision: str
    created: str
    closed: bool
    tasks: tuple[str, ...]
    repetitions: int
    total: Counts
    configurations: tuple[ConfigurationSummary, ...]
    finished: int
    last: str

    @property
    def ref(self) -> RunRef:
        """The run."""
        return RunRef(self.suite, self.run)


def brief(results: RunResults, closed: bool) -> RunBrief:  # noqa: FBT001 - a fact of the run
    """What lists show of a run whose results are at hand."""
    plan: Plan = results.plan
    summary = results.summary
    return RunBrief(
        suite=plan.suite,
        run=plan.run,
        protocol=plan.protocol,
        draft=summary.draft,
        partial=plan.partial,
        part=part_said(plan),
        decision=plan.decision,
        created=plan.created,
        closed=closed,
        tasks=tuple(plan.tasks),
        repetitions=summary.repetitions,
        total=summary.total,
        configurations=summary.configurations,
        finished=summary.finished,
        last=max((trial.finished for trial in results.trials), default=""),
    )
