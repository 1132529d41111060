"""What a run says at its end: counts per configuration, where it lies, and what to do next."""

from __future__ import annotations

from trialbook.cli.context import Context
from trialbook.cli.terminal import summary_text
from trialbook.errors import ExitCode
from trialbook.formats.records import plain
from trialbook.reporting.summary import summarise
from trialbook.workflow.evaluate import Ending


def show_ending(context: Context, ending: Ending, *, as_json: bool) -> int:
    """Print the end of a run and give the exit status."""
    for warning in ending.warnings:
        context.say(f"warning: {warning}")
    if as_json:
        context.json(
            {
                "run": ending.plan.path,
                "folder": f"runs/{ending.plan.path}",
                "complete": ending.complete,
                "interrupted": ending.interrupted,
                "first_commit": ending.first,
                "last_commit": ending.last,
                "trials": [plain(trial) for trial in ending.trials],
            }
        )
    else:
        context.result(summary_text(summarise(ending.plan, ending.trials), colour=context.colour))
        _where(context, ending)
    return ExitCode.INTERRUPTED if ending.interrupted else ExitCode.DONE


def _where(context: Context, ending: Ending) -> None:
    folder = f"runs/{ending.plan.path}"
    span = f"{ending.first[:12]}..{ending.last[:12]}" if ending.first and ending.last else ""
    context.result("")
    context.result(f"folder   {folder}")
    context.result(f"commits  git log --oneline {span} -- {folder}".replace("  --", " --"))
    if span:
        context.result(f"diff     git diff --stat {span} -- {folder}")
    program = context.program
    if ending.interrupted or not ending.complete:
        context.result(f"next     {program} resume {ending.plan.run}")
    else:
        context.result(f"next     {program} show {ending.plan.run}")
        context.result(f"         {program} site build")
