"""What a structural check gets for an answer: yes, no or unknown, why, and where to look."""

from __future__ import annotations

from typing import NamedTuple

from trialbook.api import Finding
from trialbook_graders.tree import Place, shown

MOST_FINDINGS = 20
"""How many places one answer names."""


class Answer(NamedTuple):
    """``passed`` is None where the question could not be put."""

    passed: bool | None
    message: str
    findings: tuple[Finding, ...] = ()


def yes(message: str, *findings: Finding) -> Answer:
    """The check passes."""
    return Answer(passed=True, message=message, findings=findings[:MOST_FINDINGS])


def no(message: str, *findings: Finding) -> Answer:
    """The check fails."""
    return Answer(passed=False, message=message, findings=findings[:MOST_FINDINGS])


def unknown(message: str) -> Answer:
    """The check could not be evaluated, through no fault of the candidate."""
    return Answer(passed=None, message=message)


def seen(place: Place) -> Finding:
    """What stands at a path, as evidence."""
    return Finding(text=place.says, file=shown(place.path))
