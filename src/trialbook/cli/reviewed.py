"""What reviewers said of a trial, for the terminal; nothing of it while it is sealed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from trialbook.cli.terminal import Column, Part, Text, facts, heading, safe, table
from trialbook.formats.records import plain
from trialbook.model.review import Reviewed
from trialbook.reporting.reviews_said import AnswerSaid, ItemSaid, reviews_said


def review_parts(reviewed: Reviewed | None) -> Iterable[Part]:
    """The reviews side by side, and what became of where they differ."""
    said = reviews_said(reviewed)
    if said is None:
        return
    yield ""
    yield heading("reviews")
    yield safe(said.came_to)
    if not said.items:
        return
    yield facts([("rubric", said.rubric), ("took", said.minutes)])
    columns = [Column(head="question"), *(Column(head=name) for name in said.reviewers)]
    yield table([*columns, Column(head="settled")], [_row(item) for item in said.items])


def review_json(reviewed: Reviewed | None) -> Any:  # noqa: ANN401 - any JSON value
    """The same as values; null if nobody is asked."""
    if reviewed is None or reviewed.sealed:
        return None if reviewed is None else {"sealed": True}
    return {"minutes": reviewed.minutes} | plain(reviewed)


def _row(item: ItemSaid) -> list[str | Text]:
    style = "bold yellow" if item.differs else "bold"
    return [safe(item.item, style=style), *map(_answer, item.answers), item.settled]


def _answer(one: AnswerSaid) -> Text:
    told = safe(one.answer, style="bold")
    for place in one.evidence:
        told.append("\n").append_text(safe(place, style="cyan"))
    if one.note:
        told.append("\n").append_text(safe(one.note))
    return told
