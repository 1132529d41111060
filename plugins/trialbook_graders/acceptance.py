"""The acceptance grader: private tests, run where the candidate cannot decide their outcome.

The default pattern keeps the tests apart from the candidate and has them call it in a child process
(its folder is in ``TRIALBOOK_CANDIDATE``). With ``place`` they are laid inside the candidate and
import it; that guards against accidents and cheap tricks, not against a candidate that rewrites the
test runner from within.

What counts: the run's own time limit, an interpreter without pytest, or a command whose report is
nonsense is a failure of the grader. No report from a pytest that works, a status other than the one
that the failing sentinel causes, a missing, skipped or repeated test is a rejection. A sentinel
that passes, or a test file that changed while the tests ran, is a violation.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from trialbook.api import (
    Check,
    Ended,
    Evidence,
    Finding,
    Grade,
    GradeStatus,
    Problem,
    ProcessResult,
    Severity,
    TrialbookError,
)
from trialbook_graders.commands import minutes_said, output_tail
from trialbook_graders.expectation import Comparison, Expectation, compare, read_expectation
from trialbook_graders.globs import is_pattern, path_mistake
from trialbook_graders.harness import (
    Layout,
    Settings,
    changed_tests,
    lay_out,
    pytest_works,
    run_tests,
)
from trialbook_graders.junit import ReportError, read_report

_SENTINEL_STATUS = 1
_SECONDS = re.compile(r" in \d+(\.\d+)?s\b( \([\d:]+\))?")


class AcceptanceGrader:
    """Accepts a candidate only if the private tests end exactly as they were frozen to."""

    name = "acceptance"
    version = "1"
    shorthand = "tests"
    parameters: Mapping[str, Any] = {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "run": {"enum": ["pytest", "command"]},
            "tests": {"type": "string", "minLength": 1},
            "expect": {"type": "string", "minLength": 1},
            "command": {"type": "array", "minItems": 1, "items": {"type": "string"}},
            "environment": {"type": "object", "additionalProperties": {"type": "string"}},
            "protect": {"type": "array", "items": {"type": "string", "minLength": 1}},
            "place": {"type": "string", "minLength": 1},
            "minutes": {"type": "number", "exclusiveMinimum": 0},
        },
    }

    def problems(self, parameters: Mapping[str, Any], task_folder: Path) -> Iterable[Problem]:
        """Mistakes in the parameters that a schema cannot see, in the expectation, in the tests."""
        settings = Settings.of(parameters)
        yield from _in_settings(settings)
        expectation, problems = read_expectation(task_folder / settings.expect, settings.expect)
        yield from problems
        if expectation and settings.run == "command" and not expectation.must_fail:
            yield Problem(
                path=settings.expect,
                message="`must_fail` names no sentinel, and `run: command` can inject none",
                hint="add a test that always fails and name its id there",
            )
        yield from _in_tests(settings, task_folder)

    def files(self, parameters: Mapping[str, Any], task_folder: Path) -> Iterable[Path]:
        """The folder of tests and the expectation."""
        settings = Settings.of(parameters)
        return (task_folder / settings.tests, task_folder / settings.expect)

    def grade(self, evidence: Evidence, parameters: Mapping[str, Any]) -> Grade:
        """Run the tests and hold their report against the expectation.

        Raises:
            TrialbookError: the grader could not do its part.
        """
        settings = Settings.of(parameters)
        expectation = _expectation(settings, evidence)
        layout = lay_out(settings, evidence)
        result = run_tests(settings, layout, evidence)
        _ended(result, settings)
        changed = changed_tests(layout)
        log = _log(layout, result, without=evidence.baseline is None)
        try:
            tests = read_report(layout.report)
        except ReportError as error:
            why = str(error)
            _blame(settings, evidence, layout, why)
            nothing = compare(expectation, ())
            return self._grade(nothing, (_no_report(why, result, layout),), log, changed)
        found = compare(expectation, tests, layout.sentinel)
        return self._grade(found, (*found.others, *_status(settings, result)), log, changed)

    def _grade(
        self, found: Comparison, others: tuple[Check, ...], log: str, changed: list[str]
    ) -> Grade:
        checks = (*found.expected, *others)
        passed = sum(check.passed is True for check in checks)
        violation = found.violation
        if changed:
            violation = f"private tests changed while they ran: {', '.join(changed[:5])}"
        accepted = None if violation else passed == len(checks)
        return Grade(
            grader=self.name,
            version=self.version,
            status=GradeStatus.VIOLATION if violation else GradeStatus.GRADED,
            accepted=accepted,
            passed=passed,
            total=len(checks),
            message=violation or _summary(found, others),
            checks=checks,
            log=log,
        )


def _in_settings(settings: Settings) -> Iterable[Problem]:
    paths = [("tests", settings.tests), ("expect", settings.expect)]
    paths += [("protect", path.removeprefix("!")) for path in settings.protect]
    if settings.place is not None:
        paths.append(("place", settings.place))
    for key, path in paths:
        if problem := path_mistake(path):
            yield Problem(path="task.yaml", message=f"acceptance: `{key}` {path!r} {problem}")
        elif key != "protect" and is_pattern(path):
            yield Problem(path="task.yaml", message=f"acceptance: `{key}` takes no pattern")
    if settings.run == "command":
        if not settings.command:
            yield Problem(
                path="task.yaml",
                message="acceptance: `run: command` needs a `command`",
                hint="give the program and its arguments as a list",
            )
        elif not any("{report}" in text for text in _texts(settings)):
            yield Problem(
                path="task.yaml",
                message="acceptance: the command is not told where its report goes",
                hint="use {report} in `command` or in `environment`",
            )
    elif settings.command:
        yield Problem(
            path="task.yaml",
            message="acceptance: `command` has no effect with `run: pytest`",
            hint="write `run: command`, or remove it",
        )


def _texts(settings: Settings) -> Iterable[str]:
    return (*settings.command, *settings.environment.values())


def _in_tests(settings: Settings, task_folder: Path) -> Iterable[Problem]:
    folder = task_folder / settings.tests
    if not folder.is_dir():
        yield Problem(path=settings.tests, message="there is no such folder of tests")
        return
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not files:
        yield Problem(path=settings.tests, message="the folder of tests is empty")
    for path in files if settings.run == "pytest" else []:
        if path.suffix != ".py":
            continue
        try:
            ast.parse(path.read_bytes(), filename=path.name)
        except (SyntaxError, ValueError) as error:
            line = getattr(error, "lineno", None) or 0
            yield Problem(
                path=f"{settings.tests}/{path.relative_to(folder)}",
                line=line,
                column=(getattr(error, "offset", None) or 1) if line else 0,
                message=f"this is not Python: {getattr(error, 'msg', error)}",
            )


def _expectation(settings: Settings, evidence: Evidence) -> Expectation:
    path = evidence.task_folder / settings.expect
    expectation, problems = read_expectation(path, settings.expect)
    if expectation is None:
        raise TrialbookError("; ".join(map(str, problems)))
    return expectation


def _ended(result: ProcessResult, settings: Settings) -> None:
    """Let nothing pass but a run that came to its own end."""
    if result.ended is Ended.TIMED_OUT:
        raise TrialbookError(
            f"the tests did not end within {minutes_said(settings.minutes)}",
            hint="give each test a time limit of its own, so that a hanging candidate fails it",
        )
    if result.ended not in {Ended.EXITED, Ended.SIGNALLED}:
        raise TrialbookError(f"the tests could not be run: {result.message or result.ended.value}")


def _blame(settings: Settings, evidence: Evidence, layout: Layout, why: str) -> None:
    """Return if it is the candidate's doing that there is no usable report.

    Raises:
        TrialbookError: it is ours.
    """
    if settings.run == "pytest":
        if trouble := pytest_works(evidence):
            raise TrialbookError(f"{why}; and without any candidate, {trouble}")
    elif layout.report.is_file() and not layout.report.is_symlink():
        raise TrialbookError(f"the command wrote nonsense: {why}")


def _no_report(why: str, result: ProcessResult, layout: Layout) -> Check:
    tails = (output_tail(layout.room / name, layout.room) for name in ("stderr.txt", "stdout.txt"))
    return Check(
        id="report",
        question="Did the tests report how they ended?",
        passed=False,
        message=f"{why}; {_how(result)}",
        severity=Severity.MUST,
        evidence=tuple(Finding(text=_untimed(tail.text), file=tail.file) for tail in tails if tail),
    )


def _status(settings: Settings, result: ProcessResult) -> tuple[Check, ...]:
    """A check that fails if the exit status and the report cannot both be true."""
    agrees = result.ended is Ended.EXITED
    if settings.run == "pytest":
        agrees = result.exit_code == _SENTINEL_STATUS
    if agrees:
        return ()
    return (
        Check(
            id="exit status",
            question="Does the exit status agree with the report?",
            passed=False,
            message=f"{_how(result)}; a run with a failing sentinel ends with status 1"
            if settings.run == "pytest"
            else _how(result),
            severity=Severity.MUST,
        ),
    )


def _summary(found: Comparison, others: tuple[Check, ...]) -> str:
    wrong = [check for check in found.expected if not check.passed]
    total = len(found.expected)
    text = f"{total - len(wrong)} of {total} expected tests passed"
    if wrong:
        text += f"; first of the others: {wrong[0].id} ({wrong[0].message})"
    for check in others:
        text += f"; {check.id}: {check.message}"
    return text


def _how(result: ProcessResult) -> str:
    if result.ended is Ended.SIGNALLED:
        return f"the run was ended by signal {result.signal}"
    return f"the run ended with status {result.exit_code}"


def _log(layout: Layout, result: ProcessResult, *, without: bool) -> str:
    lines = [_how(result)]
    if result.leftover_processes:
        lines.append(f"processes left over, and ended: {result.leftover_processes}")
    if without:
        lines.append("protected: no baseline to restore from, files are as they were found")
    lines += [f"protected: {one.path} was {one.did}, restored" for one in layout.restored]
    for name in ("stdout.txt", "stderr.txt"):
        tail = output_tail(layout.room / name, layout.candidate, layout.tests, layout.room)
        if tail is not None:
            lines.append(f"--- end of {name}\n{_untimed(tail.text)}")
    return "\n".join(lines) + "\n"


def _untimed(text: str) -> str:
    # Seconds differ from run to run; a grade should not.
    return _SECONDS.sub("", text)
