"""``trialbook gates``: every gate of the ledger, and how often gates are false alarms."""

from __future__ import annotations

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.reading import open_reader
from trialbook.cli.terminal import Column, Part, Text, render, safe, table
from trialbook.errors import ExitCode, UserError
from trialbook.formats.nearest import nearest
from trialbook.reporting.gates import GateEntry, alarm_rates, gates
from trialbook.reporting.gates_said import (
    alarm_said,
    gates_json,
    minutes_said,
    rates_said,
    side_said,
    spend_said,
)


@click.command("gates", epilog="Example: trialbook gates instruction-drift")
@click.argument("suites", nargs=-1, metavar="[SUITE...]")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def command(context: Context, *, suites: tuple[str, ...], as_json: bool) -> int:
    """List every gate that was run, oldest first, and how often gates were false alarms.

    A false alarm is a gate of two equal sides that failed, or one of which `trialbook alarm` put it
    on record. Gates of runs that were planned before plans said so are not in the list.
    """
    reader = open_reader(context)
    runs = reader.runs()
    known = sorted({run.suite for run in runs})
    for name in suites:
        if name not in known:
            hint = nearest(name, known) or "`trialbook status` lists the runs there are"
            raise UserError(f"there is no run of a suite {name!r}", hint=hint)
    entries = gates(reader, [run for run in runs if not suites or run.suite in suites])
    rates = alarm_rates(entries)
    if as_json:
        context.json(gates_json(entries, rates))
        return ExitCode.DONE
    if not entries:
        context.say("no gate is on record")
        return ExitCode.DONE
    columns = [
        Column(head="gate", whole=True),
        Column(head="baseline"),
        Column(head="candidate"),
        Column(head="answer", whole=True),
        Column(head="why"),
        Column(head="took", number=True),
        Column(head="cost"),
        Column(head="alarm"),
    ]
    parts: list[Part] = [table(columns, [_row(entry) for entry in entries]), ""]
    parts += [safe(line) for rate in rates for line in rates_said(rate)]
    context.result(render(parts, colour=context.colour))
    return ExitCode.DONE


def _row(entry: GateEntry) -> list[str | Text]:
    gate = entry.gate
    return [
        safe(gate.run, style="bold"),
        side_said(gate.baseline),
        side_said(gate.candidate),
        gate.verdict,
        gate.reason,
        minutes_said(entry),
        spend_said(gate.spend),
        alarm_said(entry),
    ]
