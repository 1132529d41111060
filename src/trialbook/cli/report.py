"""``trialbook report``: what a run came to, made again from the records."""

from __future__ import annotations

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.reading import open_reader
from trialbook.formats.records import plain
from trialbook.reporting.comparison_json import compared_json
from trialbook.reporting.report import render_report
from trialbook.reporting.report_decision import compared
from trialbook.reporting.results import load_results, results_csv, rows

FORMATS = ("markdown", "csv", "json")


@click.command("report", epilog="Example: trialbook report 20261130T151526Z --format csv")
@click.argument("run")
@click.option(
    "--format",
    "kind",
    type=click.Choice(FORMATS),
    default="markdown",
    show_default=True,
    help="Markdown is report.md; CSV has one row for each trial.",
)
@pass_context
def command(context: Context, *, run: str, kind: str) -> None:
    """Print the report of RUN, computed from the ledger now.

    It is what report.md and results.csv say when the run closes, corrections included; anyone gets
    the same bytes from a clone. For a run that is still open it says how far it is.
    """
    reader = open_reader(context)
    results = load_results(reader, reader.resolve_run(run))
    records = results.standings.values()
    if kind == "csv":
        context.result(results_csv(results.plan, records).decode().removesuffix("\n"))
    elif kind == "json":
        found = compared(results)
        context.json(
            {
                "run": results.plan.path,
                "protocol": results.plan.protocol,
                "status": results.plan.status,
                "decision": results.plan.decision,
                "configurations": {
                    row.name: plain(row.counts) for row in results.summary.configurations
                },
                "comparison": None if found is None else compared_json(found),
                "trials": rows(results.plan, records),
            }
        )
    else:
        context.result(render_report(results).decode().removesuffix("\n"))
