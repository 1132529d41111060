"""``trialbook status``: the runs of a ledger, how far each came, and what to do next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.terminal import Column, Text, accepted_line, lines, render, safe, table
from trialbook.reporting.summary import Summary, summarise
from trialbook.storage.corrections import standings
from trialbook.storage.reader import Reader, RunRef


@dataclass(frozen=True, slots=True, kw_only=True)
class _Row:
    run: RunRef
    status: str
    summary: Summary
    closed: bool

    @property
    def next(self) -> str:
        return f"trialbook {'show' if self.closed else 'resume'} {self.run.run}"


@click.command(epilog="Example: trialbook status --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def command(context: Context, *, as_json: bool) -> None:
    """List the runs of this ledger, oldest first, and say what to do next.

    A run is *open* until all its slots are done and its results are written.
    """
    reader = Reader.open(context.root())
    runs = sorted(reader.runs(), key=lambda run: (run.run, run.suite))
    rows = [_row(reader, run) for run in runs]
    if as_json:
        context.json([_json(row) for row in rows])
    elif rows:
        context.result(_text(context, rows))
    else:
        context.say("no runs yet; the next command: trialbook eval SUITE")


def _row(reader: Reader, run: RunRef) -> _Row:
    plan = reader.plan(run)
    return _Row(
        run=run,
        status=plan.status,
        summary=summarise(plan, (one.trial for one in standings(reader, run))),
        closed=reader.is_closed(run),
    )


def _json(row: _Row) -> dict[str, Any]:
    summary = row.summary
    return {
        "suite": summary.suite,
        "run": summary.run,
        "protocol": summary.protocol,
        "status": row.status,
        "state": "closed" if row.closed else "open",
        "slots": summary.total.all_scheduled.slots,
        "slots_done": summary.finished,
        "trials": summary.total.trials,
        "accepted": summary.total.all_scheduled.accepted,
        "configurations": {
            entry.name: {
                "accepted": entry.counts.all_scheduled.accepted,
                "slots": entry.counts.all_scheduled.slots,
                "valid_accepted": entry.counts.valid_execution.accepted,
                "valid": entry.counts.valid_execution.slots,
            }
            for entry in summary.configurations
        },
        "next": row.next,
    }


def _text(context: Context, rows: list[_Row]) -> str:
    columns = [
        Column(head="suite", whole=True),
        Column(head="run", whole=True),
        Column(head="state"),
        Column(head="done", number=True, whole=True),
        Column(head="accepted"),
    ]
    shown = table(columns, [_cells(row) for row in rows])
    waiting = [row for row in rows if not row.closed] or rows[-1:]
    return render([shown, "", *lines(("next", row.next) for row in waiting)], colour=context.colour)


def _cells(row: _Row) -> list[str | Text]:
    summary = row.summary
    state = Text("closed" if row.closed else "open", style="" if row.closed else "yellow")
    if summary.draft:
        state.append(", draft", style="dim")
    return [
        f"{summary.suite}@{summary.protocol}",
        safe(summary.run, style="bold"),
        state,
        f"{summary.finished}/{summary.total.all_scheduled.slots}",
        accepted_line(summary),
    ]
