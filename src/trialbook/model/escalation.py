"""When a workflow goes on to its second attempt: the conditions, and what each of them rests on."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum

from trialbook.model.outcome import Outcome


class Condition(StrEnum):
    """What may be declared to call for a second attempt; each is read from the first one's end."""

    CHECKS_FAIL = "checks_fail"
    AGENT_ERROR = "agent_error"
    NO_CHANGE = "no_change"
    LIMIT_REACHED = "limit_reached"

    @property
    def words(self) -> str:
        """The condition as it is said in a sentence."""
        return _WORDS[self]


CARRIED, FRESH = "carried", "fresh"
"""What the second attempt works on: what the first one left, or the workspace as it began."""

TELL_CHECKS = "checks"
"""What the second attempt may be told besides the brief: what the visible checks found."""

MOST_TOLD = 8_000
"""So much it is told at most, in bytes: the brief is what a prompt is about."""

SHARED_LIMITS = ("minutes", "usd", "turns", "tokens")
"""The ceilings that the attempts of a trial share. All others hold for each of them."""

_WORDS = {
    Condition.CHECKS_FAIL: "visible checks fail",
    Condition.AGENT_ERROR: "the agent ends with an error",
    Condition.NO_CHANGE: "nothing is changed",
    Condition.LIMIT_REACHED: "a limit is reached",
}
_BY_OUTCOME = {
    Outcome.AGENT_ERROR: Condition.AGENT_ERROR,
    Outcome.NO_CHANGE: Condition.NO_CHANGE,
    Outcome.AGENT_TIMEOUT: Condition.LIMIT_REACHED,
    Outcome.BUDGET_EXHAUSTED: Condition.LIMIT_REACHED,
}


def conditions_held(
    declared: Iterable[Condition],
    outcome: Outcome | None,
    checks: Iterable[bool | None],
) -> tuple[Condition, ...]:
    """Which of the declared conditions hold after an attempt.

    Args:
        declared: The conditions of the configuration.
        outcome: What the attempt's evidence alone makes of it; None if it came to its end.
        checks: Whether each grader with visible checks accepts what was left; none if none looked.
    """
    found = {_BY_OUTCOME.get(outcome)} if outcome is not None else set()
    if any(accepted is False for accepted in checks):
        found.add(Condition.CHECKS_FAIL)
    wanted = set(declared)
    return tuple(one for one in Condition if one in found and one in wanted)
