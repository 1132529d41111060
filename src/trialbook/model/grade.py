"""What a grader says: yes/no answers with evidence, and whether it could answer at all."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from trialbook.model.judgement import Judgement
from trialbook.model.severity import Severity

__all__ = ["Check", "Finding", "Grade", "GradeStatus", "GradeSummary", "Severity"]


class GradeStatus(StrEnum):
    """Whether a grader answered, could not, or found that the rules were broken."""

    GRADED = "graded"
    FAILED = "failed"
    VIOLATION = "violation"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """A place in an artifact that bears out an answer. ``line`` counts from 1."""

    text: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One yes/no question with its answer.

    ``passed`` is None when the check could not be evaluated; the grade's status is then *failed*.
    """

    id: str
    question: str
    passed: bool | None
    message: str
    severity: Severity = Severity.HIGH
    evidence: tuple[Finding, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Grade:
    """One grader's judgement of one trial's artifacts.

    ``accepted`` is None unless ``status`` is *graded*. ``score`` counts are ``passed`` of ``total``
    checks. ``message`` says in one sentence why; ``log`` is a grader's own output, kept as text.
    ``judgement`` is there in the grade of a judge: its votes, its findings, and who it was.
    """

    grader: str
    version: str
    status: GradeStatus
    accepted: bool | None
    passed: int
    total: int
    message: str
    checks: tuple[Check, ...] = ()
    log: str = ""
    schema: str = "trialbook/grade/1"
    judgement: Judgement | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeSummary:
    """A grade in one line; the grade itself is ``grades/<grader>.json``."""

    grader: str
    status: str
    accepted: bool | None
    passed: int
    total: int
    sha256: str
