"""The outcome class that the runner's evidence gives, before any grade is looked at."""

from __future__ import annotations

from trialbook.api import AgentEnd, AgentResult, ProcessResult
from trialbook.model.outcome import Outcome
from trialbook.model.suite import Task
from trialbook.model.trial import ProcessEvidence

_BY_END = {
    AgentEnd.ERROR: Outcome.AGENT_ERROR,
    AgentEnd.TIMED_OUT: Outcome.AGENT_TIMEOUT,
    AgentEnd.BUDGET: Outcome.BUDGET_EXHAUSTED,
    AgentEnd.OUTAGE: Outcome.PROVIDER_OUTAGE,
    AgentEnd.VIOLATION: Outcome.POLICY_VIOLATION,
    AgentEnd.ENVIRONMENT: Outcome.ENVIRONMENT_FAILURE,
    AgentEnd.CANCELLED: Outcome.CANCELLED,
}

LIMIT_OUTCOMES = frozenset({Outcome.AGENT_TIMEOUT, Outcome.BUDGET_EXHAUSTED})
"""Outcomes after which the artifact is graded all the same, and marked ``graded_anyway``."""


def class_of(result: AgentResult, task: Task, *, changed: bool) -> Outcome | None:
    """The outcome that stands whatever the graders say, or None if they decide."""
    if result.end is not AgentEnd.FINISHED:
        return _BY_END[result.end]
    if not changed and not task.no_change_expected:
        return Outcome.NO_CHANGE
    return None


def process_evidence(result: ProcessResult | None) -> ProcessEvidence | None:
    """A process's end as the record keeps it."""
    if result is None:
        return None
    return ProcessEvidence(
        ended=result.ended.value,
        exit_code=result.exit_code,
        signal=result.signal,
        seconds=round(result.seconds, 3),
        leftover_processes=result.leftover_processes,
        stdout_bytes=result.stdout_bytes,
        stderr_bytes=result.stderr_bytes,
        output_cut=result.output_cut,
        max_rss_bytes=result.max_rss_bytes,
    )
