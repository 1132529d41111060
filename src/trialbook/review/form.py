"""The form that a reviewer fills in: YAML with the rubric's questions, and comments that explain.

Its comments are ours and go again when the review is handed in; whatever a person writes stays.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from dataclasses import dataclass

from trialbook.formats.authored import parse_document
from trialbook.formats.visible import visible_line
from trialbook.model.rubric import EvidenceKind, Question, Rubric

_WIDTH = 88
_EVIDENCE = {
    EvidenceKind.DIFF: "places of the diff, as in [src/app.py:12], or [diff] for all of it",
    EvidenceKind.CHECK: "checks by their id, as in [tests-pass]",
    EvidenceKind.TRAJECTORY: "what the agent did, as in [event 12]",
    EvidenceKind.FILE: "files, as in [src/app.py:12]",
}
_VERDICTS = {
    "MERGE": "MERGE: you would merge it as it is.",
    "FIX": "FIX: you would, once what you list under `findings` is put right.",
    "REJECT": "REJECT: you would not; say why under `findings`, or with an answer `no`.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FormHead:
    """What stands at the top of a form and is not to be changed."""

    run: str
    packet: str
    reviewer: str
    started: str


def form(head: FormHead, rubric: Rubric, beside: str) -> str:
    """An empty form.

    Args:
        head: Which packet it is, and whose.
        rubric: What is asked.
        beside: Where what is to be judged can be read, in words.
    """
    return "\n".join((*_top(head, rubric, beside), *_answers(rubric), *_end(rubric))) + "\n"


def without_our_comments(text: str, template: str) -> str:
    """What a person wrote, without the comments of the form it was written into.

    The text is given back as it is where taking them out would change what it says.
    """
    ours = {line.strip() for line in template.splitlines() if line.strip().startswith("#")}
    kept: list[str] = []
    for line in text.splitlines():
        if line.strip() in ours or (not line.strip() and (not kept or not kept[-1].strip())):
            continue
        kept.append(line.rstrip("\r"))
    shorter = "\n".join(kept) + "\n"
    before, faults = parse_document(text, "")
    after, more = parse_document(shorter, "")
    same = before is not None and after is not None and before.data == after.data
    return shorter if same and not faults and not more else text


def _top(head: FormHead, rubric: Rubric, beside: str) -> Iterator[str]:
    yield from _comment(
        f"A review with the rubric {rubric.reference} ({rubric.title}) {beside} Write behind the "
        "colons; lines that begin with # are for you and go again. Save and close the editor to "
        "hand it in. Close it without saving to go on later: nothing is lost.",
    )
    yield from _comment(
        "You are not told who made the change. Answer from what is in the packet, and talk to no "
        "other reviewer about it until all are in."
    )
    yield ""
    yield "schema: trialbook/review/1"
    yield f"run: {head.run}"
    yield f'packet: "{head.packet}"'
    yield f'reviewer: "{head.reviewer}"'
    yield f"rubric: {rubric.reference}"
    yield f'rubric_sha256: "{rubric.sha256}"'
    yield f'started: "{head.started}"'
    yield ""


def _answers(rubric: Rubric) -> Iterator[str]:
    yield from _comment(
        "Each answer is yes, no or not_applicable; yes is always the good one. A yes and a no need "
        "evidence: where somebody else can see it. What is a matter of preference is no evidence."
    )
    yield "answers:"
    for number, question in enumerate(rubric.questions, start=1):
        yield ""
        yield from _question(number, len(rubric.questions), question)
        yield f"  - question: {question.id}"
        yield "    answer:"
        yield "    evidence: []"
        yield '    note: ""'


def _question(number: int, of: int, question: Question) -> Iterator[str]:
    yield from _comment(f"{number} of {of} ({question.severity.value}): {question.text}", "  ")
    yield from _comment(f"No when: {question.no_when}", "  ")
    if question.applies_to is not None:
        yield from _comment(f"Applies to: {question.applies_to}", "  ")
    yield from _comment(f"Evidence: {_EVIDENCE[question.evidence]}", "  ")


def _end(rubric: Rubric) -> Iterator[str]:
    if rubric.verdicts:
        yield ""
        for verdict in rubric.verdicts:
            yield from _comment(_VERDICTS.get(verdict, verdict))
        yield "verdict:"
    yield ""
    yield from _comment("What has to change, each with its place; [] if nothing has to:")
    yield "#  - where: src/app.py:12"
    yield "#    text: An empty name is still accepted."
    yield "findings: []"
    yield ""
    yield from _comment(
        "Leave it empty, and the time is taken in which the editor was open. Correct it if you did "
        "something else meanwhile, or thought about it elsewhere."
    )
    yield "minutes:"


def _comment(text: str, indent: str = "") -> Iterator[str]:
    # What a rubric says is one line of text here, whatever it holds.
    for line in textwrap.wrap(visible_line(" ".join(text.split())), _WIDTH):
        yield f"{indent}# {line}"
