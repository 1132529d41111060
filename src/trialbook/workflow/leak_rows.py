"""The row of the validation matrix that looks for answers where agents of a suite can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import TrialbookError
from trialbook.execution.answer import Answer, answer_of
from trialbook.execution.leaks import Search
from trialbook.execution.reachable import Place, thorough_places
from trialbook.model.evidence import SightingSeverity, violations
from trialbook.model.suite import Suite, Task
from trialbook.model.validation import MatrixRow, Row, RowStatus
from trialbook.storage.repository import Store

_TOLD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakCase:
    """A task with the trees of its snapshot and of its reference, and its agents' interpreter.

    Without a tree of the reference, ``trouble`` says why there is none.
    """

    task: Task
    base: str
    reference: str | None
    trouble: str
    python: str


def leak_rows(
    suite: Suite, cases: Sequence[LeakCase], folder: Path, store: Store
) -> Mapping[str, MatrixRow]:
    """The row of each task, by the task's name; tasks for which no change is right have none.

    Args:
        suite: The suite.
        cases: Its tasks.
        folder: The suite's folder.
        store: Where the trees are.
    """
    found: dict[str, MatrixRow] = {}
    for case in cases:
        if case.reference is None and not case.task.no_change_expected:
            status = RowStatus.BROKEN if case.task.reference else RowStatus.NOT_GIVEN
            reason = case.trouble or "the task has no reference: there is no answer to look for"
            found[case.task.name] = _row(case.task, status, reason)
    for python in dict.fromkeys(case.python for case in cases):
        having = [case for case in cases if case.python == python and case.reference is not None]
        if having:
            found |= _looked_for(suite, having, folder, store)
    return found


def _looked_for(
    suite: Suite, cases: Sequence[LeakCase], folder: Path, store: Store
) -> dict[str, MatrixRow]:
    """The rows of tasks whose agents have the same interpreter: what is shared is read once."""
    answers = [
        answer_of(case.task, case.base, case.reference or "", store, lines=True) for case in cases
    ]
    search = Search(answers=answers, lines=True)
    tasks = [case.task.name for case in cases]
    try:
        for case in cases:
            only = [case.task.name]
            search.text("the brief", b"brief.md", case.task.brief.encode(), only)
            search.tree("the snapshot", case.base, store, only)
        for name in _instructions(suite):
            place = Place(
                name=f"the instructions {name}", root=folder / "instructions" / name, lasting=False
            )
            search.folder(place, tasks)
        for place in thorough_places(cases[0].python):
            search.folder(place)
    except (TrialbookError, OSError) as error:
        reason = f"not everything could be looked at: {error}"
        return {case.task.name: _row(case.task, RowStatus.BROKEN, reason) for case in cases}
    return {
        case.task.name: _judged(case.task, answer, search)
        for case, answer in zip(cases, answers, strict=True)
    }


def _judged(task: Task, answer: Answer, search: Search) -> MatrixRow:
    seen = search.sightings(answer)
    leaks = violations(seen)
    told = leaks or [one for one in seen if one.severity is SightingSeverity.FLAG]
    listed = "; ".join(str(one) for one in told[:_TOLD])
    more = f"; and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
    if leaks:
        return _row(task, RowStatus.FAILED, f"an agent could read the answer: {listed}{more}")
    reason = (
        f"{len(answer.blobs)} files and {len(answer.lines or ())} lines of the answer, looked for "
        f"in {search.files} files that its agents can read: not found"
    )
    return _row(
        task, RowStatus.PASSED, f"{reason}; worth a look: {listed}{more}" if told else reason
    )


def _row(task: Task, status: RowStatus, reason: str) -> MatrixRow:
    return MatrixRow(
        task=task.name,
        row=Row.LEAK,
        case="",
        status=status,
        repeats=0,
        outcome=None,
        reason=reason,
    )


def _instructions(suite: Suite) -> list[str]:
    names = [configuration.instructions for configuration in suite.configurations]
    return list(dict.fromkeys(name for name in names if name is not None))
