"""``trialbook compare``: runs of one locked protocol version side by side, or why not."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.reading import open_reader
from trialbook.cli.terminal import Column, Part, Text, render, safe, table
from trialbook.errors import ExitCode, UserError
from trialbook.formats.records import plain
from trialbook.formats.visible import visible_line
from trialbook.reporting.comparability import graded_apart, invalidated, obstacles
from trialbook.reporting.results import RunResults, load_results
from trialbook.reporting.wording import rate

_SIDE_BY_SIDE = (
    "These are counts side by side. No interval and no test is computed, so nothing here says "
    "which is better."
)


@click.command("compare", epilog="Example: trialbook compare 20261130T151526Z 20261201T090000Z")
@click.argument("runs", metavar="RUN RUN...", nargs=-1, required=True)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def command(context: Context, runs: tuple[str, ...], *, as_json: bool) -> int:
    """Set the counts of several RUNs side by side, if they may be.

    Runs compare only if all of them are of one suite and one protocol number, under the same lock,
    with the same tasks. A draft compares with nothing. Otherwise every reason is told, and the exit
    status is 4.
    """
    reader = open_reader(context)
    found = list(dict.fromkeys(reader.resolve_run(run) for run in runs))
    if len(found) == 1:
        raise UserError("name two runs or more", hint="`trialbook status` lists them")
    results = [load_results(reader, run) for run in found]
    reasons = [
        *obstacles([one.plan for one in results]),
        *invalidated(results),
        *graded_apart(results),
    ]
    if as_json:
        context.json(_as_json(results, reasons))
    elif reasons:
        context.result("these runs do not compare:")
        for reason in reasons:
            context.result(f"  {visible_line(reason)}")
    else:
        context.result(render([_table(results), "", _SIDE_BY_SIDE], colour=context.colour))
    return ExitCode.NOT_VALID if reasons else ExitCode.DONE


def _as_json(results: Sequence[RunResults], reasons: Sequence[str]) -> dict[str, Any]:
    compared = [] if reasons else [_run_json(one) for one in results]
    return {"comparable": not reasons, "reasons": list(reasons), "runs": compared}


def _run_json(run: RunResults) -> dict[str, Any]:
    return {
        "run": run.plan.path,
        "protocol": run.plan.protocol,
        "configurations": [
            {
                "name": row.name,
                "all_scheduled": plain(row.counts.all_scheduled),
                "valid_execution": plain(row.counts.valid_execution),
            }
            for row in run.summary.configurations
        ],
    }


def _table(results: Sequence[RunResults]) -> Part:
    columns = [
        Column(head="run", whole=True),
        Column(head="configuration"),
        Column(head="accepted, all scheduled", number=True, whole=True),
        Column(head="valid executions", number=True, whole=True),
    ]
    rows: list[list[str | Text]] = [
        [
            safe(one.plan.run, style="bold"),
            row.name,
            rate(row.counts.all_scheduled),
            rate(row.counts.valid_execution),
        ]
        for one in results
        for row in one.summary.configurations
    ]
    return table(columns, rows)
