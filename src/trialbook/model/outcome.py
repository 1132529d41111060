"""The closed vocabulary of how a trial ended, and what each word implies.

``failed`` is about the agent's work, ``errored`` is about us or the world; the ``valid`` flag of an
outcome keeps the two apart in every number.
"""

from __future__ import annotations

from enum import StrEnum


class Outcome(StrEnum):
    """How one trial ended. Members stand in the order in which the first matching one wins."""

    CANCELLED = "cancelled"
    ENVIRONMENT_FAILURE = "environment_failure"
    PROVIDER_OUTAGE = "provider_outage"
    POLICY_VIOLATION = "policy_violation"
    BUDGET_EXHAUSTED = "budget_exhausted"
    AGENT_TIMEOUT = "agent_timeout"
    AGENT_ERROR = "agent_error"
    NO_CHANGE = "no_change"
    GRADER_FAILURE = "grader_failure"
    REJECTED = "rejected"
    NEEDS_REVIEW = "needs_review"
    ACCEPTED = "accepted"

    @property
    def valid(self) -> bool:
        """Whether this was a valid execution of the configuration (a failure may be valid)."""
        return self not in _INVALID

    @property
    def rerunnable(self) -> bool:
        """Whether a plan's policy may replace a trial that ended so."""
        return self in _RERUNNABLE

    @property
    def meaning(self) -> str:
        """One sentence for people."""
        return _MEANING[self]


NOT_RUN = "not_run"
"""What a scheduled slot without any record is counted as. It is no outcome: nothing ended."""

_INVALID = frozenset(
    {
        Outcome.CANCELLED,
        Outcome.ENVIRONMENT_FAILURE,
        Outcome.PROVIDER_OUTAGE,
        Outcome.GRADER_FAILURE,
        Outcome.NEEDS_REVIEW,
    }
)
_RERUNNABLE = frozenset(
    {
        Outcome.CANCELLED,
        Outcome.ENVIRONMENT_FAILURE,
        Outcome.PROVIDER_OUTAGE,
        Outcome.GRADER_FAILURE,
    }
)
GOES_BEFORE_VIOLATIONS = frozenset(
    {Outcome.CANCELLED, Outcome.ENVIRONMENT_FAILURE, Outcome.PROVIDER_OUTAGE}
)
"""Outcomes that stand whatever rules were seen to be broken: nothing was measured."""

_MEANING = {
    Outcome.CANCELLED: "Stopped by a person, or cut off with the runner, before grading.",
    Outcome.ENVIRONMENT_FAILURE: "Our set-up failed: snapshot, toolchain, sandbox, disk, host.",
    Outcome.PROVIDER_OUTAGE: "The model's service failed and the client gave up.",
    Outcome.POLICY_VIOLATION: "The rules were broken: tampering, leak, forbidden access.",
    Outcome.BUDGET_EXHAUSTED: "A ceiling of tokens, money or turns was reached.",
    Outcome.AGENT_TIMEOUT: "The wall-clock ceiling was reached.",
    Outcome.AGENT_ERROR: "The agent crashed, or ended in a way nobody can explain.",
    Outcome.NO_CHANGE: "The agent changed nothing where a change was asked for.",
    Outcome.GRADER_FAILURE: "A grader crashed, timed out or gave no usable answer.",
    Outcome.REJECTED: "Graded, and not acceptable.",
    Outcome.NEEDS_REVIEW: "The automatic part is done; a person's verdict is outstanding.",
    Outcome.ACCEPTED: "Every grader that the acceptance policy names agrees.",
}
