"""What an agent's run came to, as its adapter says."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from trialbook.model.client import Claim, Denial, Trouble
from trialbook.model.outcome import Outcome
from trialbook.model.process import ProcessResult
from trialbook.model.trajectory import Trajectory
from trialbook.model.usage import Usage


class AgentEnd(StrEnum):
    """How the agent's work ended, read from evidence, never from an exit code alone."""

    FINISHED = "finished"
    ERROR = "error"
    TIMED_OUT = "timed_out"
    BUDGET = "budget"
    OUTAGE = "outage"
    VIOLATION = "violation"
    ENVIRONMENT = "environment"
    CANCELLED = "cancelled"


OUTCOME_OF_END: Mapping[AgentEnd, Outcome] = {
    AgentEnd.ERROR: Outcome.AGENT_ERROR,
    AgentEnd.TIMED_OUT: Outcome.AGENT_TIMEOUT,
    AgentEnd.BUDGET: Outcome.BUDGET_EXHAUSTED,
    AgentEnd.OUTAGE: Outcome.PROVIDER_OUTAGE,
    AgentEnd.VIOLATION: Outcome.POLICY_VIOLATION,
    AgentEnd.ENVIRONMENT: Outcome.ENVIRONMENT_FAILURE,
    AgentEnd.CANCELLED: Outcome.CANCELLED,
}
"""What an end makes of an attempt, whatever it left; nothing for one that came to its end."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentResult:
    """What an agent's run came to. ``message`` is one sentence; ``process`` is the evidence.

    ``usage`` is the sum over sub-agents and calls of every kind; ``by_model`` the same by the model
    that used it, where that is known: a cost that the client does not tell is counted from it.
    ``trouble`` is what kept the model from answering, if that ended the work. ``session_id`` is the
    client's own. ``denied`` lists what was not permitted, ``claims`` what the agent says about
    tests (see `claims_of`). ``trajectory`` is what it did; the client's own record belongs into the
    attempt's ``output`` as it is.
    """

    end: AgentEnd
    message: str
    process: ProcessResult | None = None
    usage: Usage = field(default_factory=Usage)
    reported_version: str | None = None
    by_model: Mapping[str, Usage] = field(default_factory=dict)
    trouble: Trouble | None = None
    session_id: str | None = None
    denied: tuple[Denial, ...] = ()
    claims: tuple[Claim, ...] = ()
    trajectory: Trajectory | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeReply:
    """What a client answered that was asked for one JSON value.

    ``result`` says how its run ended. ``answer`` is the value, as the client gave it: nobody has
    checked it. Without one, ``missing`` says what there was in its place, and ``said`` is that.
    """

    result: AgentResult
    answer: Any = None
    said: str = ""
    missing: str = ""
