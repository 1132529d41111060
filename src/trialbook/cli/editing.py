"""A draft in the person's editor, again and again until it is right or they want to stop."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import click

from trialbook.errors import Problem, UserError
from trialbook.system import System
from trialbook.workflow.editor import edit
from trialbook.workflow.review_drafts import Draft


def edited(draft: Draft, system: System) -> None:
    """Open the editor on a draft's form, and take the time.

    Raises:
        UserError: there is no editor, or it ended with an error.
    """
    draft.begin()
    try:
        edit(draft.form, system)
    finally:
        draft.end()


def ask_again(problems: Sequence[Problem], form: Path) -> None:
    """Say what is wrong, by line, and ask whether to open the editor again.

    Raises:
        UserError: the person does not want to, or nobody is there to ask.
    """
    hint = f"what you wrote is in {form}; the same command opens it again"
    if not interactive():
        raise UserError(problems=problems, hint=hint)
    for problem in problems:
        click.echo(_short(problem), err=True)
    if not click.confirm("Open the editor again?", default=True, err=True):
        raise UserError(problems=problems, hint=hint)


def file_state(path: Path) -> tuple[int, int, bytes]:
    """What changes when an editor saves, even if it saves the same."""
    found = path.stat()
    return found.st_mtime_ns, found.st_ino, path.read_bytes()


def interactive() -> bool:
    """Whether somebody is there to be asked."""
    return sys.stdin.isatty() and sys.stderr.isatty()


def _short(problem: Problem) -> str:
    place = f"line {problem.line}: " if problem.line else ""
    hint = f"; {problem.hint}" if problem.hint else ""
    return f"{place}{problem.message}{hint}"
