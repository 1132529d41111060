"""What a suite says for its validation: near misses, variants, protected paths, waivers."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from trialbook.formats.document import Document, Pointer
from trialbook.formats.nearest import nearest
from trialbook.model.suite import Candidate
from trialbook.model.validation import Row, Waiver
from trialbook.storage.placeholders import placeholder_fault, placeholders
from trialbook.storage.suite_reading import Reading, below, mapping_of, value_of
from trialbook.storage.suite_sources import build_reference, check_answer

KINDS = {Row.NEAR_MISS: "near_misses", Row.VARIANT: "variants"}
"""The key of a task that holds the cases of a row."""

PLACEHOLDERS = ("python", "task", "files")
"""What the command of a candidate may name."""


def check_candidates(reading: Reading, document: Document, folder: Path, owner: str) -> None:
    """What a task's near misses and variants name has to be there; their files are frozen."""
    for key in KINDS.values():
        for name in value_of(document, (key,), dict) or {}:
            at: Pointer = (key, name)
            written = value_of(document, at, dict) or {}
            if "run" in written:
                _check_run(reading, document, at, owner)
            else:
                check_answer(reading, document, at, folder, owner)
    _check_keys(reading, document)


def build_candidates(task: Mapping[str, Any], row: Row) -> tuple[Candidate, ...]:
    """The near misses or the variants of a task without mistakes, by name."""
    written: Mapping[str, Any] = task.get(KINDS[row], {})
    return tuple(_candidate(name, written[name]) for name in sorted(written))


def check_waivers(reading: Reading, document: Document, tasks: Mapping[str, Document]) -> None:
    """A waiver has to be about a task, and a case of it, that there is."""
    seen: set[tuple[str, str, str]] = set()
    for index, waiver in enumerate(value_of(document, ("waivers",), list) or []):
        if not isinstance(waiver, dict):
            continue
        at: Pointer = ("waivers", index)
        task, row, case = (value_of(document, (*at, key), str) for key in ("task", "row", "case"))
        key = (task or "", row or "", case or "")
        if key in seen:
            reading.at(document, at, "this row is waived twice", "keep one of the two")
        seen.add(key)
        if task is not None and task not in tasks:
            message = f"there is no task `{task}`"
            hint = nearest(task, tasks) or f"the tasks are: {', '.join(sorted(tasks))}"
            reading.at(document, (*at, "task"), message, hint)
        elif task is not None and case is not None:
            _check_case(reading, document, at, tasks[task], task)


def build_waivers(document: Document) -> tuple[Waiver, ...]:
    """The waivers of a suite without mistakes."""
    return tuple(
        Waiver(
            task=written["task"],
            row=Row(written["row"]),
            case=written.get("case"),
            reason=written["reason"],
        )
        for written in mapping_of(document).get("waivers", ())
    )


def _candidate(name: str, written: Any) -> Candidate:  # noqa: ANN401 - text or a mapping
    if isinstance(written, dict) and "run" in written:
        return Candidate(name=name, run=tuple(written["run"]), files=written.get("files"))
    return Candidate(name=name, answer=build_reference(written))


def _check_run(reading: Reading, document: Document, at: Pointer, owner: str) -> None:
    has_files = False
    name = value_of(document, (*at, "files"), str)
    folder = below(reading.folder, name)
    if folder is not None:
        has_files = True
        pointer: Pointer = (*at, "files")
        if reading.exposes(folder):
            hint = "give these files a folder of their own"
            reading.at(document, pointer, "the folder holds the private part of a task", hint)
        elif reading.found(document, pointer, folder, folder=True):
            reading.freeze(owner, folder)
    for index, text in enumerate(value_of(document, (*at, "run"), list) or []):
        if isinstance(text, str) and (fault := _fault(text, has_files)):
            message, _, hint = fault.partition("; ")
            reading.at(document, (*at, "run", index), message, hint)


def _fault(text: str, has_files: bool) -> str:  # noqa: FBT001 - whether `files` is given
    """What is wrong with the placeholders of an argument; empty if nothing is."""
    if fault := placeholder_fault(text, PLACEHOLDERS):
        return fault
    if "files" in placeholders(text) and not has_files:
        return "there are no {files}; name the folder under `files`"
    return ""


def _check_keys(reading: Reading, document: Document) -> None:
    written = mapping_of(document)
    if "protected" in written and written.get("must_escalate") is not True:
        message = "protected files are for tasks that must be handed back"
        reading.at(document, ("protected",), message, "add `must_escalate: true`", key=True)
    if written.get("must_escalate") is True and written.get("no_change_expected") is True:
        message = "a task cannot ask for no change and for being handed back"
        reading.at(document, ("no_change_expected",), message, "keep one of the two", key=True)
    both = value_of(document, ("fail_to_pass",), list) or []
    for index, item in enumerate(value_of(document, ("pass_to_pass",), list) or []):
        if item in both:
            message = f"`{item}` is in `fail_to_pass` too"
            reading.at(document, ("pass_to_pass", index), message, "keep it in one of the two")


def _check_case(
    reading: Reading, document: Document, at: Pointer, task: Document, name: str
) -> None:
    row, case = (value_of(document, (*at, key), str) for key in ("row", "case"))
    key = next((key for kind, key in KINDS.items() if kind == row), None)
    pointer: Pointer = (*at, "case")
    if key is None:
        message = f"the row `{row}` has no cases"
        reading.at(document, pointer, message, "remove `case`", key=True)
        return
    known = list(value_of(task, (key,), dict) or {})
    if case not in known:
        message = f"the task {name} has no `{case}` under `{key}`"
        reading.at(document, pointer, message, nearest(case or "", known) or "correct the name")
