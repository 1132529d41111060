"""Checks that agents may know are answered without anything private within reach."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trialbook.api import Command, Evidence, Grade, GradeStatus, Policy, Problem, ProcessResult
from trialbook.errors import Refused
from trialbook.grading.grade import Subject
from trialbook.grading.visible import grade_visible
from trialbook.model.grader_use import GraderUse
from trialbook.model.suite import Limits, Snapshot, SnapshotKind, Task
from trialbook.registry import Registry
from trialbook.storage.repository import Store

EMPTY = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


class Peeking:
    """A grader that tells every file that it finds in the task's folder."""

    name = "peeking"
    version = "1"
    visible = True
    parameters: Mapping[str, Any] = {"type": "object"}
    shorthand = "file"

    def problems(self, parameters: Mapping[str, Any], task_folder: Path) -> Iterable[Problem]:
        return ()

    def files(self, parameters: Mapping[str, Any], task_folder: Path) -> Iterable[Path]:
        return (task_folder / parameters["file"],)

    def grade(self, evidence: Evidence, parameters: Mapping[str, Any]) -> Grade:
        found = sorted(
            str(path.relative_to(evidence.task_folder))
            for path in evidence.task_folder.rglob("*")
            if path.is_file()
        )
        return Grade(
            grader=self.name,
            version="1",
            status=GradeStatus.GRADED,
            accepted=True,
            passed=1,
            total=1,
            message=" ".join(found),
        )


class Peekers(Registry):
    def grader(self, name: str) -> Any:
        assert name in {"peeking", "hidden"}
        return Peeking()


@pytest.fixture
def subject(tmp_path: Path) -> Subject:
    folder = tmp_path / "task"
    (folder / "private/tests").mkdir(parents=True)
    (folder / "private/tests/test_a.py").write_text("hidden")
    (folder / "checks.yaml").write_text("open")
    (folder / "link.yaml").symlink_to("private/tests/test_a.py")
    uses = (
        GraderUse(grader="peeking", parameters={"file": "checks.yaml"}, visible=True),
        GraderUse(grader="hidden", parameters={"file": "private/tests"}),
    )
    snapshot = Snapshot(kind=SnapshotKind.FOLDER, location="snapshot")
    return Subject(
        task=Task(name="t", folder="t", brief="b", snapshot=snapshot, graders=uses),
        task_folder=folder,
        baseline_tree=EMPTY,
        candidate_tree=EMPTY,
        patch=b"",
        changed=(),
        python="python3",
        limits=Limits(),
    )


def graded(subject: Subject, tmp_path: Path) -> tuple[Grade, ...]:
    def start(command: Command, policy: Policy) -> ProcessResult:
        raise AssertionError(command)

    store = Store.at(tmp_path / "objects")
    store.add_tree([])
    work = tmp_path / "work"
    work.mkdir()
    return grade_visible(subject, store=store, registry=Peekers(), start=start, work=work)


def test_a_grader_finds_its_own_files_and_nothing_else(subject: Subject, tmp_path: Path) -> None:
    (grade,) = graded(subject, tmp_path)
    assert (grade.grader, grade.message) == ("peeking", "checks.yaml")


@pytest.mark.parametrize("file", ["private/tests", "private/tests/test_a.py", "link.yaml", "../x"])
def test_one_that_reads_what_is_private_is_refused(
    subject: Subject, tmp_path: Path, file: str
) -> None:
    use = GraderUse(grader="peeking", parameters={"file": file}, visible=True)
    with pytest.raises(Refused, match="which no agent may know of"):
        graded(replace(subject, task=replace(subject.task, graders=(use,))), tmp_path)
