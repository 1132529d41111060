"""From grades to an outcome: what the acceptance policy of a suite makes of what graders said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trialbook.model.acceptance import Policy
from trialbook.model.deciding import COUNTS_AFTER_LIMIT, answer_of, decided
from trialbook.model.evidence import Sighting
from trialbook.model.grade import Grade
from trialbook.model.outcome import Outcome

GRADED_ANYWAY = "; graded anyway: "
"""What stands in a reason between the limit that was reached and what the graders said."""

_NAMED = 3


def decide(
    policy: Policy, grades: Mapping[str, Grade], review: str | None = None
) -> tuple[Outcome, str]:
    """The outcome of a graded trial, and one sentence that says why: see `decided`.

    Args:
        policy: The suite's acceptance policy.
        grades: Each grade by the name of its grader, judges' grades among them.
        review: The verdict that people agreed on, if they did.
    """
    return decided(policy, map(answer_of, grades.values()), review)


@dataclass(frozen=True, slots=True, kw_only=True)
class Limit:
    """A ceiling that the agent reached before it was graded all the same.

    ``message`` says which; ``fails`` whether reaching it fails the trial whatever the grades say.
    """

    outcome: Outcome
    message: str
    fails: bool


def decide_after(
    policy: Policy, grades: Iterable[Grade], limit: Limit | None
) -> tuple[Outcome, str, bool]:
    """Outcome, one sentence that says why, and whether it was graded after a limit.

    After a limit, the limit stands, unless the plan lets a pass count; broken rules always count.
    """
    outcome, reason = decide(policy, {grade.grader: grade for grade in grades})
    if limit is None:
        return outcome, reason, False
    passes = outcome in COUNTS_AFTER_LIMIT and not limit.fails
    if passes or outcome is Outcome.POLICY_VIOLATION:
        return outcome, f"{reason}; {limit.message}", True
    return limit.outcome, f"{limit.message}{GRADED_ANYWAY}{reason}", True


def violation_reason(broken: Sequence[Sighting]) -> str:
    """One sentence that says which rules were broken: ``conftest.py:7: the result of ...``."""
    listed = "; ".join(str(one) for one in broken[:_NAMED])
    more = f"; and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
    return f"rules were broken: {listed}{more}"
