"""From grades to an outcome: what the acceptance policy of a suite makes of what graders said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trialbook.model.acceptance import Policy
from trialbook.model.deciding import COUNTS_AFTER_LIMIT, Answer, decided
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


def answer_of(grade: Grade) -> Answer:
    """A grade as a policy takes it."""
    judgement = grade.judgement
    return Answer(
        grader=grade.grader,
        status=grade.status.value,
        accepted=grade.accepted,
        said=_counted(grade) if judgement is None else f"{grade.grader} {judgement.verdict}",
        message=grade.message,
        verdict=judgement.verdict if judgement else None,
        trust=judgement.trust if judgement else None,
    )


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


def _counted(grade: Grade) -> str:
    """A grade in a few words: ``checks 2/3, not: validation-in-service``."""
    text = f"{grade.grader} {grade.passed}/{grade.total}"
    wrong = [check.id for check in grade.checks if check.passed is False]
    if wrong:
        more = f" and {len(wrong) - _NAMED} more" if len(wrong) > _NAMED else ""
        text += f", not: {', '.join(wrong[:_NAMED])}{more}"
    elif not grade.accepted:
        text += f", not accepted: {grade.message}"
    return text
