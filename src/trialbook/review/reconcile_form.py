"""The form in which reviewers settle where they differ, and whether it says what it has to."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from trialbook.errors import Problem
from trialbook.formats.authored import parse_document
from trialbook.formats.document import Document
from trialbook.formats.editing import edit_text, render
from trialbook.formats.nearest import nearest
from trialbook.formats.schema import check_schema, load_schema
from trialbook.formats.visible import visible_line
from trialbook.model.review import (
    UNRESOLVED,
    VERDICT,
    MoveReason,
    Original,
    Review,
    disagreements,
)
from trialbook.model.rubric import AnswerKind, Rubric

_WIDTH = 88
_FILLED_IN_LAST = ("id", "trial", "minutes", "created")


@dataclass(frozen=True, slots=True, kw_only=True)
class Differing:
    """The reviews of one trial, with the items on which they differ."""

    run: str
    reviews: tuple[Review, ...]
    originals: tuple[Original, ...]
    items: tuple[str, ...]
    rubric: Rubric
    third: str | None

    def allowed(self, item: str) -> tuple[str, ...]:
        """What may be the final answer to an item."""
        known = self.rubric.verdicts if item == VERDICT else [kind.value for kind in AnswerKind]
        return (*known, UNRESOLVED)

    def quotes(self, item: str) -> list[dict[str, Any]]:
        """What each reviewer had answered, as the record quotes it."""
        return [
            {
                "reviewer": review.reviewer,
                "answer": str(review.answer(item) or ""),
                "evidence": list(review.evidence(item)),
            }
            for review in self.reviews
            if review.answer(item) is not None
        ]


def differing_items(reviews: Sequence[Review], rubric: Rubric) -> tuple[str, ...]:
    """The items on which reviews differ, in the order of the rubric, the verdict last."""
    return tuple(disagreements(tuple(reviews), tuple(one.id for one in rubric.questions)))


def reconcile_form(differing: Differing, beside: str) -> str:
    """An empty form; it does not say which trial it is about."""
    lines = [*_top(differing, beside), "items:"]
    for item in differing.items:
        lines += ["", *_item(differing, item)]
    lines += ["", *_comment("Leave it empty, and the time is taken that the editor was open.")]
    return "\n".join((*lines, "minutes:")) + "\n"


def _top(differing: Differing, beside: str) -> Iterator[str]:
    yield from _comment(
        f"Here reviewers differ, each without having known of the others. {beside} Talk it over, "
        "and write what is right now and why it came to differ. The reviews stay as they are: all "
        "numbers about agreement are made from them. Save and close the editor to put it on record."
    )
    yield ""
    yield "schema: trialbook/reconciliation/1"
    yield f"run: {differing.run}"
    yield f"rubric: {differing.rubric.reference}"
    yield f'rubric_sha256: "{differing.rubric.sha256}"'
    yield "reviews:"
    for one in differing.originals:
        yield f"  - reviewer: {render(one.reviewer)}"
        yield f'    packet: "{one.packet}"'
        yield f'    sha256: "{one.sha256}"'
    names = ", ".join(render(one.reviewer) for one in differing.originals)
    yield from ("", *_comment("Who talked about it:"), f"participants: [{names}]", "")
    reasons = "; ".join(f"{one.value}: {one.meaning}" for one in MoveReason)
    yield from _comment(f"Reasons: {reasons}")


def _item(differing: Differing, item: str) -> Iterator[str]:
    question = differing.rubric.question(item)
    if question is not None:
        yield from _comment(f"{question.text} No when: {question.no_when}", "  ")
    for review in differing.reviews:
        yield from _comment(_told(review, item), "  ")
    allowed = ", ".join(differing.allowed(item))
    yield from _comment(f"final: one of {allowed}", "  ")
    if differing.third is not None:
        yield from _comment(f"If {differing.third} decided, add `third: {differing.third}`.", "  ")
    yield f"  - item: {item}"
    yield f"    answers: {render(differing.quotes(item))}"
    yield "    final:"
    yield "    reason:"
    yield "    text:"


def _told(review: Review, item: str) -> str:
    """What a reviewer had said, and why."""
    where = ", ".join(review.evidence(item))
    note = next((one.note for one in review.answers if one.question == item), "")
    if item == VERDICT:
        note = "; ".join(one.text for one in review.findings)
    told = f"{review.reviewer}: {review.answer(item)}"
    return told + (f" ({where})" if where else "") + (f" {note}" if note else "")


def _comment(text: str, indent: str = "") -> Iterator[str]:
    for line in textwrap.wrap(visible_line(" ".join(text.split())), _WIDTH):
        yield f"{indent}# {line}"


# --- checking ------------------------------------------------------------------------------------


def check_reconciliation(text: str, shown: str, differing: Differing) -> list[Problem]:
    """Everything that is wrong with a form that people have filled in."""
    document, problems = parse_document(text, shown)
    if document is None:
        return problems
    schema = load_schema("reconciliation")
    schema["required"] = [one for one in schema["required"] if one not in _FILLED_IN_LAST]
    schema["properties"]["minutes"]["type"] = ["number", "null"]
    problems = [*problems, *check_schema(document, schema)]
    if isinstance(document.data, dict):
        problems += [*_given(document, differing), *_items(document, differing)]
    return sorted(set(problems))


def completed_reconciliation(text: str, differing: Differing, values: Mapping[str, Any]) -> str:
    """The record's text: with who moved, and what is filled in last (id, trial, ...).

    Somebody moved whose answer is not the final one, unless a third reviewer decided, or nobody
    did.
    """
    document, _ = parse_document(text, "")
    if document is None:
        return text
    for number, item in enumerate(document.data["items"]):
        stays = item["final"] == UNRESOLVED or item.get("third") is not None
        moved = (
            []
            if stays
            else [
                quote["reviewer"]
                for quote in differing.quotes(item["item"])
                if quote["answer"] != item["final"]
            ]
        )
        text = edit_text(text, ("items", number, "moved"), moved)
    for key, value in values.items():
        if document.data.get(key) is None:
            text = edit_text(text, (key,), value)
    return text


def _given(document: Document, differing: Differing) -> Iterator[Problem]:
    """What the form came with has to be there as it was."""
    originals = [
        {"reviewer": one.reviewer, "packet": one.packet, "sha256": one.sha256}
        for one in differing.originals
    ]
    wanted: dict[str, Any] = {
        "run": differing.run,
        "rubric": differing.rubric.reference,
        "rubric_sha256": differing.rubric.sha256,
        "reviews": originals,
    }
    for key, value in wanted.items():
        if key in document.data and document.data[key] != value:
            message = f"`{key}` is not what the form came with"
            yield document.problem((key,), message, "take it from a fresh form", key=True)
    known = {one.reviewer for one in differing.originals} | {differing.third}
    for number, name in enumerate(document.data.get("participants") or []):
        if isinstance(name, str) and name not in known:
            message = f"{name} has not reviewed this"
            hint = nearest(name, sorted(filter(None, known))) or "name the reviewers"
            yield document.problem(("participants", number), message, hint)


def _items(document: Document, differing: Differing) -> Iterator[Problem]:
    items = document.data.get("items")
    seen = set()
    for number, item in enumerate(items if isinstance(items, list) else []):
        if not isinstance(item, dict):
            continue
        name = item.get("item")
        if name not in differing.items or name in seen:
            what = "twice" if name in seen else "though reviewers do not differ on it"
            message = f"`{name}` is here {what}"
            yield document.problem(("items", number, "item"), message, "remove it")
            continue
        seen.add(name)
        yield from _one(document, number, item, differing)
    for name in differing.items:
        if isinstance(items, list) and name not in seen:
            message = f"`{name}` is not settled"
            hint = f"add it, with `final: {UNRESOLVED}` if you cannot agree"
            yield document.problem(("items",), message, hint, key=True)


def _one(
    document: Document, number: int, item: Mapping[str, Any], differing: Differing
) -> Iterator[Problem]:
    at = ("items", number)
    name, final, third = str(item["item"]), item.get("final"), item.get("third")
    allowed = differing.allowed(name)
    if isinstance(final, str) and final not in allowed:
        message = f"`{final}` is no answer to `{name}`"
        hint = nearest(final, allowed) or f"one of {', '.join(allowed)}"
        yield document.problem((*at, "final"), message, hint)
    if item.get("answers") != differing.quotes(name):
        message = f"the answers to `{name}` are not those of the reviews"
        yield document.problem(
            (*at, "answers"), message, "the reviews stay as they are: restore it"
        )
    if third is not None and third != differing.third:
        hint = "no third reviewer is named in the plan"
        if differing.third is not None:
            hint = f"the plan names {differing.third}"
        message = f"{third} may not decide"
        yield document.problem((*at, "third"), message, hint)
    text = item.get("text")
    if isinstance(text, str) and not text.strip():
        yield document.problem(
            (*at, "text"), "`text` says nothing", "say what was found, in a sentence"
        )
