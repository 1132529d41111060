"""The ``judgement`` section of ``suite.yaml``: how people judge what came out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from trialbook.errors import UserError
from trialbook.formats.document import Document
from trialbook.formats.nearest import nearest
from trialbook.model.packets import NEAR_MISS, REFERENCE
from trialbook.model.plan import PlannedJudgement
from trialbook.model.suite import Judgement, Suite, Task
from trialbook.storage.rubrics import load_rubric, rubric_file, rubric_files
from trialbook.storage.suite_reading import Reading, value_of


def check_judgement(reading: Reading, document: Document, graders: Sequence[str]) -> None:
    """The rubric has to be there and usable, and every grader that is shown one of the tasks'.

    Args:
        reading: Where mistakes go.
        document: The suite's file.
        graders: The graders that every task has.
    """
    reference = value_of(document, ("judgement", "rubric"), str)
    if reference is None or "@" not in reference:
        pass  # What has another form is told by the schema.
    elif rubric_file(reading.root, reference) is None:
        known = [file.reference for file in rubric_files(reading.root)]
        hint = nearest(reference, known) or f"here are: {', '.join(known) or 'none yet'}"
        message = f"there is no rubric {reference}"
        reading.at(document, ("judgement", "rubric"), message, hint)
    else:
        _check_rubric(reading, document, reference)
    for index, name in enumerate(value_of(document, ("judgement", "shown"), list) or []):
        if isinstance(name, str) and name not in graders:
            message = f"not every task has a grader `{name}`"
            hint = nearest(name, graders) or "show only what there is for every task"
            reading.at(document, ("judgement", "shown", index), message, hint)


def build_judgement(written: Mapping[str, Any]) -> Judgement | None:
    """The section of a suite without mistakes."""
    given = written.get("judgement")
    if given is None:
        return None
    numbers = {
        name: float(given[name])
        for name in ("controls", "repeats", "usd_per_hour")
        if name in given
    }
    return Judgement(**{**given, **numbers, "shown": tuple(given.get("shown", ()))})


def planned_judgement(root: Path, suite: Suite) -> PlannedJudgement | None:
    """What is fixed of it, with the rubric's digest; None for a suite that nobody reviews.

    Raises:
        UserError: the rubric cannot be read.
    """
    judgement = suite.judgement
    if judgement is None:
        return None
    return PlannedJudgement(
        rubric=judgement.rubric,
        rubric_sha256=load_rubric(root, judgement.rubric).sha256,
        reviewers=judgement.reviewers,
        third=judgement.third,
        controls=judgement.controls,
        repeats=judgement.repeats,
        shown=judgement.shown,
        reviewed=judgement.reviewed,
        usd_per_hour=judgement.usd_per_hour,
    )


def controls_of(task: Task) -> tuple[str, ...]:
    """The answers of known worth that a task has; what a command makes is none for people."""
    reference = (REFERENCE,) if task.reference is not None else ()
    misses = (one.name for one in task.near_misses if one.answer is not None)
    return (*reference, *(f"{NEAR_MISS}{name}" for name in misses))


def _check_rubric(reading: Reading, document: Document, reference: str) -> None:
    try:
        load_rubric(reading.root, reference)
    except UserError as error:
        first = error.problems[0] if error.problems else error.message
        message = f"the rubric {reference} has mistakes, the first is {first}"
        reading.at(document, ("judgement", "rubric"), message, "trialbook rubric check")
