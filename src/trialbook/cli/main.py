"""The command line's frame: lazy commands, one context, one funnel for errors.

The one place that makes a `System` and turns exceptions into messages and exit codes.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

import click

from trialbook import __version__
from trialbook.cli.context import Context, called
from trialbook.errors import ExitCode, Interrupted, TrialbookError, UserError
from trialbook.formats.nearest import nearest
from trialbook.formats.visible import visible_line
from trialbook.system import System, timestamp

# Command to the module that holds it and the line that `--help` shows; modules are imported only
# when their command runs, so that `trialbook --help` starts as fast as click does.
COMMANDS: dict[str, tuple[str, str]] = {
    "agents": ("trialbook.cli.agents", "List the agents that can be run here, or try one."),
    "agreement": ("trialbook.cli.agreement", "Say how far reviewers agree."),
    "alarm": ("trialbook.cli.alarm", "Say whether a gate that failed was right."),
    "amend": ("trialbook.cli.amend", "Correct a trial by a record of its own."),
    "calibrate": ("trialbook.cli.calibrate", "Compare a judge with people."),
    "compare": ("trialbook.cli.compare", "Compare two configurations of locked runs."),
    "doctor": ("trialbook.cli.doctor", "Say what this machine can do, and what to fix."),
    "eval": ("trialbook.cli.evaluate", "Run a suite and commit every trial to the ledger."),
    "export": ("trialbook.cli.export", "Write what an agent did in a format of others."),
    "finding": ("trialbook.cli.finding", "Say where a finding became a rule."),
    "findings": ("trialbook.cli.findings", "List what is sent back again and again."),
    "gate": ("trialbook.cli.gate", "Say whether a change made a configuration worse."),
    "gates": ("trialbook.cli.gates", "List every gate, and how often gates are false alarms."),
    "grade": ("trialbook.cli.grade", "Grade a folder as it is, without an agent."),
    "import": ("trialbook.cli.importing", "Read what an agent did from a format of others."),
    "incident": ("trialbook.cli.incident", "Open, close and list incidents."),
    "init": ("trialbook.cli.init", "Make a ledger of your own."),
    "judge": ("trialbook.cli.judge", "Let a judge read the diffs of a run."),
    "plant": ("trialbook.cli.plant", "Try whether a planted regression is a fair one."),
    "plugins": ("trialbook.cli.plugins", "List the plugins that are installed."),
    "reconcile": ("trialbook.cli.reconcile", "Settle what reviewers of a run differ on."),
    "regrade": ("trialbook.cli.regrade", "Grade stored artifacts again, beside the old grades."),
    "report": ("trialbook.cli.report", "Print what a run came to, as Markdown, CSV or JSON."),
    "rerun": ("trialbook.cli.rerun", "Run slots again that ended without a valid execution."),
    "resume": ("trialbook.cli.resume", "Continue a run that was interrupted or killed."),
    "rubric": ("trialbook.cli.rubric", "List, show and check rubrics, or begin a new version."),
    "review": ("trialbook.cli.review", "Review changes without knowing who made them."),
    "series": ("trialbook.cli.series_answers", "Ask people about a series of sessions."),
    "show": ("trialbook.cli.show", "Show a run or a trial."),
    "site": ("trialbook.cli.site", "Build or serve the static site."),
    "status": ("trialbook.cli.status", "List the runs of this ledger."),
    "suite": ("trialbook.cli.suite", "Check, lock or bump a suite, or start a new one."),
    "task": ("trialbook.cli.task", "Start a new task."),
    "verify": ("trialbook.cli.verify", "Verify the ledger: history, records, numbers."),
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names, in alphabetical order."""
        del ctx
        return sorted(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the command's module and give its ``command``."""
        del ctx
        if cmd_name not in COMMANDS:
            return None
        module = importlib.import_module(COMMANDS[cmd_name][0])
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command; a name that is not one is met with the one that is nearest."""
        if args and args[0] not in COMMANDS and not args[0].startswith("-"):
            hint = nearest(args[0], COMMANDS) or f"see `{ctx.command_path} --help`"
            ctx.fail(f"there is no command {visible_line(args[0])!r}; {hint}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, COMMANDS[name][1]) for name in sorted(COMMANDS)])


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="Example: trialbook eval instruction-drift",
)
@click.version_option(__version__, prog_name="trialbook")
@click.option(
    "-C",
    "--ledger",
    "ledger",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    default=None,
    help="The ledger's folder; by default the nearest one above the working directory.",
)
@click.option("-q", "--quiet", is_flag=True, help="Only results and errors; no talk, no progress.")
@click.pass_context
def cli(ctx: click.Context, ledger: Path | None, quiet: bool) -> None:  # noqa: FBT001 - click
    """Say whether a coding agent is good at our work, and what our last change to it did.

    trialbook keeps suites of real tasks, runs agents on them, and commits every trial to git.
    """
    ctx.obj = Context(system=System(), ledger=ledger, quiet=quiet)


def main(arguments: Sequence[str] | None = None) -> int:  # noqa: PLR0911 - a table of errors
    """Run the command line and give its exit status."""
    try:
        result = cli.main(args=arguments, prog_name="trialbook", standalone_mode=False)
    except click.exceptions.Abort:
        click.echo("interrupted", err=True)
        return ExitCode.INTERRUPTED
    except click.ClickException as error:
        error.show()
        return ExitCode.FIX
    except KeyboardInterrupt:
        click.echo("interrupted", err=True)
        return ExitCode.INTERRUPTED
    except BrokenPipeError:
        # The reader of our output went away (`trialbook show ... | head`); that is no error.
        sys.stderr.close()
        return ExitCode.DONE
    except Interrupted as error:
        _explain(error)
        click.echo(f"hint: go on with `{called()} resume {error.run}`", err=True)
        return error.exit_code
    except TrialbookError as error:
        _explain(error)
        return error.exit_code
    except OSError as error:
        return _cannot_write(error) if _is_about_output(error) else _bug()
    except Exception:  # noqa: BLE001 - the funnel: anything else is our bug, and says so
        return _bug()
    return result if isinstance(result, int) else ExitCode.DONE


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


if __name__ == "__main__":
    sys.exit(main())
