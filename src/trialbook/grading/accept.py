"""From grades to an outcome: what the acceptance policy of a suite makes of what graders said."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from trialbook.model.acceptance import Policy
from trialbook.model.evidence import Sighting
from trialbook.model.grade import Grade, GradeStatus
from trialbook.model.outcome import Outcome

GRADED_ANYWAY = "; graded anyway: "
"""What stands in a reason between the limit that was reached and what the graders said."""

_NAMED = 3


def decide(policy: Policy, grades: Mapping[str, Grade]) -> tuple[Outcome, str]:
    """The outcome of a graded trial, and one sentence that says why.

    Any grader that found the rules broken makes a policy violation. Otherwise, a grader that the
    policy names and that gave no usable answer makes a grader failure, even where the others would
    have settled it: what is not known is not accepted and not rejected. Graders that the policy
    does not name are kept on record and decide nothing.

    Args:
        policy: The suite's acceptance policy.
        grades: Each grade by the name of its grader.
    """
    broken = [grade for _, grade in sorted(grades.items()) if grade.status is GradeStatus.VIOLATION]
    if broken:
        return Outcome.POLICY_VIOLATION, _all_of(broken)
    named = sorted(policy.graders)
    missing = [name for name in named if name not in grades]
    if missing:
        return Outcome.GRADER_FAILURE, f"no grade from {', '.join(missing)}"
    needed = [grades[name] for name in named]
    failed = [grade for grade in needed if grade.accepted is None]
    if failed:
        return Outcome.GRADER_FAILURE, _all_of(failed)
    answers = {name: grades[name.partition(":")[0]].accepted is True for name in policy.names}
    reason = "; ".join(_counted(grade) for grade in needed)
    if policy.holds(answers):
        return Outcome.ACCEPTED, reason
    return Outcome.REJECTED, reason


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
    passes = outcome is Outcome.ACCEPTED and not limit.fails
    if passes or outcome is Outcome.POLICY_VIOLATION:
        return outcome, f"{reason}; {limit.message}", True
    return limit.outcome, f"{limit.message}{GRADED_ANYWAY}{reason}", True


def violation_reason(broken: Sequence[Sighting]) -> str:
    """One sentence that says which rules were broken: ``conftest.py:7: the result of ...``."""
    listed = "; ".join(str(one) for one in broken[:_NAMED])
    more = f"; and {len(broken) - _NAMED} more" if len(broken) > _NAMED else ""
    return f"rules were broken: {listed}{more}"


def _all_of(grades: list[Grade]) -> str:
    return "; ".join(f"{grade.grader}: {grade.message}" for grade in grades)


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
