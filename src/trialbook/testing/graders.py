"""Exercises a grader: whether it keeps the promises of its seam."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trialbook.api import (
    ChangedFile,
    Command,
    Ended,
    Evidence,
    Grade,
    Grader,
    GraderStart,
    GradeStatus,
    Limits,
    ProcessResult,
    TrialbookError,
)
from trialbook.process import run
from trialbook.testing.claims import (
    NotConforming,
    claim,
    claim_name,
    claim_parameters,
    claim_sentence,
    claim_unchanged,
    claim_version,
    contents,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingCase:
    """A task's grading, with an answer that is right and one that is wrong.

    ``good`` and ``bad`` are folders with the final tree; the grader accepts the first and does not
    accept the second. The other fields are as in `Evidence`.
    """

    task_folder: Path
    good: Path
    bad: Path
    parameters: Mapping[str, Any]
    baseline: Path | None = None
    brief: str = "Do it.\n"
    changed: tuple[ChangedFile, ...] = ()
    patch: bytes = b""
    python: str = field(default=sys.executable)


def check_grader(grader: Grader, folder: Path, case: GradingCase) -> None:
    """Exercise a grader: right, wrong and hostile candidates, and processes that fail it.

    Args:
        grader: The grader.
        folder: An empty folder to work in.
        case: A task of its kind.

    Raises:
        NotConforming: it breaks a promise.
    """
    claim_name(grader.name)
    claim_version(grader.version)
    claim_parameters(grader.parameters, case.parameters)
    _check_description(grader, case)
    bench = _Bench(grader, folder, case)
    _check_answers(bench)
    _check_hostile(bench)
    _check_failing_processes(bench)


@dataclass(slots=True)
class _Bench:
    grader: Grader
    folder: Path
    case: GradingCase
    count: int = 0

    def grade(self, candidate: Path, start: GraderStart | None = None) -> Grade:
        """One grading with a scratch folder of its own; claims what holds of every grade."""
        self.count += 1
        scratch = self.folder / f"scratch-{self.count}"
        scratch.mkdir(parents=True)
        case = self.case
        evidence = Evidence(
            task="some-task",
            brief=case.brief,
            candidate=candidate,
            baseline=case.baseline,
            changed=case.changed,
            patch=case.patch,
            task_folder=case.task_folder,
            scratch=scratch,
            python=case.python,
            limits=Limits(minutes=2.0),
            start=start or _really,
        )
        grade = self.grader.grade(evidence, case.parameters)
        _check_grade(self.grader, grade)
        return grade


def _really(
    command: Command,
    *,
    minutes: float | None = None,
    writable: Sequence[Path] = (),
    readable: Sequence[Path] = (),
) -> ProcessResult:
    del writable, readable
    return run(command, Limits(minutes=minutes or 2.0))


def _check_description(grader: Grader, case: GradingCase) -> None:
    claim(isinstance(grader.shorthand, str), "`shorthand` must be a text, if only an empty one")
    wrong = [str(problem) for problem in grader.problems(case.parameters, case.task_folder)]
    claim(not wrong, f"it finds mistakes in a task that has none: {'; '.join(wrong)}")
    top = case.task_folder.resolve()
    for path in grader.files(case.parameters, case.task_folder):
        real = path.resolve()
        claim(real.exists(), f"it names a file that is not there: {path}")
        claim(real.is_relative_to(top), f"it names a file outside the task's folder: {path}")


def _check_answers(bench: _Bench) -> None:
    case = bench.case
    kept = {path: contents(path) for path in (case.task_folder, case.good, case.bad)}
    good = bench.grade(case.good)
    claim(good.accepted is True, f"it did not accept the right answer: {good.message}")
    again = bench.grade(case.good)
    claim(_verdict(again) == _verdict(good), "it judged the same evidence in two ways")
    bad = bench.grade(case.bad)
    claim(bad.accepted is not True, f"it accepted the wrong answer: {bad.message}")
    claim(bad.status is not GradeStatus.FAILED, f"a wrong answer made it fail: {bad.message}")
    for path, before in kept.items():
        claim_unchanged(before, path, f"the folder {path.name} that it was given")


def _verdict(grade: Grade) -> object:
    answers = [(check.id, check.passed) for check in grade.checks]
    return (grade.status, grade.accepted, grade.passed, grade.total, answers)


def _check_grade(grader: Grader, grade: Grade) -> None:
    claim(isinstance(grade, Grade), f"grade() gave {grade!r}, not a Grade")
    claim(grade.grader == grader.name, f"a grade says that {grade.grader!r} made it")
    claim(grade.version == grader.version, f"a grade says that version {grade.version!r} made it")
    claim_sentence(grade.message, "a grade")
    answered = grade.status is GradeStatus.GRADED
    claim((grade.accepted is not None) is answered, "`accepted` is set exactly when it graded")
    claim(0 <= grade.passed <= grade.total, f"{grade.passed} of {grade.total} is no score")
    ids = [check.id for check in grade.checks]
    claim(len(set(ids)) == len(ids), f"two checks of a grade have one id: {ids}")
    open_ = [check.id for check in grade.checks if check.passed is None]
    claim(not (answered and open_), f"it graded, with checks that have no answer: {open_}")


def _check_hostile(bench: _Bench) -> None:
    outside = bench.folder / "outside"
    outside.mkdir()
    (outside / "precious").write_text("theirs")
    before = contents(outside)
    for name, make in _HOSTILE.items():
        candidate = bench.folder / name
        candidate.mkdir()
        make(candidate, outside)
        try:
            bench.grade(candidate)
        except TrialbookError:
            pass  # it says that it cannot judge this
        except Exception as error:
            raise NotConforming(f"a candidate that is {name} made it raise {error!r}") from error
        claim_unchanged(before, outside, "what links of a candidate point to")


def _links(candidate: Path, outside: Path) -> None:
    (candidate / "loop").symlink_to("loop")
    (candidate / "away").symlink_to(outside)
    (candidate / "src").symlink_to(outside)
    (candidate / "tests").symlink_to(outside)
    (candidate / "conftest.py").symlink_to(outside / "precious")


def _odd_files(candidate: Path, outside: Path) -> None:
    del outside
    os.mkfifo(candidate / "pipe")
    (candidate / os.fsdecode(b"caf\xe9\x1b[31m\n")).write_bytes(b"\xff\x00")
    (candidate / "not-text.py").write_bytes(b"\xff\xfe\x00 pattern \x1b]52;c;x\x07")
    with (candidate / "huge.txt").open("wb") as file:
        file.truncate(50_000_000)


def _deep(candidate: Path, outside: Path) -> None:
    del outside
    here = candidate
    for _ in range(60):
        here /= "d" * 30
        here.mkdir()


_HOSTILE: dict[str, Callable[[Path, Path], None]] = {
    "empty": lambda candidate, outside: None,  # noqa: ARG005
    "full-of-links": _links,
    "full-of-odd-files": _odd_files,
    "deep": _deep,
}


def _check_failing_processes(bench: _Bench) -> None:
    for ended in (Ended.NOT_STARTED, Ended.CANCELLED, Ended.TIMED_OUT, Ended.LOST, Ended.SIGNALLED):
        asked: list[Command] = []
        try:
            grade = bench.grade(bench.case.good, _ends(ended, asked))
        except TrialbookError:
            continue
        claim(
            not asked or grade.accepted is not True,
            f"its process ended {ended.value}, and it accepted all the same",
        )


def _ends(ended: Ended, asked: list[Command]) -> GraderStart:
    def start(command: Command, **_: object) -> ProcessResult:
        asked.append(command)
        if ended is not Ended.NOT_STARTED:
            command.stdout.write_bytes(b"")
            command.stderr.write_bytes(b"")
        return ProcessResult(ended=ended, signal=9 if ended is Ended.SIGNALLED else None)

    return start
