"""Answers those checks of a task that agents may know, and has no way to answer any others.

They may decide whether a workflow goes on. What is private is not merely left out: the folder that
the graders get has the files of the visible ones and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from trialbook.api import Grade
from trialbook.errors import Refused
from trialbook.grading.grade import StartInSandbox, Subject, grade_artifacts
from trialbook.model.grader_use import GraderUse
from trialbook.model.suite import Task
from trialbook.registry import Registry
from trialbook.storage.files import copy_tree, fresh_folder, read_regular
from trialbook.storage.trees import Objects

PRIVATE = "private"


def grade_visible(
    subject: Subject, *, store: Objects, registry: Registry, start: StartInSandbox, work: Path
) -> tuple[Grade, ...]:
    """What the graders say whose checks agents may know; the arguments are `grade_artifacts`'.

    Raises:
        Refused: one of them reads what is private.
    """
    uses = tuple(use for use in subject.task.graders if use.visible)
    with fresh_folder(work) as folder:
        for use in uses:
            for name in _files(use, subject, registry):
                _copy(subject.task_folder / name, folder / name)
        shown = replace(subject, task=_without_private(subject.task, uses), task_folder=folder)
        return grade_artifacts(shown, store=store, registry=registry, start=start, work=work)


def _without_private(task: Task, uses: tuple[GraderUse, ...]) -> Task:
    return replace(task, graders=uses, reference=None, near_misses=(), variants=(), files={})


def _files(use: GraderUse, subject: Subject, registry: Registry) -> Iterator[Path]:
    """The files of a grader, relative to the task's folder, each looked at again."""
    folder = subject.task_folder
    for given in registry.grader(use.grader).files(use.parameters, folder):
        path = folder / given
        real = path.resolve()
        inside = real.is_relative_to(folder.resolve()) and path.is_relative_to(folder)
        parts = {*path.parts[len(folder.parts) :], *real.parts[len(folder.resolve().parts) :]}
        if not inside or PRIVATE in parts or ".." in parts:
            raise Refused(
                f"the grader {use.grader} reads {path.relative_to(folder) if inside else path}, "
                "which no agent may know of: it cannot decide whether a workflow goes on"
            )
        yield path.relative_to(folder)


def _copy(source: Path, destination: Path) -> None:
    destination.parent.mkdir(parents=True, exist_ok=True)
    if source.is_dir():
        if not destination.exists():
            copy_tree(source, destination)
        return
    data = read_regular(source.resolve())
    if data is not None:
        destination.write_bytes(data)
