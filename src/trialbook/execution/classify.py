"""The outcome class that the runner's evidence gives, before any grade is looked at."""

from __future__ import annotations

from dataclasses import replace

from trialbook.api import AgentEnd, AgentResult, ProcessResult
from trialbook.model.agent import OUTCOME_OF_END
from trialbook.model.outcome import Outcome
from trialbook.model.suite import Limits, Task
from trialbook.model.trial import ProcessEvidence

LIMIT_OUTCOMES = frozenset({Outcome.AGENT_TIMEOUT, Outcome.BUDGET_EXHAUSTED})
"""Outcomes after which the artifact is graded all the same, and marked ``graded_anyway``."""


def class_of(result: AgentResult, task: Task, *, changed: bool) -> Outcome | None:
    """The outcome that stands whatever the graders say, or None if they decide."""
    if result.end is not AgentEnd.FINISHED:
        return OUTCOME_OF_END[result.end]
    if not changed and not task.no_change_expected:
        return Outcome.NO_CHANGE
    return None


def with_memory_named(result: AgentResult, limits: Limits) -> AgentResult:
    """The result, with the memory limit named where it was what ended the agent's work.

    Such an end is an agent's error like any crash, but a reader should not have to guess.
    """
    process = result.process
    if process is None or not process.memory_killed or result.end is not AgentEnd.ERROR:
        return result
    limit = "" if limits.memory_mb is None else f" of {limits.memory_mb:g} MB"
    told = f"its processes went over the memory limit{limit} and were killed; {result.message}"
    return replace(result, message=told)


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
        memory_killed=result.memory_killed,
    )
