"""The checks grader: structural yes/no questions on the final tree, from a file of the task."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from trialbook.api import (
    Check,
    Evidence,
    Grade,
    GradeStatus,
    Problem,
    TrialbookError,
    check_schema,
    load_schema,
    read_document,
)
from trialbook_graders.evaluate import answer_all
from trialbook_graders.structural import StructuralCheck, mistakes, parse_check


class ChecksGrader:
    """Accepts a candidate if every check says yes; the score is how many do."""

    name = "checks"
    version = "1"
    visible = True
    shorthand = "file"
    parameters: Mapping[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "required": ["file"],
        "properties": {
            "file": {
                "type": "string",
                "minLength": 1,
                "description": "The file of checks, relative to the task's folder.",
            }
        },
    }

    def problems(self, parameters: Mapping[str, Any], task_folder: Path) -> Iterable[Problem]:
        """Every mistake in the file of checks."""
        return read_checks(task_folder / parameters["file"], parameters["file"])[1]

    def files(self, parameters: Mapping[str, Any], task_folder: Path) -> Iterable[Path]:
        """The file of checks."""
        return (task_folder / parameters["file"],)

    def grade(self, evidence: Evidence, parameters: Mapping[str, Any]) -> Grade:
        """Answer every check.

        Raises:
            TrialbookError: the file of checks has mistakes, or the search broke.
        """
        name = parameters["file"]
        checks, problems = read_checks(evidence.task_folder / name, name)
        if problems:
            raise TrialbookError("; ".join(map(str, problems)))
        return self._grade(answer_all(checks, evidence))

    def _grade(self, answers: list[Check]) -> Grade:
        passed = sum(check.passed is True for check in answers)
        open_ones = [check for check in answers if check.passed is None]
        wrong = [check for check in answers if check.passed is False]
        message = f"{passed} of {len(answers)} checks pass"
        if wrong:
            message += "; not: " + ", ".join(check.id for check in wrong)
        if open_ones:
            message += f"; no answer: {open_ones[0].id} ({open_ones[0].message})"
        return Grade(
            grader=self.name,
            version=self.version,
            status=GradeStatus.FAILED if open_ones else GradeStatus.GRADED,
            accepted=None if open_ones else not wrong,
            passed=passed,
            total=len(answers),
            message=message,
            checks=tuple(answers),
        )


def read_checks(path: Path, shown: str) -> tuple[Sequence[StructuralCheck], list[Problem]]:
    """The checks of a file, or every mistake in it."""
    # A file that cannot be read is told of as every other that people write.
    checks, problems = _checks_of(path.read_bytes() if path.is_file() else b"", path, shown)
    return checks, list(problems)


@lru_cache(maxsize=64)
def _checks_of(
    data: bytes, path: Path, shown: str
) -> tuple[tuple[StructuralCheck, ...], tuple[Problem, ...]]:
    """As `read_checks`; once for all trials of a run, as long as the bytes are the same."""
    del data
    checks, problems = _read(path, shown)
    return tuple(checks), tuple(problems)


def _read(path: Path, shown: str) -> tuple[list[StructuralCheck], list[Problem]]:
    document, problems = read_document(path, shown)
    if document is None:
        return [], problems
    problems += check_schema(document, load_schema("checks"))
    data = document.data
    entries = data.get("checks") if isinstance(data, Mapping) else None
    if isinstance(entries, list):
        taken = {(problem.line, problem.column) for problem in problems}
        found = [
            document.problem(("checks", *mistake.pointer), mistake.message, mistake.hint)
            for mistake in mistakes(entries)
        ]
        problems += [one for one in found if (one.line, one.column) not in taken]
    if problems or not isinstance(entries, list):
        return [], sorted(problems)
    return [parse_check(entry) for entry in entries], []
