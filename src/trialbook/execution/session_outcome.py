"""What one session of a series came to, by its own checks and the runner's evidence."""

from __future__ import annotations

from collections.abc import Iterable

from trialbook.api import GradeStatus
from trialbook.execution.classify import LIMIT_OUTCOMES, class_of
from trialbook.execution.findings import Findings
from trialbook.execution.session_done import GivenGrade
from trialbook.model.evidence import violations, with_severities
from trialbook.model.outcome import GOES_BEFORE_VIOLATIONS, Outcome
from trialbook.model.series import Moment
from trialbook.model.trial import TrialSpec

ENDS_SERIES = frozenset({Outcome.CANCELLED, Outcome.ENVIRONMENT_FAILURE, Outcome.PROVIDER_OUTAGE})
"""Ends of a session that are none of the agent's, after which the trial cannot be what it was."""


def session_outcome(
    spec: TrialSpec, found: Findings, grades: Iterable[GivenGrade]
) -> tuple[Outcome, str]:
    """The outcome and one sentence that says why. Every check that was asked at the end counts."""
    result, change = found.result, found.change
    if result is None or change is None:
        return Outcome.ENVIRONMENT_FAILURE, found.trouble or "nothing is known"
    asked = [given for given in grades if given.moment is Moment.END]
    fixed = class_of(result, spec.task, changed=change.anything)
    broken = violations(with_severities(found.sightings or (), spec.severities))
    if broken and fixed not in GOES_BEFORE_VIOLATIONS:
        return Outcome.POLICY_VIOLATION, f"rules were broken: {broken[0]}"
    outcome, reason = _by_checks(asked)
    counts = fixed in LIMIT_OUTCOMES and asked and not spec.limits_are_failures
    if fixed is None or counts:
        return outcome, reason
    said = "the agent finished and changed nothing" if fixed is Outcome.NO_CHANGE else ""
    return fixed, "; ".join(filter(None, (said or result.message, reason if asked else "")))


def _by_checks(asked: list[GivenGrade]) -> tuple[Outcome, str]:
    for status, outcome in (
        (GradeStatus.FAILED, Outcome.GRADER_FAILURE),
        (GradeStatus.VIOLATION, Outcome.POLICY_VIOLATION),
    ):
        for given in asked:
            if given.grade.status is status:
                return outcome, f"{given.part.value}: {given.grade.message}"
    passed = sum(given.grade.passed for given in asked)
    total = sum(given.grade.total for given in asked)
    refused = [given.part.value for given in asked if given.grade.accepted is False]
    if refused:
        return Outcome.REJECTED, f"{', '.join(refused)}: {passed} of {total} checks pass"
    return Outcome.ACCEPTED, f"all {total} checks pass"
