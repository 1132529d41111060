"""What people answered about a series: ``<trial>/reviews/<reviewer>.<rubric>.yaml``.

Their answers to a rubric stay sealed until as many reviewers have answered it as the plan asks for,
or one where it asks nobody.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from trialbook.formats.records import RecordError
from trialbook.model.plan import Plan
from trialbook.model.review import Review
from trialbook.model.runfiles import REVIEWER_PATTERN, REVIEWS
from trialbook.model.series_questions import SERIES_RUBRICS
from trialbook.storage.reader import Reader
from trialbook.storage.reviews import read_review
from trialbook.storage.runname import RunRef

_NAME = re.compile(
    rf"(?P<reviewer>{REVIEWER_PATTERN})\.(?P<rubric>{'|'.join(SERIES_RUBRICS)})\.yaml"
)


def series_review_path(trial: str, reviewer: str, rubric: str) -> str:
    """Where a person's answers to one rubric about a series are; ``rubric`` has no version."""
    return f"{trial}/{REVIEWS}/{reviewer}.{rubric}.yaml"


def series_reviews(reader: Reader, run: RunRef, trial: str) -> tuple[Review, ...]:
    """All answers of people about a series, in order of their files' names.

    Raises:
        RecordError: one that cannot be read, or is not whose its name says.
    """
    found = []
    for name in reader.names(run, f"{trial}/{REVIEWS}"):
        match = _NAME.fullmatch(name)
        if match is None:
            continue
        shown = f"runs/{run.path}/{trial}/{REVIEWS}/{name}"
        review = read_review(reader.file(run, f"{trial}/{REVIEWS}/{name}") or b"", shown)
        said = (review.reviewer, review.rubric.partition("@")[0])
        if said != (match["reviewer"], match["rubric"]):
            raise RecordError(f"{shown}: it is {said[0]}'s answers to {said[1]}")
        found.append(review)
    return tuple(found)


def wanted_reviewers(plan: Plan) -> int:
    """How many people have to answer a rubric before anybody sees what they say."""
    return 1 if plan.judgement is None else max(1, plan.judgement.reviewers)


def opened(reviews: Iterable[Review], wanted: int) -> dict[str, tuple[Review, ...]]:
    """The answers that may be looked at, by rubric."""
    by_rubric: dict[str, list[Review]] = {}
    for one in reviews:
        by_rubric.setdefault(one.rubric.partition("@")[0], []).append(one)
    return {name: tuple(found) for name, found in by_rubric.items() if len(found) >= wanted}
