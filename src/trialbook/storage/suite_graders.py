"""Graders that a task names: checking their parameters, and the files that those name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from trialbook.api import Grader
from trialbook.errors import Problem, TrialbookError
from trialbook.formats.document import Document, Pointer
from trialbook.formats.schema import check_schema
from trialbook.model.grader_use import GraderUse
from trialbook.storage.suite_reading import Reading, value_of

TASK_FILE = "task.yaml"
PRIVATE = "private"


def task_owner(name: str) -> str:
    """Whose the files of a task are, among those that are frozen."""
    return f"task {name}"


def check_use(
    reading: Reading, document: Document, pointer: Pointer, folder: Path, name: str
) -> GraderUse:
    """Check one use of a grader, with all that it names; its files are frozen.

    Args:
        reading: Where mistakes go.
        document: The task's file.
        pointer: Where its parameters stand: a mapping, or the grader's main parameter alone.
        folder: The task's folder.
        name: The grader.
    """
    use = GraderUse(grader=name, parameters={})
    grader = reading.plugin("graders", name, document, pointer)
    written = value_of(document, pointer, str) or value_of(document, pointer, dict)
    if grader is None or written is None:
        return use
    parameters = {grader.shorthand: written} if isinstance(written, str) else written
    use = replace(use, parameters=parameters)
    wrong = check_schema(document, grader.parameters, at=pointer, data=parameters)
    reading.problems += wrong
    if wrong:
        return use
    files = _ask_grader(reading, document, pointer, folder, grader, parameters)
    visible = getattr(grader, "visible", False) is True and not any_private(files, folder)
    return replace(use, visible=visible)


def named_files(reading: Reading, use: GraderUse, folder: Path) -> list[Path]:
    """The files that a checked use of a grader names; none if its parameters are no use."""
    try:
        grader = reading.registry.plugin("graders", use.grader).make()
        files = grader.files(use.parameters, folder) if use.parameters else ()
    except Exception:  # noqa: BLE001 - said where it was checked
        return []
    return [folder / file for file in files if _is_below(folder / file, folder)]


def any_private(files: Iterable[Path], folder: Path) -> bool:
    """Whether one of the files is private, by its own path or by where a link on it leads."""
    whole = folder.resolve()
    return any(
        PRIVATE
        in (*file.relative_to(folder).parts, *os.path.relpath(file.resolve(), whole).split("/"))
        for file in files
    )


def _ask_grader(
    reading: Reading,
    document: Document,
    pointer: Pointer,
    folder: Path,
    grader: Grader,
    parameters: Mapping[str, Any],
) -> list[Path]:
    """Let a grader look at the files that its parameters name; gives those below the folder."""
    problems: list[Problem] = []
    try:
        files = [folder / file for file in grader.files(parameters, folder)]
        outside = [file for file in files if not _is_below(file, folder)]
        if not outside and all(reading.confined(file) for file in files):
            problems += grader.problems(parameters, folder)
    except TrialbookError as error:
        reading.at(document, pointer, error.message, error.hint, key=True)
        return []
    except Exception as error:  # noqa: BLE001 - a plugin may do anything
        message = f"the grader `{grader.name}` broke down on these parameters: {error!r}"
        reading.at(document, pointer, message, "report it to the plugin's authors", key=True)
        return []
    placed = [_placed(reading, document, pointer, problem, folder) for problem in problems]
    reading.problems += placed
    for file in outside:
        message = f"`{os.path.relpath(file, folder)}` is outside of the task's folder"
        reading.at(document, pointer, message, "name a file below the task's folder", key=True)
    inside = [file for file in files if file not in outside]
    for file in inside:
        if file.exists():
            reading.freeze(task_owner(folder.name), file)
        elif reading.shown(file) not in {problem.path for problem in placed}:
            message = f"there is no `{reading.shown(file)}`"
            reading.at(document, pointer, message, "add it, or correct the path", key=True)
    return inside


def _is_below(file: Path, folder: Path) -> bool:
    return Path(os.path.normpath(file)).is_relative_to(os.path.normpath(folder))


def _placed(
    reading: Reading, document: Document, pointer: Pointer, problem: Problem, folder: Path
) -> Problem:
    """A grader's problem, with its path from the ledger's root down."""
    if problem.line == 0 and problem.path in ("", TASK_FILE):
        return document.problem(pointer, problem.message, problem.hint, key=True)
    return replace(problem, path=reading.shown(folder / problem.path))
