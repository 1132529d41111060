"""The runs of a ledger as a table or as JSON: how far each came, and what to do next."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trialbook.cli.context import Context, json_text
from trialbook.cli.reading import open_reader
from trialbook.cli.terminal import Column, Text, lines, ratio, render, safe, table
from trialbook.reporting.progress import RunProgress, progress_of


def run_list(context: Context, *, as_json: bool) -> str:
    """The runs, oldest first; empty if there are none and no JSON is asked for.

    Raises:
        UserError: there is no ledger.
        EnvironmentProblem: it is in no repository.
    """
    reader = open_reader(context)
    runs = sorted(reader.runs(), key=lambda run: (run.run, run.suite))
    rows = [progress_of(reader, run) for run in runs]
    if as_json:
        return json_text([_json(row) for row in rows])
    return _text(context, rows) if rows else ""


def _next(row: RunProgress, program: str = "trialbook") -> str:
    return f"{program} {'show' if row.closed else 'resume'} {row.run.run}"


def _json(row: RunProgress) -> dict[str, Any]:
    return {
        "suite": row.run.suite,
        "run": row.run.run,
        "protocol": row.protocol,
        "status": row.status,
        "state": "closed" if row.closed else "open",
        "slots": row.total.all_scheduled.slots,
        "slots_done": row.finished,
        "trials": row.total.trials,
        "accepted": row.total.all_scheduled.accepted,
        "configurations": {
            name: {
                "accepted": counts.all_scheduled.accepted,
                "slots": counts.all_scheduled.slots,
                "valid_accepted": counts.valid_execution.accepted,
                "valid": counts.valid_execution.slots,
            }
            for name, counts in row.configurations.items()
        },
        "next": _next(row),
    }


def _text(context: Context, rows: Sequence[RunProgress]) -> str:
    columns = [
        Column(head="suite", whole=True),
        Column(head="run", whole=True),
        Column(head="state"),
        Column(head="done", number=True, whole=True),
        Column(head="accepted"),
    ]
    shown = table(columns, [_cells(row) for row in rows])
    waiting = [row for row in rows if not row.closed] or rows[-1:]
    following = lines(("next", _next(row, context.program)) for row in waiting)
    return render([shown, "", *following], colour=context.colour)


def _cells(row: RunProgress) -> list[str | Text]:
    state = Text("closed" if row.closed else "open", style="" if row.closed else "yellow")
    if row.status == "draft":
        state.append(", draft", style="dim")
    return [
        f"{row.run.suite}@{row.protocol}",
        safe(row.run.run, style="bold"),
        state,
        f"{row.finished}/{row.total.all_scheduled.slots}",
        ", ".join(
            f"{name} {ratio(counts.all_scheduled)}" for name, counts in row.configurations.items()
        ),
    ]
