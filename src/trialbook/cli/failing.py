"""What a command that did not end well says, and the exit status it has.

The one place that turns exceptions into messages and exit codes.
"""

from __future__ import annotations

import contextlib
import os
import sys
import traceback
from collections.abc import Iterable

import click

from trialbook import __version__
from trialbook.cli.context import called
from trialbook.errors import ExitCode, Interrupted, TrialbookError, UserError
from trialbook.formats.nearest import nearest
from trialbook.formats.visible import visible_line
from trialbook.system import System, timestamp


def no_command(name: str, known: Iterable[str], program: str) -> str:
    """What is said of a command that there is not: the nearest one, or where they are listed."""
    hint = nearest(name, known) or f"see `{program} --help`"
    return f"there is no command {visible_line(name)!r}; {hint}"


def answer_for(error: BaseException) -> int:  # noqa: PLR0911 - a table of errors
    """Say what an exception means, on standard error, and give the exit status.

    It is called while the exception is handled.
    """
    match error:
        case click.exceptions.Abort() | KeyboardInterrupt():
            click.echo("interrupted", err=True)
            return ExitCode.INTERRUPTED
        case click.ClickException():
            error.show()
            return ExitCode.FIX
        case BrokenPipeError():
            # The reader of our output went away (`trialbook show ... | head`): no error.
            sys.stderr.close()
            return ExitCode.DONE
        case Interrupted():
            _explain(error)
            click.echo(f"hint: go on with `{called()} resume {error.run}`", err=True)
            return error.exit_code
        case TrialbookError():
            _explain(error)
            return error.exit_code
        case OSError() if _is_about_output(error):
            return _cannot_write(error)
        case _:
            return _bug()


def _is_about_output(error: OSError) -> bool:
    """Whether writing to the terminal, or to where our output goes, is what failed."""
    frames = list(traceback.walk_tb(error.__traceback__))
    module = str(frames[-1][0].f_globals.get("__name__", "")) if frames else ""
    return module.split(".")[0] in {"click", "rich"}


def _cannot_write(error: OSError) -> int:
    with contextlib.suppress(OSError):
        click.echo(f"error: cannot write the output: {error.strerror or error}", err=True)
    # What could not be written must not be tried once more when the interpreter ends.
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(nowhere, stream.fileno())
    os.close(nowhere)
    return ExitCode.FIX


def _explain(error: TrialbookError) -> None:
    problems = error.problems if isinstance(error, UserError) else ()
    if problems:
        for problem in problems:
            click.echo(str(problem), err=True)
        many = "1 problem" if len(problems) == 1 else f"{len(problems)} problems"
        click.echo(f"{many} to fix", err=True)
    else:
        click.echo(f"error: {error.message}", err=True)
    if error.hint:
        click.echo(f"hint: {error.hint}", err=True)


def _bug() -> int:
    system = System()
    stamp = timestamp(system.now()).replace(":", "")
    log = system.cache_folder() / "logs" / f"bug-{stamp}.txt"
    text = f"trialbook {__version__}\n{sys.argv!r}\n\n{traceback.format_exc()}"
    click.echo("This is a bug in trialbook, not a mistake of yours.", err=True)
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text(text)
        click.echo(f"Please report it with this log: {log}", err=True)
    except OSError:
        click.echo(text, err=True)
    return ExitCode.BUG
