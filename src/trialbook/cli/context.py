"""What every command gets: the system, the ledger's place, and how to talk.

Results go to standard output, talk to standard error.
"""

from __future__ import annotations

import json
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, TypeVar

import click

from trialbook.errors import UserError
from trialbook.formats.visible import json_for_terminal
from trialbook.system import System

P = ParamSpec("P")
R = TypeVar("R")


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    """One invocation: the outside world, the ledger if one was named, and how loud to be."""

    system: System
    ledger: Path | None
    quiet: bool

    def root(self) -> Path:
        """The ledger's root: the folder named, or the nearest above that has ``suites/``.

        Raises:
            UserError: there is none.
        """
        try:
            start = (self.ledger or Path.cwd()).absolute()
        except FileNotFoundError:
            raise UserError(
                "the working directory is not there any more",
                hint="change into a ledger, or name one with --ledger and its whole path",
            ) from None
        for folder in (start, *start.parents):
            if (folder / "suites").is_dir():
                return folder
            if self.ledger is not None:
                break
        raise UserError(
            f"{start} is not a ledger: no suites/ folder here"
            + ("" if self.ledger else " or in any folder above"),
            hint="change into a ledger, name one with --ledger, or make one: trialbook init FOLDER",
        )

    def say(self, text: str = "") -> None:
        """Talk to the person at the terminal; nothing with --quiet."""
        if not self.quiet:
            click.echo(text, err=True)

    def warn(self, text: str) -> None:
        """Say what a person has to hear of, --quiet or not."""
        click.echo(f"warning: {text}", err=True)

    def result(self, text: str) -> None:
        """Print a result."""
        click.echo(text)

    def json(self, value: Any) -> None:  # noqa: ANN401 - any JSON value
        """Print a result as JSON."""
        click.echo(json_text(value))

    @property
    def on_terminal(self) -> bool:
        """Whether progress and colour have somebody to see them."""
        return sys.stderr.isatty() and not self.quiet

    @property
    def colour(self) -> bool:
        """Whether results may be coloured: on a terminal, and not with NO_COLOR set."""
        return sys.stdout.isatty() and not self.system.environ.get("NO_COLOR")

    @property
    def program(self) -> str:
        """How this program can be called from here, for commands that people copy."""
        return called()

    @property
    def program_anywhere(self) -> str:
        """The same from any folder."""
        return called(anywhere=True)


def json_text(value: Any) -> str:  # noqa: ANN401 - any JSON value
    """A value as JSON that is safe on a terminal."""
    return json_for_terminal(json.dumps(value, indent=2, ensure_ascii=False, allow_nan=False))


def called(*, anywhere: bool = False) -> str:
    """How a shell can call this program: from here, or from ``anywhere``."""
    file = _file_off_the_path()
    if file is not None:
        here = Path.cwd()
        near = file.is_relative_to(here) and not anywhere
        return shlex.quote(str(file.relative_to(here) if near else file))
    if Path(sys.argv[0]).name != "trialbook":
        return f"{shlex.quote(sys.executable)} -m trialbook"
    return "trialbook"


def _file_off_the_path() -> Path | None:
    """The program's file, if it was called by its name and is not the one on the PATH."""
    file = Path(sys.argv[0]).absolute()
    if file.name != "trialbook":
        return None
    found = shutil.which("trialbook")
    on_path = found is not None and Path(found).resolve() == file.resolve()
    return None if on_path else file


def context_of(invocation: click.Context) -> Context:
    """The context of an invocation, made when a command first asks for it."""
    top = invocation.find_root()
    if not isinstance(top.obj, Context):
        ledger = top.params.get("ledger")
        top.obj = Context(
            system=System(),
            ledger=None if ledger is None else Path(ledger),
            quiet=bool(top.params.get("quiet")),
        )
    return top.obj


def pass_context(command: Callable[Concatenate[Context, P], R]) -> Callable[P, R]:
    """Give a command its context as the first argument."""

    @wraps(command)
    def with_context(*args: P.args, **kwargs: P.kwargs) -> R:
        return command(context_of(click.get_current_context()), *args, **kwargs)

    return with_context
