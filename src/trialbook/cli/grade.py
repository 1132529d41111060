"""``trialbook grade``: grade a folder as it is, without an agent."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from trialbook.cli.context import Context, pass_context
from trialbook.errors import ExitCode, UserError
from trialbook.formats.records import plain
from trialbook.formats.visible import visible_line
from trialbook.registry import Registry
from trialbook.storage.suites import load_suite
from trialbook.workflow.grade_folder import TaskGrades, grade_with_checks, grade_with_suite

_FOLDER = click.Path(exists=True, file_okay=False, path_type=Path)
_EVIDENCE_LINES = 6


@click.command("grade", epilog="Example: trialbook grade --path ../shop --suite instruction-drift")
@click.option(
    "--path", "-p", type=_FOLDER, default=".", help="The folder to grade; by default this one."
)
@click.option("--suite", "-s", help="Grade with the tasks of this suite.")
@click.option(
    "--eval-dir", "-e", type=_FOLDER, help="Grade with every */checks.yaml in this folder."
)
@click.option("--task", "-t", "tasks", multiple=True, help="Only this task; repeatable.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def command(
    context: Context,
    *,
    path: Path,
    suite: str | None,
    eval_dir: Path | None,
    tasks: tuple[str, ...],
    as_json: bool,
) -> int:
    """Grade a folder as it is: no agent, no workspace, nothing recorded.

    Graders read the folder (not its .git) and run commands only in copies of it. There is no
    starting snapshot to compare with: checks that ask about a change cannot be answered, and
    protected files are taken as they are.

    Exit status: 0 if every grader accepts, 1 if one does not, 2 if something could not be graded.
    """
    if (suite is None) == (eval_dir is None):
        raise UserError("name what to grade with: either --suite or --eval-dir")
    registry = Registry()
    folder = path.absolute()
    if suite is not None:
        root = context.root()
        loaded = load_suite(root, suite, registry)
        graded = grade_with_suite(
            folder, loaded, tasks, root=root, registry=registry, system=context.system
        )
    elif eval_dir is not None:
        graded = grade_with_checks(
            folder, eval_dir, tasks, registry=registry, system=context.system
        )
    else:
        graded = ()
    if as_json:
        context.json(_as_json(graded))
    else:
        context.result("\n".join(_lines(graded)))
    if any(one.unanswered for one in graded):
        return ExitCode.FIX
    return ExitCode.DONE if all(one.accepted for one in graded) else ExitCode.NO


def _as_json(graded: Sequence[TaskGrades]) -> dict[str, object]:
    return {
        "passed": sum(one.passed for one in graded),
        "total": sum(one.total for one in graded),
        "unanswered": sum(one.unanswered for one in graded),
        "tasks": [
            {
                "task": one.task,
                "accepted": None if one.unanswered else one.accepted,
                "passed": one.passed,
                "total": one.total,
                "unanswered": one.unanswered,
                "grades": [plain(grade) for grade in one.grades],
            }
            for one in graded
        ],
    }


def _lines(graded: Sequence[TaskGrades]) -> Iterator[str]:
    """Table, score, and what does not pass."""
    unanswered = sum(one.unanswered for one in graded)
    width = max(30, *(len(one.task) for one in graded))
    heads = ("passed", "failed", "total") + (("no answer",) if unanswered else ())
    rule = "-" * (width + sum(len(head) + 2 for head in heads))

    def row(name: str, passed: int, total: int, unanswered: int) -> str:
        numbers = (passed, max(total - passed - unanswered, 0), total, unanswered)
        cells = (f"  {number:>{len(head)}}" for head, number in zip(heads, numbers, strict=False))
        return f"{name:<{width}}" + "".join(cells)

    yield f"{'task':<{width}}" + "".join(f"  {head}" for head in heads)
    yield rule
    for one in graded:
        yield row(visible_line(one.task), one.passed, one.total, one.unanswered)
    passed, total = sum(one.passed for one in graded), sum(one.total for one in graded)
    yield rule
    yield row("total", passed, total, unanswered)
    yield ""
    yield f"Score: {passed}/{total} ({passed * 100 // total if total else 0}%)"
    failures = list(_failures(graded))
    if failures:
        yield ""
        yield "Failures:"
        yield from failures


def _failures(graded: Sequence[TaskGrades]) -> Iterator[str]:
    """What does not pass, one line each, with the places to look at below it."""
    for one in graded:
        task = visible_line(one.task)
        for grade in one.grades:
            wrong = [check for check in grade.checks if check.passed is not True]
            if not wrong and grade.accepted is not True:
                yield f"  {task} / {grade.grader}: {visible_line(grade.message)}"
            for check in wrong:
                mark = "no answer: " if check.passed is None else ""
                message = visible_line(check.message)
                yield f"  {task} / {visible_line(check.id)}: {mark}{message}"
                for finding in check.evidence[:_EVIDENCE_LINES]:
                    place = visible_line(finding.file) if finding.file else ""
                    place += f":{finding.line}" if finding.line else ""
                    text = visible_line(finding.text.partition("\n")[0])
                    yield f"      {place}: {text}" if place else f"      {text}"
