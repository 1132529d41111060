"""``trialbook amend``: correct one trial by a record of its own."""

from __future__ import annotations

import math

import click

from trialbook.cli.context import Context, pass_context
from trialbook.formats.records import plain
from trialbook.formats.visible import visible_line
from trialbook.model.amendment import ONLY_JUDGED, Intervention, InterventionKind
from trialbook.model.outcome import Outcome
from trialbook.reporting.wording import number_of_minutes, words
from trialbook.workflow.amend import Amended, AmendRequest, amend

_OUTCOMES = [outcome.value for outcome in Outcome if outcome not in ONLY_JUDGED]


def _interventions(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> tuple[Intervention, ...]:
    """Each ``KIND:MINUTES``, for example ``clarification:5``."""
    kinds = [one.value for one in InterventionKind]
    found = []
    for value in values:
        kind, _, said = value.partition(":")
        try:
            minutes = float(said)
        except ValueError:
            minutes = math.nan
        if kind not in kinds:
            raise click.BadParameter(f"{kind!r} is none of {', '.join(kinds)}", context, option)
        if not math.isfinite(minutes) or minutes < 0:
            message = f"{value!r} names no time; write the minutes as in {kind}:5"
            raise click.BadParameter(message, context, option)
        found.append(Intervention(kind=InterventionKind(kind), minutes=minutes))
    return tuple(found)


@click.command(
    "amend",
    epilog="Example: trialbook amend 20261130T151526Z-3f9c2d/refund/current/r2 "
    '--outcome provider_outage --evidence "HTTP 529 in stderr.txt" --reason "classified wrongly"',
)
@click.argument("trial")
@click.option("--reason", required=True, metavar="TEXT", help="Why; others will read it.")
@click.option("--author", metavar="NAME", help="Who says so; by default git's identity.")
@click.option(
    "--intervention",
    "interventions",
    multiple=True,
    metavar="KIND:MINUTES",
    callback=_interventions,
    help="A person's part: clarification, approval or rescue, with minutes; repeatable.",
)
@click.option(
    "--outcome", type=click.Choice(_OUTCOMES), metavar="OUTCOME", help="What the trial counts as."
)
@click.option(
    "--evidence", multiple=True, metavar="TEXT", help="What shows the outcome; repeatable."
)
@click.option("--note", metavar="TEXT", help="What else a reader should know.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def command(  # noqa: PLR0913 - click hands every option over by name
    context: Context,
    *,
    trial: str,
    reason: str,
    author: str | None,
    interventions: tuple[Intervention, ...],
    outcome: str | None,
    evidence: tuple[str, ...],
    note: str | None,
    as_json: bool,
) -> None:
    """Add a correction to TRIAL (RUN/TASK/CONFIGURATION/r1); its own record stays as it is.

    Every page then shows both outcomes and counts the corrected one. An amendment cannot accept or
    reject: that is for graders, see `trialbook regrade`. To make a valid execution one that may be
    run again takes evidence. If the run is closed, later results are added beside the first ones.
    """
    request = AmendRequest(
        trial=trial,
        reason=reason,
        author=author,
        interventions=interventions,
        outcome=None if outcome is None else Outcome(outcome),
        evidence=evidence,
        note=note,
    )
    done = amend(context.root(), context.system, request)
    for warning in done.warnings:
        context.warn(warning)
    if as_json:
        generation = None if done.generation is None else done.generation.id
        context.json(
            {
                "commit": done.commit,
                "amendment": plain(done.amendment),
                "results": generation,
            }
        )
        return
    _show(context, done)


def _show(context: Context, done: Amended) -> None:
    amendment = done.amendment
    context.result(f"amended  {amendment.run}/{amendment.trial}")
    if amendment.outcome is not None:
        was, now = words(amendment.outcome.was), words(amendment.outcome.now)
        context.result(f"outcome  {was}, counts as {now} from now on")
    for one in amendment.interventions:
        context.result(f"people   {one.kind}, {number_of_minutes(one.minutes)}")
    if amendment.note is not None:
        context.result(f"note     {visible_line(amendment.note)}")
    context.result(f"commit   git show {done.commit}")
    if done.generation is not None:
        context.result(f"results  runs/{amendment.run}/results/{done.generation.id}")
