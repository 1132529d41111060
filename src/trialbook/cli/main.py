"""The command line's frame: lazy commands, and one funnel for errors.

Nothing is imported here that click does not import itself: what a command needs comes with it.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence

import click

from trialbook import __version__

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
            from trialbook.cli.failing import no_command  # noqa: PLC0415 - only then

            ctx.fail(no_command(args[0], COMMANDS, ctx.command_path))
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
    type=click.Path(exists=True, file_okay=False),
    default=None,
    help="The ledger's folder; by default the nearest one above the working directory.",
)
@click.option("-q", "--quiet", is_flag=True, help="Only results and errors; no talk, no progress.")
def cli(**_chosen: object) -> None:
    """Say whether a coding agent is good at our work, and what our last change to it did.

    trialbook keeps suites of real tasks, runs agents on them, and commits every trial to git.
    """
    # What was chosen is read by `trialbook.cli.context` when a command asks for its context.


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and give its exit status."""
    try:
        result = cli.main(args=arguments, prog_name="trialbook", standalone_mode=False)
    except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001 - the funnel
        from trialbook.cli.failing import answer_for  # noqa: PLC0415 - only then

        return answer_for(error)
    return result if isinstance(result, int) else 0


if __name__ == "__main__":
    sys.exit(main())
