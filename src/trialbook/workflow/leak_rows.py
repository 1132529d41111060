"""The row of the validation matrix that looks for answers where agents of a suite can read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import TrialbookError
from trialbook.execution.answer import Answer, answer_of
from trialbook.execution.leaks import Search
from trialbook.execution.reachable import Place, shown_places, thorough_places
from trialbook.execution.shown import named_paths
from trialbook.model.evidence import SightingSeverity, violations
from trialbook.model.suite import Suite, Task
from trialbook.model.validation import MatrixRow, Row, RowStatus
from trialbook.registry import Registry
from trialbook.reporting.wording import number_of
from trialbook.storage.repository import Store

_TOLD = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LeakCase:
    """A task with the trees of its snapshot and of its reference, and its agents' interpreter.

    Without a tree of the reference, ``trouble`` says why there is none. ``python`` is None where an
    image is what agents see: that is not looked into.
    """

    task: Task
    base: str
    reference: str | None
    trouble: str
    python: str | None


def leak_rows(
    cases: Sequence[LeakCase], store: Store, shared: Sequence[Place]
) -> Mapping[str, MatrixRow]:
    """The row of each task, by the task's name; tasks for which no change is right have none.

    Args:
        cases: The tasks of a suite.
        store: Where the trees are.
        shared: Folders that agents of all tasks can read, besides what comes with an interpreter.
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
            found |= _looked_for(having, store, shared)
    return found


def _looked_for(
    cases: Sequence[LeakCase], store: Store, shared: Sequence[Place]
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
        for place in shared:
            search.folder(place, tasks)
        python = cases[0].python
        for place in [] if python is None else thorough_places(python):
            search.folder(place)
    except (TrialbookError, OSError) as error:
        reason = f"not everything could be looked at: {error}"
        return {case.task.name: _row(case.task, RowStatus.BROKEN, reason) for case in cases}
    return {
        case.task.name: _judged(case, answer, search)
        for case, answer in zip(cases, answers, strict=True)
    }


def _judged(case: LeakCase, answer: Answer, search: Search) -> MatrixRow:
    task = case.task
    seen = search.sightings(answer)
    leaks = violations(seen)
    told = leaks or [one for one in seen if one.severity is SightingSeverity.FLAG]
    listed = "; ".join(str(one) for one in told[:_TOLD])
    more = f"; and {len(told) - _TOLD} more" if len(told) > _TOLD else ""
    if leaks:
        return _row(task, RowStatus.FAILED, f"an agent could read the answer: {listed}{more}")
    files = number_of(len(answer.blobs), "file")
    lines = number_of(len(answer.lines or ()), "line")
    status = RowStatus.PASSED
    reason = f"{files} and {lines} of the answer, looked for in {search.files} files: not found"
    if not answer.blobs and not answer.lines:
        status = RowStatus.NOT_GIVEN
        reason = "the answer has no file and no line that is large enough to be looked for"
    if case.python is None:
        reason += "; its image was not looked into"
    reason += f"; worth a look: {listed}{more}" if told else ""
    return _row(task, status, reason)


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


def shared_places(suite: Suite, folder: Path, registry: Registry, home: Path) -> list[Place]:
    """What configurations hand to their agents: instructions, and folders of the host.

    Args:
        suite: The suite.
        folder: Its folder.
        registry: Where the agents' adapters are.
        home: The home of whoever runs trialbook.
    """
    found: dict[Path, Place] = {}
    shown: list[Path] = []
    for one in suite.configurations:
        if one.instructions is not None:
            name = f"the instructions {one.instructions}"
            root = folder / "instructions" / one.instructions
            found[root] = Place(name=name, root=root, lasting=False)
        for stage in one.stages:
            shown += named_paths(registry.agent(stage.agent), stage, home)
    return [*found.values(), *shown_places(shown)]
