"""``trialbook eval``: run a suite and commit every trial to the ledger."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.ending import show_ending
from trialbook.cli.progress import observer
from trialbook.formats.records import plain
from trialbook.model.plan import DECISION, DEVELOPMENT, Plan
from trialbook.model.suite import Comparison
from trialbook.registry import Registry
from trialbook.reporting.attempts import escalation_said
from trialbook.reporting.forecast import said
from trialbook.storage.suites import load_suite
from trialbook.workflow.declaring import Declaration
from trialbook.workflow.evaluate import Bench, start_run
from trialbook.workflow.expecting import expect
from trialbook.workflow.planning import Request, make_plan, narrowed
from trialbook.workflow.sandboxes import NOT_ENFORCED, NOT_ISOLATED


@click.command(
    "eval",
    epilog="Example: trialbook eval instruction-drift --repetitions 3 --configuration candidate",
)
@click.argument("suite")
@click.option(
    "--repetitions", "-r", type=click.IntRange(1, 1000), help="Trials per task and configuration."
)
@click.option(
    "--configuration", "-c", "configurations", multiple=True, help="Only this one; repeatable."
)
@click.option("--task", "-t", "tasks", multiple=True, help="Only this one; repeatable.")
@click.option("--jobs", "-j", type=click.IntRange(1, 256), help="Trials at once.")
@click.option("--seed", help="Seed of the schedule; by default a random one, recorded.")
@click.option("--sandbox", help="Sandbox for every configuration; see `trialbook plugins`.")
@click.option("--decision", is_flag=True, help="Run held-out tasks too; each time is recorded.")
@click.option(
    "--margin",
    type=click.FloatRange(0, 1, min_open=True, max_open=True),
    help="The difference that matters, as a share, if suite.yaml names none; needs --because.",
)
@click.option("--because", default="", metavar="SENTENCE", help="Why that margin.")
@click.option(
    "--look",
    "looks",
    multiple=True,
    type=click.IntRange(1),
    metavar="ROUNDS",
    help="Compare after so many whole rounds too; repeatable.",
)
@click.option("--dry-run", is_flag=True, help="Print the plan; run and commit nothing.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def command(  # noqa: PLR0913 - click hands every option over by name
    context: Context,
    *,
    suite: str,
    repetitions: int | None,
    configurations: tuple[str, ...],
    tasks: tuple[str, ...],
    jobs: int | None,
    seed: str | None,
    sandbox: str | None,
    decision: bool,
    margin: float | None,
    because: str,
    looks: tuple[int, ...],
    dry_run: bool,
    as_json: bool,
) -> int:
    """Run SUITE: plan it, commit the plan, run and grade every trial, commit each.

    Needs no account and no network for the suites that say so. Ctrl-C stops cleanly; what was cut
    off is recorded as cancelled, and `trialbook resume` goes on.
    """
    root = context.root()
    registry = Registry()
    loaded = load_suite(root, suite, registry)
    request = Request(
        repetitions=repetitions,
        configurations=configurations,
        tasks=tasks,
        jobs=jobs,
        seed=seed,
        sandbox=sandbox,
        kind=DECISION if decision else DEVELOPMENT,
        comparison=Declaration(margin=margin, because=because, looks=looks),
    )
    say = partial(_say, context)
    plan = make_plan(loaded, request, root=root, registry=registry, system=context.system, say=say)
    if dry_run:
        _show_plan(context, plan, as_json=as_json)
    for line in said(expect(root, context.system.cache_folder(), plan)):
        say(f"expect: {line}")
    if dry_run:
        context.say("nothing was run and nothing committed (--dry-run)")
        return 0
    with observer(context) as watching:
        bench = Bench(root=root, registry=registry, system=context.system, observer=watching)
        ending = start_run(bench, narrowed(loaded, request), plan)
    return show_ending(context, ending, as_json=as_json)


def _say(context: Context, text: str) -> None:
    """Say something; in red where it says that something is not held to."""
    plain = not context.on_terminal or context.system.environ.get("NO_COLOR")
    loud = any(words in text for words in (NOT_ISOLATED, NOT_ENFORCED))
    context.say(click.style(text, fg="red") if loud and not plain else text)


def _show_plan(context: Context, plan: Plan, *, as_json: bool) -> None:
    if as_json:
        context.json(plain(plan))
        return
    slots = len(plan.schedule)
    context.result(f"suite           {plan.suite}, protocol {plan.protocol} ({plan.status})")
    if plan.draft_because:
        context.result(f"draft           {plan.draft_because}")
    context.result(f"decision        {plan.decision}")
    context.result(f"tasks           {', '.join(plan.tasks)}")
    for name, planned in plan.configurations.items():
        told = f"agent {planned.agent}, sandbox {planned.sandbox}"
        context.result(f"configuration   {name}: {told}")
        if planned.escalation is not None:
            context.result(f"                {escalation_said(planned.escalation)}")
    context.result(f"accept          {plan.accept}")
    for line in _comparison(plan.compare):
        context.result(f"compare         {line}")
    context.result(f"seed            {plan.seed}")
    context.result(f"schedule        {slots} slots, {plan.jobs} at once, in this order:")
    for number, slot in enumerate(plan.schedule, 1):
        context.result(f"{number:6}  {slot.key.path}")


def _comparison(compare: Comparison | None) -> Iterator[str]:
    """What is fixed about comparing the results, a line each."""
    if compare is None:
        return
    yield f"{compare.candidate} with {compare.baseline}"
    if compare.margin is not None:
        yield f"margin {compare.margin:g}: {compare.because}"
    if compare.looks:
        yield f"looks after {', '.join(map(str, compare.looks))} rounds, and at the end"
