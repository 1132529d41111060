"""Runs a task's graders on artifacts, each in fresh copies of its own.

Whatever a grader does wrong (an exception, a value that is no grade, counts that do not add up) is
that grader's failure, told in its grade; it never counts against the agent.
"""

from __future__ import annotations

import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from trialbook.api import (
    ChangedFile,
    Command,
    Evidence,
    Grade,
    GraderStart,
    GradeStatus,
    Policy,
    ProcessResult,
)
from trialbook.errors import TrialbookError
from trialbook.formats.records import from_json, to_json
from trialbook.grading.places import places_of, without_places
from trialbook.grading.tree_view import StoredTree
from trialbook.model.grader_use import GraderUse
from trialbook.model.suite import Limits, Network, Task
from trialbook.registry import Registry
from trialbook.storage.files import fresh_folder
from trialbook.storage.interpreter import interpreter_folders
from trialbook.storage.trees import Objects, materialise

StartInSandbox = Callable[[Command, Policy], ProcessResult]
"""Runs a command under a policy in the sandbox that the trial uses."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The artifacts of one trial. Trees are ids in the store that grading is given."""

    task: Task
    task_folder: Path
    baseline_tree: str
    candidate_tree: str
    patch: bytes
    changed: tuple[ChangedFile, ...]
    python: str
    limits: Limits


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderSubject:
    """A folder to grade as it is: no baseline, no change; nothing is written to it."""

    name: str
    brief: str
    folder: Path
    graders: tuple[GraderUse, ...]
    task_folder: Path
    python: str
    limits: Limits


class _Written:
    """A folder that is written out when a grader first asks for it; many never do."""

    def __init__(self, store: Objects, tree: str, folder: Path) -> None:
        self._store = store
        self._tree = tree
        self._folder = folder
        self._lock = threading.Lock()
        self._done = False

    def folder(self) -> Path:
        """The folder, with the tree in it.

        Raises:
            TrialbookError, KeyError: as `materialise`.
        """
        with self._lock:
            # Who asks when grading is over gets nothing written any more.
            if not self._done and self._folder.parent.is_dir():
                materialise(self._store, self._tree, self._folder)
                self._done = True
        return self._folder


class _TwoTrees(Evidence):
    """Evidence whose folders are written out when a grader first asks for them."""

    _final: Path | _Written
    _start: Path | _Written | None

    @property
    def candidate(self) -> Path:
        """The folder with the final tree."""
        return self._final.folder() if isinstance(self._final, _Written) else self._final

    @candidate.setter
    def candidate(self, value: Path | _Written) -> None:
        object.__setattr__(self, "_final", value)

    @property
    def baseline(self) -> Path | None:
        """The folder with the starting tree."""
        return self._start.folder() if isinstance(self._start, _Written) else self._start

    @baseline.setter
    def baseline(self, value: Path | _Written | None) -> None:
        object.__setattr__(self, "_start", value)


def grade_artifacts(
    subject: Subject, *, store: Objects, registry: Registry, start: StartInSandbox, work: Path
) -> tuple[Grade, ...]:
    """What every grader of the task says about a trial's artifacts, in the task's order.

    Args:
        subject: The artifacts.
        store: Where their trees are.
        registry: Where the graders are.
        start: How their commands run.
        work: A folder to make fresh folders in.
    """

    @contextmanager
    def given() -> Iterator[Evidence]:
        with fresh_folder(work) as room:
            scratch = room / "scratch"
            scratch.mkdir()
            yield _TwoTrees(
                task=subject.task.name,
                brief=subject.task.brief,
                candidate=_Written(store, subject.candidate_tree, room / "candidate"),  # type: ignore[arg-type]
                baseline=_Written(store, subject.baseline_tree, room / "baseline"),  # type: ignore[arg-type]
                changed=subject.changed,
                patch=subject.patch,
                task_folder=subject.task_folder,
                scratch=scratch,
                python=subject.python,
                limits=subject.limits,
                start=limited(start, subject.limits, subject.python),
                view=StoredTree(store, subject.candidate_tree),
            )

    return tuple(_grade(use, registry, given) for use in subject.task.graders)


