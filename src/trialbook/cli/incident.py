"""``trialbook incident``: say what went wrong around trials, and what follows from it."""

from __future__ import annotations

import re
from typing import Any

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.terminal import Column, Text, render, safe, table
from trialbook.formats.records import plain
from trialbook.model.incident import Addition, Decision, Incident, IncidentKind, overlapping
from trialbook.reporting.corrections import incident_said
from trialbook.storage.reader import Reader, RunRef
from trialbook.workflow.incidents import (
    CloseRequest,
    OpenRequest,
    Written,
    all_incidents,
    close_incident,
    open_incident,
)

_KINDS = [kind.value for kind in IncidentKind]
_DECISIONS = [decision.value for decision in Decision]
_ADDITION = re.compile(r"([^/=]+)/r([1-9][0-9]{0,5})=(.+)", re.DOTALL)


def _additions(
    context: click.Context, option: click.Parameter, values: tuple[str, ...]
) -> tuple[Addition, ...]:
    """Each ``TASK/rN=WHY``: a task's repetition, under every configuration."""
    found = []
    for value in values:
        match = _ADDITION.fullmatch(value)
        if match is None:
            message = (
                f"{value!r} is not of the form TASK/rN=WHY; it names no configuration, because a "
                "decision is about all of them"
            )
            raise click.BadParameter(message, context, option)
        found.append(Addition(task=match[1], repetition=int(match[2]), because=match[3]))
    return tuple(found)


@click.group("incident", epilog="Example: trialbook incident list")
def command() -> None:
    """Say what went wrong around trials, which it touched, and what follows from it."""


@command.command(
    "open",
    epilog="Example: trialbook incident open refunds --kind provider --from 2026-11-30T15:15Z "
    '--reason "the API answered 529" --evidence https://status.example.com/1',
)
@click.argument("where", metavar="SUITE|RUN")
@click.option("--kind", required=True, type=click.Choice(_KINDS), help="What went wrong.")
@click.option("--reason", required=True, metavar="TEXT", help="What happened.")
@click.option("--from", "began", metavar="TIME", help="When it began, in UTC; by default now.")
@click.option(
    "--evidence", multiple=True, metavar="LINK", help="What shows it; a link or text; repeatable."
)
@click.option("--author", metavar="NAME", help="Who says so; by default git's identity.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def open_(  # noqa: PLR0913 - click hands every option over by name
    context: Context,
    *,
    where: str,
    kind: str,
    reason: str,
    began: str | None,
    evidence: tuple[str, ...],
    author: str | None,
    as_json: bool,
) -> None:
    """Open an incident of a run, or of every run of a suite that it touches."""
    request = OpenRequest(
        where=where,
        kind=IncidentKind(kind),
        reason=reason,
        author=author,
        began=began,
        evidence=evidence,
    )
    written = open_incident(context.root(), context.system, request)
    _show(context, written, as_json=as_json)
    if not as_json:
        hint = f"{context.program} incident close {written.id} --decision keep|rerun|invalidate"
        context.result(f"next      {hint} --reason TEXT")


@command.command(
    "close",
    epilog="Example: trialbook incident close 20261130T1600 --decision rerun "
    '--until 2026-11-30T15:40Z --reason "nothing valid came out of it"',
)
@click.argument("incident")
@click.option(
    "--decision", required=True, type=click.Choice(_DECISIONS), help="What follows from it."
)
@click.option("--reason", required=True, metavar="TEXT", help="Why.")
@click.option("--until", metavar="TIME", help="When it was over, in UTC; by default now.")
@click.option(
    "--add",
    "added",
    multiple=True,
    metavar="TASK/rN=WHY",
    callback=_additions,
    help="Slots that were touched although the times do not say so; repeatable.",
)
@click.option(
    "--evidence", multiple=True, metavar="LINK", help="What shows it; a link or text; repeatable."
)
@click.option("--author", metavar="NAME", help="Who decides; by default git's identity.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def close(  # noqa: PLR0913 - click hands every option over by name
    context: Context,
    *,
    incident: str,
    decision: str,
    reason: str,
    until: str | None,
    added: tuple[Addition, ...],
    evidence: tuple[str, ...],
    author: str | None,
    as_json: bool,
) -> None:
    """Close INCIDENT (its name, or the beginning of it) with a decision.

    Touched is every trial, of whatever configuration, that ran between its beginning and its end.
    `keep`: they count as they are. `rerun`: slots without a valid execution may be run again, of
    every configuration alike. `invalidate`: no number of this protocol version may be used.
    """
    request = CloseRequest(
        incident=incident,
        decision=Decision(decision),
        reason=reason,
        author=author,
        until=until,
        added=added,
        evidence=evidence,
    )
    written = close_incident(context.root(), context.system, request)
    _show(context, written, as_json=as_json)
    if decision == Decision.RERUN and not as_json:
        for run in written.runs:
            context.result(f"next      {context.program} rerun {run.run} --incident {written.id}")


@command.command("list", epilog="Example: trialbook incident list --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def list_(context: Context, *, as_json: bool) -> None:
    """List every incident of this ledger, oldest first."""
    reader = Reader.open(context.root())
    found = all_incidents(reader)
    if as_json:
        context.json([_json(name, runs) for name, runs in found.items()])
        return
    if not found:
        context.say("no incidents")
        return
    columns = [
        Column(head="incident", whole=True),
        Column(head="run", whole=True),
        Column(head="kind", whole=True),
        Column(head="state"),
        Column(head="touched"),
        Column(head="what"),
    ]
    rows = [
        _row(reader, run, incident) for runs in found.values() for run, incident in runs.items()
    ]
    context.result(render([table(columns, rows)], colour=context.colour))


def _row(reader: Reader, run: RunRef, incident: Incident) -> list[str | Text]:
    said = incident_said(incident)
    touched = said.touched
    if incident.closing is None:
        count = len(overlapping(reader.trials(run), incident.opened.began, None))
        touched = f"{count} so far"
    return [safe(incident.id, style="bold"), run.path, said.kind, said.state, touched, said.reason]


def _show(context: Context, written: Written, *, as_json: bool) -> None:
    for warning in written.warnings:
        context.warn(warning)
    if as_json:
        context.json({"commit": written.commit, **_json(written.id, written.runs)})
        return
    context.result(f"incident  {written.id}")
    for run, incident in written.runs.items():
        said = incident_said(incident)
        touched = f", {said.touched} touched" if incident.closing else ""
        context.result(f"run       {run.path}: {said.state}{touched}")
    context.result(f"commit    git show {written.commit}")


def _json(name: str, runs: dict[RunRef, Incident]) -> dict[str, Any]:
    return {
        "incident": name,
        "runs": [
            {
                "run": run.path,
                "opened": plain(incident.opened),
                "closings": plain(incident.closings),
                "decision": incident.decision.value if incident.decision else None,
            }
            for run, incident in runs.items()
        ],
    }
