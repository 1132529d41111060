"""Tasks of a suite: checking one with all that it names, and building its value."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path

from trialbook.formats.document import Document, Pointer
from trialbook.model.grader_use import GraderUse
from trialbook.model.series import CONTINUE, DEFAULT_NOTES, joined_briefs
from trialbook.model.suite import Contamination, Split, Task
from trialbook.model.toolchain import Toolchain
from trialbook.model.validation import Row
from trialbook.storage.suite_candidates import build_candidates, check_candidates
from trialbook.storage.suite_graders import PRIVATE, TASK_FILE, check_use, task_owner
from trialbook.storage.suite_reading import Reading, below, mapping_of, value_of
from trialbook.storage.suite_sessions import Uses, build_sessions, check_sessions, has_sessions
from trialbook.storage.suite_sources import (
    build_reference,
    build_snapshot,
    check_answer,
    check_source,
)
from trialbook.storage.suite_toolchains import build_toolchain, check_toolchain

BRIEF_FILE = "brief.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFile:
    """A task that was read, with or without mistakes.

    ``graders`` are those that it names, ``sessions`` those that each of its sessions names.
    """

    name: str
    folder: Path
    document: Document
    graders: tuple[GraderUse, ...]
    sessions: Uses = field(default_factory=list)

    @property
    def has_answer(self) -> bool:
        """Whether there is a reference, or doing nothing is right."""
        written = mapping_of(self.document)
        return "reference" in written or written.get("no_change_expected") is True

    @property
    def session_names(self) -> tuple[str, ...]:
        """The names of its sessions; none if it is an ordinary task."""
        sessions = value_of(self.document, ("sessions",), list) or []
        names = [one.get("session") for one in sessions if isinstance(one, dict)]
        return tuple(name for name in names if isinstance(name, str))

    @property
    def briefs(self) -> tuple[Path, ...]:
        """The files with briefs whose paths are usable ones: one, or one for each session."""
        written = mapping_of(self.document)
        names = [written.get("brief", BRIEF_FILE)]
        if has_sessions(self.document):
            sessions = value_of(self.document, ("sessions",), list) or []
            names = [one.get("brief") for one in sessions if isinstance(one, dict)]
        return tuple(path for name in names if (path := below(self.folder, name)) is not None)


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
    owner = task_owner(folder.name)
    name = value_of(document, ("task",), str)
    if name is not None and name != folder.name:
        message = f"the task is called `{name}`, but its folder `{folder.name}`"
        reading.at(document, ("task",), message, "rename one of the two")
    reading.freeze(owner, path)
    if (folder / PRIVATE).exists():
        reading.freeze(owner, folder / PRIVATE)
    if not has_sessions(document):
        _check_brief(reading, document, folder)
    if isinstance(document.data, dict):
        check_source(reading, document, ("snapshot",), folder)
        check_answer(reading, document, ("reference",), folder, owner)
        check_candidates(reading, document, folder, owner)
        check_toolchain(reading, document)
    graders = _check_graders(reading, document, folder)
    return TaskFile(
        name=folder.name,
        folder=folder,
        document=document,
        graders=graders,
        sessions=check_sessions(reading, document, folder),
    )


def build_task(reading: Reading, file: TaskFile, toolchain: Toolchain | None) -> Task:
    """The value of a task without mistakes; ``toolchain`` is the suite's."""
    written = mapping_of(file.document)
    sessions = build_sessions(reading, file.document, file.folder, file.sessions)
    brief = joined_briefs(sessions)
    if not sessions:
        brief = (file.folder / written.get("brief", BRIEF_FILE)).read_bytes().decode("utf-8")
    return Task(
        name=file.name,
        folder=os.path.relpath(file.folder, reading.root),
        brief=brief,
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
        sessions=sessions,
        notes=tuple(written.get("notes", DEFAULT_NOTES)),
        after_failure=written.get("after_failure", CONTINUE),
        files=reading.digests(task_owner(file.name)),
    )


def _check_brief(reading: Reading, document: Document, folder: Path) -> None:
    pointer: Pointer = ("brief",)
    path = below(folder, mapping_of(document).get("brief", BRIEF_FILE))
    if path is None or not reading.found(document, pointer, path):
        return
    reading.freeze(task_owner(folder.name), path)
    before = len(reading.problems)
    if not reading.text(path).strip() and len(reading.problems) == before:
        reading.add(path, "the brief is empty", "write what the agent is asked to do")


def _check_graders(reading: Reading, document: Document, folder: Path) -> tuple[GraderUse, ...]:
    uses: dict[str, GraderUse] = {}
    for index, entry in enumerate(value_of(document, ("graders",), list) or []):
        if not isinstance(entry, dict) or len(entry) != 1:
            continue
        name = next(iter(entry))
        pointer: Pointer = ("graders", index, name)
        if name in uses:
            message = f"the grader `{name}` is named twice"
            reading.at(document, pointer, message, "put all it has to do into one", key=True)
            continue
        uses[name] = check_use(reading, document, pointer, folder, name)
    return tuple(uses.values())