def grade_folder(
    subject: FolderSubject, *, registry: Registry, start: StartInSandbox, work: Path
) -> tuple[Grade, ...]:
    """What every grader says about a folder as it is, without an agent.

    Graders read the folder itself and copy what they run; repositories inside it are not looked at.
    """

    @contextmanager
    def evidence() -> Iterator[Evidence]:
        with fresh_folder(work) as scratch:
            yield Evidence(
                task=subject.name,
                brief=subject.brief,
                candidate=subject.folder,
                baseline=None,
                changed=(),
                patch=b"",
                task_folder=subject.task_folder,
                scratch=scratch,
                python=subject.python,
                limits=subject.limits,
                start=limited(start, subject.limits, subject.python),
            )

    return tuple(_grade(use, registry, evidence) for use in subject.graders)


def _grade(
    use: GraderUse,
    registry: Registry,
    evidence: Callable[[], AbstractContextManager[Evidence]],
) -> Grade:
    version = ""
    try:
        grader = registry.grader(use.grader)
        version = str(grader.version)
        with evidence() as given:
            said = grader.grade(given, use.parameters)
            places = places_of(given)
        return without_places(_sound(said, use.grader), places)
    except TrialbookError as error:
        text = f"{error}; {error.hint}" if error.hint else str(error)
        return _failed(use.grader, version, text, "")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - a grader's fault is told in its grade
        text = f"the grader broke: {type(error).__name__}: {error}"
        return _failed(use.grader, version, text, traceback.format_exc())


def _failed(grader: str, version: str, message: str, log: str) -> Grade:
    return Grade(
        grader=grader,
        version=version,
        status=GradeStatus.FAILED,
        accepted=None,
        passed=0,
        total=0,
        message=_text(message),
        log=_text(log),
    )


def _sound(grade: Grade, name: str) -> Grade:
    """The grade, if it is one: right types all through, and counts that agree with its checks.

    Raises:
        TrialbookError: it is not; says why.
    """
    if not isinstance(grade, Grade):
        raise TrialbookError(f"the grader gave no grade but {type(grade).__name__}")
    try:
        grade = from_json(Grade, to_json(grade), "the grade")
    except (ValueError, TypeError) as error:
        raise TrialbookError(f"the grader gave nonsense: {error}") from error
    passed = sum(check.passed is True for check in grade.checks)
    score = f"the score is {grade.passed} of {grade.total}"
    faults = (
        (grade.grader != name, f"it calls itself {grade.grader!r}"),
        (not 0 <= grade.passed <= grade.total, score),
        (
            bool(grade.checks) and (passed, len(grade.checks)) != (grade.passed, grade.total),
            f"{score}, its checks say {passed} of {len(grade.checks)}",
        ),
        (
            (grade.accepted is None) is (grade.status is GradeStatus.GRADED),
            f"the status is {grade.status.value}, the answer {grade.accepted}",
        ),
        (
            grade.accepted is True and any(check.passed is not True for check in grade.checks),
            "it accepts although a check does not pass",
        ),
    )
    for found, fault in faults:
        if found:
            raise TrialbookError(f"the grader gave a grade that cannot be right: {fault}")
    return grade


def limited(start: StartInSandbox, limits: Limits, python: str) -> GraderStart:
    """The way graders run commands: never with network, and with nothing but what they name."""

    def run(
        command: Command,
        *,
        minutes: float | None = None,
        writable: Sequence[Path] = (),
        readable: Sequence[Path] = (),
    ) -> ProcessResult:
        # A grader's own script runs with what runs trialbook, whatever the task's toolchain is.
        own = command.argv[0] == sys.executable
        # The interpreter's installation has to be there for it to start at all.
        installation = interpreter_folders(sys.executable if own else python)
        policy = Policy(
            writable=tuple(writable),
            readable=(*readable, *installation),
            network=Network(mode="none"),
            evaluator=True,
            limits=limits if minutes is None else replace(limits, minutes=minutes),
        )
        return start(command, policy)

    return run


def _text(text: str) -> str:
    return text.encode("utf-8", "backslashreplace").decode()
