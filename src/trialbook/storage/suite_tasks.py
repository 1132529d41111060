"""Tasks of a suite: checking one with all that it names, and building its value."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trialbook.api import Grader
from trialbook.errors import Problem, TrialbookError
from trialbook.formats.document import Document, Pointer
from trialbook.formats.schema import check_schema
from trialbook.model.suite import Contamination, GraderUse, Split, Task
from trialbook.model.toolchain import Toolchain
from trialbook.model.validation import Row
from trialbook.storage.suite_candidates import build_candidates, check_candidates
from trialbook.storage.suite_reading import Reading, below, mapping_of, value_of
from trialbook.storage.suite_sources import (
    build_reference,
    build_snapshot,
    check_answer,
    check_source,
)
from trialbook.storage.suite_toolchains import build_toolchain, check_toolchain

TASK_FILE = "task.yaml"
BRIEF_FILE = "brief.md"

_PRIVATE = "private"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFile:
    """A task that was read, with or without mistakes. ``graders`` are those that it names."""

    name: str
    folder: Path
    document: Document
    graders: tuple[GraderUse, ...]

    @property
    def has_answer(self) -> bool:
        """Whether there is a reference, or doing nothing is right."""
        written = mapping_of(self.document)
        return "reference" in written or written.get("no_change_expected") is True

    @property
    def brief(self) -> Path | None:
        """The file with the brief; None if its path is not a usable one."""
        return below(self.folder, mapping_of(self.document).get("brief", BRIEF_FILE))


def task_folders(suite_folder: Path) -> list[Path]:
    """The folders in ``tasks/``, hidden ones left out."""
    folder = suite_folder / "tasks"
    if not folder.is_dir():
        return []
    return sorted(
        child for child in folder.iterdir() if child.is_dir() and not child.name.startswith(".")
    )


def check_task(reading: Reading, folder: Path) -> TaskFile | None:
    """Check a task and everything that it names; None if its file cannot be read."""
    reading.named(folder, folder.name)
    path = folder / TASK_FILE
    if not path.exists():
        reading.add(path, "there is no such file", "every folder in tasks/ is a task")
        return None
    document = reading.document(path, "task")
    if document is None:
        return None
    owner = _owner(folder.name)
    name = value_of(document, ("task",), str)
    if name is not None and name != folder.name:
        message = f"the task is called `{name}`, but its folder `{folder.name}`"
        reading.at(document, ("task",), message, "rename one of the two")
    reading.freeze(owner, path)
    if (folder / "private").exists():
        reading.freeze(owner, folder / "private")
    _check_brief(reading, document, folder)
    if isinstance(document.data, dict):
        check_source(reading, document, ("snapshot",), folder)
        check_answer(reading, document, ("reference",), folder, owner)
        check_candidates(reading, document, folder, owner)
        check_toolchain(reading, document)
    graders = _check_graders(reading, document, folder)
    return TaskFile(name=folder.name, folder=folder, document=document, graders=graders)


def build_task(reading: Reading, file: TaskFile, toolchain: Toolchain | None) -> Task:
    """The value of a task without mistakes; ``toolchain`` is the suite's."""
    written = mapping_of(file.document)
    brief = file.folder / written.get("brief", BRIEF_FILE)
    return Task(
        name=file.name,
        folder=os.path.relpath(file.folder, reading.root),
        brief=brief.read_bytes().decode("utf-8"),
        snapshot=build_snapshot(written["snapshot"]),
        graders=file.graders,
        category=written.get("category", ""),
        split=Split(written.get("split", Split.DEVELOPMENT)),
        contamination=Contamination(written.get("contamination", Contamination.UNKNOWN)),
        limits=dict(written["limits"]) if "limits" in written else None,
        toolchain=build_toolchain(reading, file.document) or toolchain,
        reference=build_reference(written.get("reference")),
        no_change_expected=written.get("no_change_expected", False),
        must_escalate=written.get("must_escalate", False),
        protected=tuple(written.get("protected", ())),
        scope=tuple(written.get("scope", ())),
        expected_outcomes={
            name: (said,) if isinstance(said, str) else tuple(said)
            for name, said in written.get("expected_outcomes", {}).items()
        },
        near_misses=build_candidates(written, Row.NEAR_MISS),
        variants=build_candidates(written, Row.VARIANT),
        fail_to_pass=tuple(written.get("fail_to_pass", ())),
        pass_to_pass=tuple(written.get("pass_to_pass", ())),
        files=reading.digests(_owner(file.name)),
    )


def _owner(name: str) -> str:
    return f"task {name}"


def _check_brief(reading: Reading, document: Document, folder: Path) -> None:
    pointer: Pointer = ("brief",)
    path = below(folder, mapping_of(document).get("brief", BRIEF_FILE))
    if path is None or not reading.found(document, pointer, path):
        return
    reading.freeze(_owner(folder.name), path)
    before = len(reading.problems)
    if not reading.text(path).strip() and len(reading.problems) == before:
        reading.add(path, "the brief is empty", "write what the agent is asked to do")


def _check_graders(reading: Reading, document: Document, folder: Path) -> tuple[GraderUse, ...]:
    uses: dict[str, GraderUse] = {}
    for index, entry in enumerate(value_of(document, ("graders",), list) or []):
        if not isinstance(entry, dict) or len(entry) != 1:
            continue
        name, written = next(iter(entry.items()))
        pointer: Pointer = ("graders", index, name)
        if name in uses:
            message = f"the grader `{name}` is named twice"
            reading.at(document, pointer, message, "put all it has to do into one", key=True)
            continue
        uses[name] = GraderUse(grader=name, parameters={})
        grader = reading.plugin("graders", name, document, pointer)
        if grader is None or not isinstance(written, str | dict):
            continue
        parameters = {grader.shorthand: written} if isinstance(written, str) else written
        uses[name] = GraderUse(grader=name, parameters=parameters)
        wrong = check_schema(document, grader.parameters, at=pointer, data=parameters)
        reading.problems += wrong
        if not wrong:
            files = _ask_grader(reading, document, pointer, folder, grader, parameters)
            visible = getattr(grader, "visible", False) is True and not _any_private(files, folder)
            uses[name] = replace(uses[name], visible=visible)
    return tuple(uses.values())


def _any_private(files: Iterable[Path], folder: Path) -> bool:
    """Whether one of the files is private, by its own path or by where a link on it leads."""
    whole = folder.resolve()
    return any(
        _PRIVATE
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
            reading.freeze(_owner(folder.name), file)
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
