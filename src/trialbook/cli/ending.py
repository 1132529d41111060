"""What a run says at its end: counts per configuration, where it lies, and what to do next."""

from __future__ import annotations

import click

from trialbook.cli.context import Context
from trialbook.cli.terminal import summary_text
from trialbook.errors import ExitCode
from trialbook.formats.records import plain
from trialbook.formats.visible import visible_line
from trialbook.reporting.expected import as_expected, said
from trialbook.reporting.summary import summarise
from trialbook.workflow.evaluate import Ending
from trialbook.workflow.withheld import Withheld


def show_ending(context: Context, ending: Ending, *, as_json: bool) -> int:
    """Print the end of a run and give the exit status."""
    for warning in ending.warnings:
        context.warn(warning)
    expected = as_expected(ending.plan, ending.trials)
    if as_json:
        context.json(
            {
                "run": ending.plan.path,
                "folder": f"runs/{ending.plan.path}",
                "status": ending.plan.status,
                "draft_because": ending.plan.draft_because,
                "complete": ending.complete,
                "as_expected": plain(expected),
                "interrupted": ending.interrupted,
                "stopped": ending.stopped,
                "withheld": plain(ending.withheld),
                "first_commit": ending.first,
                "last_commit": ending.last,
                "trials": [plain(trial) for trial in ending.trials],
            }
        )
    else:
        context.result(summary_text(summarise(ending.plan, ending.trials), colour=context.colour))
        for line in said(expected):
            context.result(visible_line(line))
        _where(context, ending)
    for kept_out in ending.withheld:
        _complain(context, ending, kept_out)
    if ending.behind:
        _not_in_step(context, ending)
    if ending.interrupted:
        return ExitCode.INTERRUPTED
    if ending.withheld or ending.stopped:
        return ExitCode.FIX
    return ExitCode.NO if expected.surprises else ExitCode.DONE


def _complain(context: Context, ending: Ending, trial: Withheld) -> None:
    """An error of its own: what is kept out, why, where it is, and what a person can do."""
    reasons = "\n".join(f"  {visible_line(reason)}" for reason in trial.reasons)
    message = (
        f"error: the trial {trial.path} is not in the ledger, since something secret cannot be "
        f"taken out of it:\n{reasons}\n"
        f"it is kept in {trial.folder}, readable by you only\n"
        "hint: take that secret for disclosed and replace it; the slot counts as not run and the "
        "run stays open; to have the trial done again, remove that folder and run "
        f"`{context.program} resume {ending.plan.run}`"
    )
    click.echo(message, err=True)


def _not_in_step(context: Context, ending: Ending) -> None:
    """Once more, where a person looks last: a commit made now would delete the run's files."""
    context.warn("the work tree or the index is not in step with the run's commits (see above)")
    click.echo("status   `git status` shows its files as deleted; do not commit that", err=True)
    click.echo(f"repair   {context.program} resume {ending.plan.run}", err=True)


def _where(context: Context, ending: Ending) -> None:
    folder = f"runs/{ending.plan.path}"
    nothing = ending.first == ending.last
    span = f"{ending.first[:12]}..{ending.last[:12]}" if ending.first and ending.last else ""
    context.result("")
    if ending.plan.draft_because:
        context.result(f"draft    {ending.plan.draft_because}")
    if ending.stopped:
        context.result(f"stopped  {visible_line(ending.stopped)}")
    context.result(f"folder   {folder}")
    if nothing:
        context.result("commits  nothing was added")
    else:
        context.result(f"commits  git log --oneline {span} -- {folder}".replace("  --", " --"))
    if span and not nothing:
        context.result(f"diff     git diff --stat {span} -- {folder}")
    program = context.program
    if ending.to_close:
        context.result(f"incident {visible_line(ending.to_close)}")
    if ending.interrupted or not ending.complete:
        context.result(f"next     {program} resume {ending.plan.run}")
    else:
        context.result(f"next     {program} show {ending.plan.run}")
        context.result(f"         {program} site build")
        if ending.plan.judgement is not None:
            context.result(f"         {program} review next --reviewer NAME")
