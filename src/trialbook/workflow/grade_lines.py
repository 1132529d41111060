"""A grade in one line, as records have it."""

from __future__ import annotations

from trialbook.model.grade import Grade, GradeSummary


def grade_line(grade: Grade, sha256: str) -> GradeSummary:
    """The line for a grade whose file has that digest."""
    return GradeSummary(
        grader=grade.grader,
        status=grade.status.value,
        accepted=grade.accepted,
        passed=grade.passed,
        total=grade.total,
        sha256=sha256,
    )
