"""Whether a review says what it has to: every mistake with its line, and what to do about it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from trialbook.errors import Problem
from trialbook.formats.authored import parse_document
from trialbook.formats.document import Document, Pointer
from trialbook.formats.nearest import nearest
from trialbook.formats.records import from_plain
from trialbook.formats.schema import check_schema, load_schema
from trialbook.model.grade import Severity
from trialbook.model.review import UNKNOWN, Review
from trialbook.model.rubric import FIX, MERGE, REJECT, AnswerKind, EvidenceKind, Rubric

_AFTER_PATH = (":", " ", "@")
_TASTE = re.compile(
    r"\b(?:I(?: would|'d)? (?:rather|prefer|like|dislike|love|hate)"
    r"|(?:in|to) my (?:opinion|taste|view)|my (?:taste|preference)|personally)\b",
    re.IGNORECASE,
)
_WRITTEN_AT_THE_END = ("minutes", "submitted")
_NAMED = 5
_WHOLE = "diff"


@dataclass(frozen=True, slots=True, kw_only=True)
class Expected:
    """What a review has to be about.

    ``identity`` has the keys that are given, and their values. ``paths`` are the files of the diff
    as the packet shows them; None if they are not known here. ``configurations`` are those of the
    run. ``draft`` says that what is filled in at the end may be missing yet.
    """

    rubric: Rubric
    identity: Mapping[str, str]
    paths: frozenset[str] | None
    configurations: frozenset[str]
    draft: bool = False


def check_review(text: str, shown: str, expected: Expected) -> tuple[Review | None, list[Problem]]:
    """The review that a text holds, and everything that is wrong with it.

    A draft without mistakes gives None with no problem, since it is no review yet.
    """
    document, problems = parse_document(text, shown)
    if document is None:
        return None, problems
    problems = [*problems, *check_schema(document, _schema(expected.draft))]
    if isinstance(document.data, dict):
        problems += _meaning(document, expected)
    if problems or expected.draft:
        return None, sorted(set(problems))
    return from_plain(Review, document.data, shown), []


def _schema(draft: bool) -> dict[str, Any]:  # noqa: FBT001 - as in `Expected`
    schema = load_schema("review")
    if draft:
        schema["required"] = [one for one in schema["required"] if one not in _WRITTEN_AT_THE_END]
        schema["properties"]["minutes"]["type"] = ["number", "null"]
    return schema


def _meaning(document: Document, expected: Expected) -> Iterator[Problem]:
    yield from _identity(document, expected.identity)
    yield from _answered(document, expected)
    yield from _verdict(document, expected.rubric)
    yield from _findings(document, expected)
    yield from _guess(document, expected)


def _identity(document: Document, identity: Mapping[str, str]) -> Iterator[Problem]:
    for key, wanted in identity.items():
        said = document.data.get(key)
        if isinstance(said, str) and said != wanted:
            message = f"`{key}` is `{said}`, and the packet's is `{wanted}`"
            yield document.problem((key,), message, f'write {key}: "{wanted}"')


def _answered(document: Document, expected: Expected) -> Iterator[Problem]:
    known = [question.id for question in expected.rubric.questions]
    seen: dict[str, int] = {}
    for number, answer in _mappings(document.data.get("answers")):
        name = answer.get("question")
        if not isinstance(name, str):
            continue
        pointer = ("answers", number, "question")
        if name not in known:
            message = f"the rubric {expected.rubric.reference} has no question `{name}`"
            hint = nearest(name, known) or f"its questions are: {', '.join(known)}"
            yield document.problem(pointer, message, hint)
        elif name in seen:
            hint = f"it is already answered on line {seen[name]}"
            yield document.problem(pointer, f"the question `{name}` is answered twice", hint)
        else:
            seen[name] = document.position(pointer)[0]
            yield from _answer(document, number, answer, expected)
    if isinstance(document.data.get("answers"), list):
        for name in known:
            if name not in seen:
                message = f"the question `{name}` has no answer"
                hint = f"add `- question: {name}` with an answer"
                yield document.problem(("answers",), message, hint, key=True)


def _answer(
    document: Document, number: int, answer: Mapping[str, Any], expected: Expected
) -> Iterator[Problem]:
    said = answer.get("answer")
    question = expected.rubric.question(str(answer["question"]))
    if said not in list(AnswerKind) or question is None:
        return
    evidence = _texts(answer.get("evidence"))
    if said != AnswerKind.NOT_APPLICABLE and not evidence:
        key = "evidence" if "evidence" in answer else "answer"
        message = f"`{said}` to `{question.id}` has no evidence"
        hint = "name a place where others can see it, as in [src/app.py:12]"
        if question.evidence is EvidenceKind.CHECK:
            hint = "name a check by its id, as in [tests-pass]"
        yield document.problem(("answers", number, key), message, hint)
    if said == AnswerKind.NOT_APPLICABLE and not str(answer.get("note") or "").strip():
        key = "note" if "note" in answer else "answer"
        message = f"`{question.id}` is said not to apply, without a reason"
        yield document.problem(("answers", number, key), message, "say why in `note`")
    if question.evidence is EvidenceKind.DIFF:
        for index, text in enumerate(evidence):
            yield from _place(document, ("answers", number, "evidence", index), text, expected)
    texts: list[tuple[Pointer, str]] = [(("note",), str(answer.get("note") or ""))]
    texts += [(("evidence", index), text) for index, text in enumerate(evidence)]
    for pointer, text in texts:
        if taste := _taste(text):
            message = f"`{taste}` is a preference, and no evidence"
            hint = "say what is there, and where"
            yield document.problem(("answers", number, *pointer), message, hint)


def _place(
    document: Document, pointer: Pointer, text: str, expected: Expected
) -> Iterator[Problem]:
    """A place of the diff has to be in one of its files."""
    paths = expected.paths
    if not paths or text == _WHOLE or any(text == path or _goes_on(text, path) for path in paths):
        return
    path = re.split(r":[0-9]|[ @]", text, maxsplit=1)[0]
    message = f"the change has no file `{path}`"
    hint = nearest(path, sorted(paths)) or f"it touches: {', '.join(sorted(paths)[:_NAMED])}"
    yield document.problem(pointer, message, hint)


def _goes_on(text: str, path: str) -> bool:
    """Whether a text names a path, and then a line or what is there."""
    return text.startswith(path) and text[len(path) : len(path) + 1] in _AFTER_PATH


def _taste(text: str) -> str:
    """The words that make a preference of a text; empty if it is none."""
    found = _TASTE.search(" ".join(text.split()))
    return found[0] if found else ""


def _verdict(document: Document, rubric: Rubric) -> Iterator[Problem]:
    data = document.data
    said = data.get("verdict")
    at = ("verdict",)
    if not rubric.verdicts:
        if said is not None:
            message = f"the rubric {rubric.reference} asks for no verdict"
            yield document.problem(at, message, "remove it", key=True)
        return
    if said is None:
        message = "there is no verdict"
        hint = f"write `verdict:` and one of {', '.join(rubric.verdicts)}"
        yield document.problem(at if "verdict" in data else (), message, hint)
        return
    if said not in rubric.verdicts:
        if isinstance(said, str):
            wanted = ", ".join(rubric.verdicts)
            message = f"`{said}` is no verdict of the rubric {rubric.reference}"
            yield document.problem(at, message, nearest(said, rubric.verdicts) or f"write {wanted}")
        return
    noes = [
        str(answer.get("question"))
        for _, answer in _mappings(data.get("answers"))
        if answer.get("answer") == AnswerKind.NO
    ]
    grave = [
        name
        for name in noes
        if (question := rubric.question(name)) is not None and question.severity is Severity.MUST
    ]
    if said == MERGE and grave:
        message = f"MERGE, and `no` to what must be: {', '.join(grave)}"
        yield document.problem(at, message, "change the verdict or the answer")
    if said == MERGE and data.get("findings"):
        message = "MERGE, and findings of what has to change"
        yield document.problem(at, message, "write FIX, or say it in a note")
    if said == FIX and not data.get("findings"):
        message = "FIX, and nothing under `findings` that has to be fixed"
        yield document.problem(at, message, "add `- text: ...` to `findings`")
    if said == REJECT and not noes and not data.get("findings"):
        message = "REJECT, and neither a `no` nor a finding that says why"
        yield document.problem(at, message, "say why under `findings`")


def _findings(document: Document, expected: Expected) -> Iterator[Problem]:
    for number, finding in _mappings(document.data.get("findings")):
        where, text = finding.get("where"), finding.get("text")
        if isinstance(where, str) and where:
            yield from _place(document, ("findings", number, "where"), where, expected)
        if isinstance(text, str) and (taste := _taste(text)):
            message = f"`{taste}` is a preference, and no finding"
            hint = "say what goes wrong because of it"
            yield document.problem(("findings", number, "text"), message, hint)


def _guess(document: Document, expected: Expected) -> Iterator[Problem]:
    guess = document.data.get("guess")
    said = guess.get("configuration") if isinstance(guess, dict) else None
    if isinstance(said, str) and said not in {*expected.configurations, UNKNOWN}:
        message = f"the run has no configuration `{said}`"
        hint = nearest(said, sorted(expected.configurations)) or f"or write `{UNKNOWN}`"
        yield document.problem(("guess", "configuration"), message, hint)


def _mappings(value: Any) -> Iterator[tuple[int, Mapping[str, Any]]]:  # noqa: ANN401 - any JSON
    if isinstance(value, list):
        for number, one in enumerate(value):
            if isinstance(one, dict):
                yield number, one


def _texts(value: Any) -> list[str]:  # noqa: ANN401 - any JSON value
    return (
        [one for one in value if isinstance(one, str) and one.strip()]
        if isinstance(value, list)
        else []
    )
