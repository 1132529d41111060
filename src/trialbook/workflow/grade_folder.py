"""Grades a folder as it is, without an agent: the tasks of a suite, or loose files of checks."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

from trialbook.api import Command, Grade, GradeStatus, Limits, Policy, ProcessResult
from trialbook.errors import UserError
from trialbook.execution.toolchain import in_image
from trialbook.grading.grade import FolderSubject, grade_folder
from trialbook.model.grader_use import GraderUse
from trialbook.model.suite import Suite, merge_limits
from trialbook.model.toolchain import Toolchain
from trialbook.process import run
from trialbook.registry import Registry
from trialbook.storage.rooms import rooms
from trialbook.system import System
from trialbook.workflow.sandboxes import sandbox_for_grading
from trialbook.workflow.toolchains import toolchains_of

T = TypeVar("T")

CHECKS_FILE = "checks.yaml"
"""The file that makes a folder below ``--eval-dir`` a task."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskGrades:
    """What the graders of one task said."""

    task: str
    grades: tuple[Grade, ...]

    @property
    def passed(self) -> int:
        """Checks that pass."""
        return sum(grade.passed for grade in self.grades)

    @property
    def total(self) -> int:
        """All checks."""
        return sum(grade.total for grade in self.grades)

    @property
    def unanswered(self) -> int:
        """Checks that could not be answered; a grader that broke counts as one."""
        return sum(
            sum(check.passed is None for check in grade.checks) or 1
            for grade in self.grades
            if grade.status is GradeStatus.FAILED
        )

    @property
    def accepted(self) -> bool:
        """Whether every grader accepts."""
        return all(grade.accepted is True for grade in self.grades)


def grade_with_suite(
    folder: Path,
    suite: Suite,
    names: Sequence[str],
    *,
    root: Path,
    registry: Registry,
    system: System,
) -> tuple[TaskGrades, ...]:
    """Grade a folder with the graders of a suite's tasks: all of them, or those named.

    Raises:
        UserError: the suite has no task of a name.
        EnvironmentProblem: a task's toolchain cannot be made.
    """
    by_name = {task.name: task for task in suite.tasks}
    chosen = _chosen(names, by_name, f"suite {suite.name}")
    toolchains = toolchains_of(suite, root, registry, system)
    subjects = [
        FolderSubject(
            name=task.name,
            brief=task.brief,
            folder=folder,
            graders=task.graders,
            task_folder=root / task.folder,
            python=toolchains.python(task.toolchain, sandbox_for_grading(registry, task.toolchain)),
            limits=merge_limits(suite.limits, task.limits),
        )
        for task in chosen
    ]
    return _graded(subjects, registry, system, {task.name: task.toolchain for task in chosen})


def grade_with_checks(
    folder: Path, eval_dir: Path, names: Sequence[str], *, registry: Registry, system: System
) -> tuple[TaskGrades, ...]:
    """Grade a folder with every ``*/checks.yaml`` directly below ``eval_dir``, by name.

    Raises:
        UserError: there is none, none of a name that was asked for, or one has mistakes (all of
            them are told).
    """
    by_name = {
        path.name: path for path in sorted(eval_dir.iterdir()) if (path / CHECKS_FILE).is_file()
    }
    if not by_name:
        raise UserError(
            f"no task in {eval_dir}: no folder in it has a {CHECKS_FILE}",
            hint="name the folder that holds the folders of the tasks",
        )
    chosen = _chosen(names, by_name, str(eval_dir))
    use = GraderUse(grader="checks", parameters={"file": CHECKS_FILE})
    problems = [
        replace(problem, path=str(path / problem.path))
        for path in chosen
        for problem in registry.grader(use.grader).problems(use.parameters, path)
    ]
    if problems:
        raise UserError(problems=problems)
    subjects = [
        FolderSubject(
            name=path.name,
            brief="",
            folder=folder,
            graders=(use,),
            task_folder=path.absolute(),
            python=sys.executable,
            limits=Limits(),
        )
        for path in chosen
    ]
    return _graded(subjects, registry, system, {})


def _chosen(names: Sequence[str], known: Mapping[str, T], owner: str) -> list[T]:
    unknown = [name for name in names if name not in known]
    if unknown:
        raise UserError(
            f"{owner} has no task named {', '.join(unknown)}",
            hint=f"its tasks: {', '.join(known)}",
        )
    return [item for name, item in known.items() if not names or name in names]


def _graded(
    subjects: Sequence[FolderSubject],
    registry: Registry,
    system: System,
    toolchains: Mapping[str, Toolchain | None],
) -> tuple[TaskGrades, ...]:
    def starter(toolchain: Toolchain | None) -> Callable[[Command, Policy], ProcessResult]:
        sandbox = registry.sandbox(sandbox_for_grading(registry, toolchain))
        return lambda command, policy: sandbox.start(
            command, in_image(policy, command, toolchain), run
        )

    with rooms(system) as work:
        return tuple(
            TaskGrades(
                task=subject.name,
                grades=grade_folder(
                    subject,
                    registry=registry,
                    start=starter(toolchains.get(subject.name)),
                    work=work,
                ),
            )
            for subject in subjects
        )
