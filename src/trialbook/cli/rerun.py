"""``trialbook rerun``: run slots again that the plan's policy or an incident allows."""

from __future__ import annotations

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.ending import show_ending
from trialbook.cli.progress import observer
from trialbook.registry import Registry
from trialbook.storage.reader import Reader
from trialbook.workflow.elsewhere import refuse_if_ahead_elsewhere
from trialbook.workflow.evaluate import Bench, resume_run
from trialbook.workflow.planned_suite import suite_of_plan
from trialbook.workflow.rerun import Rerun, RerunRequest


@click.command(
    "rerun", epilog="Example: trialbook rerun 20261130T151526Z-3f9c2d --incident 20261130T1"
)
@click.argument("run")
@click.option("--slot", "slots", multiple=True, metavar="TASK/CONFIG/rN", help="Only this one.")
@click.option("--incident", help="Every slot of this closed incident, for all configurations.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def command(
    context: Context, *, run: str, slots: tuple[str, ...], incident: str | None, as_json: bool
) -> int:
    """Run slots of RUN again; each new trial names the one it replaces, and both stay.

    By default every slot whose last trial ended in a way that the plan's rerun policy lists. With
    --incident, the slots of an incident that was closed with the decision `rerun`. A valid
    execution (accepted, rejected, timed out ...) is never run again. RUN may be closed: then later
    results are added beside the first ones.
    """
    root = context.root()
    registry = Registry()
    reader = Reader.open(root)
    ref = reader.resolve_run(run)
    refuse_if_ahead_elsewhere(root, ref)
    suite = suite_of_plan(reader.plan(ref), root, registry)
    choose = Rerun(run=ref, request=RerunRequest(slots=slots, incident=incident))
    with observer(context) as watching:
        bench = Bench(root=root, registry=registry, system=context.system, observer=watching)
        ending = resume_run(bench, suite, ref, choose)
    return show_ending(context, ending, as_json=as_json)
