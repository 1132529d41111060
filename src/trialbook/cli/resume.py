"""``trialbook resume``: continue a run that was interrupted or killed."""

from __future__ import annotations

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.ending import show_ending
from trialbook.cli.progress import observer
from trialbook.registry import Registry
from trialbook.storage.reader import Reader
from trialbook.workflow.elsewhere import refuse_if_ahead_elsewhere
from trialbook.workflow.evaluate import Bench, bring_into_step, resume_run
from trialbook.workflow.planned_suite import suite_of_plan


@click.command("resume", epilog="Example: trialbook resume 20261130T151526Z-3f9c2d")
@click.argument("run")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def command(context: Context, *, run: str, as_json: bool) -> int:
    """Go on with RUN (its name, or the beginning of it).

    Finished trials stay. A trial that was cut off is recorded as cancelled and run again, linked to
    what it replaces. The suite's files must be what the run's plan froze. Files of the run that
    git shows as deleted, since the index was locked or runs/ read-only, are put back.
    """
    root = context.root()
    registry = Registry()
    reader = Reader.open(root)
    ref = reader.resolve_run(run)
    refuse_if_ahead_elsewhere(root, ref)
    # This much can be repaired even where the suite is not what the plan froze any more.
    bring_into_step(root, context.system, ref)
    suite = suite_of_plan(reader.plan(ref), root, registry)
    with observer(context) as watching:
        bench = Bench(root=root, registry=registry, system=context.system, observer=watching)
        ending = resume_run(bench, suite, ref)
    return show_ending(context, ending, as_json=as_json)
