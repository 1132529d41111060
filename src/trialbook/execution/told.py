"""What a second attempt is told of what visible checks found: a part of its prompt."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trialbook.api import Check, Grade
from trialbook.model.escalation import CARRIED, MOST_TOLD

_MOST_PLACES = 5
_CUT = "\n(There is more.)\n"


def with_checks(brief: str, grades: Iterable[Grade], workspace: str) -> str:
    """The brief, and after it what the checks say no to; the brief alone if they say no to nothing.

    Args:
        brief: The brief.
        grades: What the visible checks found on what the attempt before had left.
        workspace: Whether that is still there: a word of `trialbook.model.escalation`.
    """
    failed = [check for grade in grades for check in grade.checks if check.passed is False]
    if not failed:
        return brief
    there = (
        "what it left is in the folder"
        if workspace == CARRIED
        else "the folder is as it was before, without anything of it"
    )
    text = "".join(
        (
            "\n\n---\n\nThere was an attempt at this task before you; ",
            there,
            ". These checks said no to it:\n\n",
            *(line for check in failed for line in _lines(check)),
        )
    )
    data = text.encode("utf-8", "replace")
    if len(data) > MOST_TOLD:
        text = data[: MOST_TOLD - len(_CUT)].decode("utf-8", "ignore") + _CUT
    return brief.rstrip("\n") + text


def _lines(check: Check) -> Iterator[str]:
    yield f"- {check.question or check.id}"
    yield f" ({check.message})\n" if check.message else "\n"
    for finding in check.evidence[:_MOST_PLACES]:
        place = f"{finding.file}:{finding.line}: " if finding.line else f"{finding.file}: "
        yield f"  - {place if finding.file else ''}{finding.text}\n"
