"""What reviewers said of a trial, side by side, in words; nothing while it is sealed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trialbook.model.review import UNRESOLVED, VERDICT, Agreed, Review, Reviewed
from trialbook.reporting.wording import number_of_minutes, words

SEALED = "The reviews are sealed until all reviewers of the run are in."


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerSaid:
    """One reviewer's answer to one item, with what they point at and say to it."""

    reviewer: str
    answer: str
    evidence: tuple[str, ...]
    note: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ItemSaid:
    """One question, or the verdict: all answers, and what became of them where they differ."""

    item: str
    answers: tuple[AnswerSaid, ...]
    differs: bool
    settled: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReviewsSaid:
    """All of it. ``came_to`` is one sentence; ``items`` are empty while the reviews are sealed."""

    came_to: str
    rubric: str
    minutes: str
    reviewers: tuple[str, ...]
    items: tuple[ItemSaid, ...]


def reviews_said(reviewed: Reviewed | None) -> ReviewsSaid | None:
    """What reviewers made of a trial; None if nobody is asked."""
    if reviewed is None:
        return None
    if reviewed.sealed or not reviewed.reviews:
        came_to = SEALED if reviewed.sealed else "Nobody has reviewed it."
        return ReviewsSaid(came_to=came_to, rubric="", minutes="", reviewers=(), items=())
    items = [one.question for review in reviewed.reviews for one in review.answers]
    return ReviewsSaid(
        came_to=_came_to(reviewed),
        rubric=reviewed.reviews[0].rubric,
        minutes=number_of_minutes(round(reviewed.minutes, 1)),
        reviewers=tuple(one.reviewer for one in reviewed.reviews),
        items=tuple(_item(reviewed, item) for item in dict.fromkeys((*items, VERDICT))),
    )


def _came_to(reviewed: Reviewed) -> str:
    if reviewed.agreed is Agreed.EQUAL:
        return f"{reviewed.verdict}, each reviewer alone."
    if reviewed.agreed is Agreed.RECONCILED:
        return f"{reviewed.verdict}, after the reviewers talked about it."
    if reviewed.agreed is Agreed.UNRESOLVED:
        return "Unresolved: the reviewers could not agree."
    return "Open: the reviewers have not settled it yet."


def _item(reviewed: Reviewed, item: str) -> ItemSaid:
    answers = tuple(
        AnswerSaid(
            reviewer=review.reviewer,
            answer=_shown(item, review.answer(item) or "none"),
            evidence=review.evidence(item),
            note="; ".join(_notes(review, item)),
        )
        for review in reviewed.reviews
    )
    return ItemSaid(
        item=item,
        answers=answers,
        differs=len({one.answer for one in answers}) > 1,
        settled=_settled(reviewed, item),
    )


def _notes(review: Review, item: str) -> Iterator[str]:
    if item == VERDICT:
        yield from (one.text for one in review.findings)
    else:
        yield from (one.note for one in review.answers if one.question == item and one.note)


def _settled(reviewed: Reviewed, item: str) -> str:
    found = reviewed.settled(item)
    if found is None:
        return ""
    who = f"{' and '.join(found.moved)} moved" if found.moved else "nobody moved"
    if found.third is not None:
        who = f"{found.third} decided"
    return f"{_shown(item, found.final)}: {who} ({words(found.reason)}). {found.text}"


def _shown(item: str, answer: str) -> str:
    """An answer in words; a verdict as it is."""
    return answer if item == VERDICT and answer != UNRESOLVED else words(answer)
