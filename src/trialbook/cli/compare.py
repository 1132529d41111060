"""``trialbook compare``: two configurations of locked runs, and what may be said of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.reading import open_reader
from trialbook.cli.terminal import Column, Part, Text, heading, render, safe, table
from trialbook.errors import ExitCode
from trialbook.formats.visible import visible_line
from trialbook.reporting.comparison import Compared, compare_arms
from trialbook.reporting.comparison_json import compared_json
from trialbook.reporting.comparison_said import (
    CATEGORIES_HEAD,
    ESTIMATES_HEAD,
    answer,
    category_table,
    estimates_row,
    evidence,
    moved,
    needed,
    unstable,
    views,
)
from trialbook.reporting.results import RunResults, load_results
from trialbook.reporting.sides import reasons_against, rule, sides
from trialbook.stats.verdict import Verdict


@click.command("compare", epilog="Example: trialbook compare 20261130T151526Z --candidate cheap")
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option("--baseline", metavar="NAME", help="The configuration to compare with.")
@click.option("--candidate", metavar="NAME", help="The configuration that may replace it.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def command(
    context: Context,
    runs: tuple[str, ...],
    *,
    baseline: str | None,
    candidate: str | None,
    as_json: bool,
) -> int:
    """Compare two configurations of one RUN, or of several together.

    The configurations are those that the plan names for comparison, unless said otherwise. The
    answer is better, worse, equivalent, no regression beyond the margin, or inconclusive; it comes
    with its interval, the tasks that moved, and how many tasks would have decided.

    Runs are taken together only if all of them are of one suite and one protocol number, under the
    same lock, with the same tasks. A draft compares with nothing. Then, and as long as a run is not
    complete, every reason is told, and the exit status is 4.
    """
    reader = open_reader(context)
    found = list(dict.fromkeys(reader.resolve_run(run) for run in runs))
    results = [load_results(reader, run) for run in found]
    one, other = sides(results, baseline, candidate)
    reasons = reasons_against(results, one, other)
    if reasons:
        return _refuse(context, reasons, as_json=as_json)
    compared = compare_arms(results, one, other, rule(results))
    if as_json:
        context.json({"comparable": True, "reasons": [], **compared_json(compared)})
    else:
        context.result(render(_parts(results, compared), colour=context.colour))
    return ExitCode.NOT_VALID if compared.verdict is Verdict.NOT_READY else ExitCode.DONE


def _refuse(context: Context, reasons: Sequence[str], *, as_json: bool) -> int:
    if as_json:
        context.json({"comparable": False, "reasons": list(reasons)})
    else:
        context.result("these do not compare:")
        for reason in reasons:
            context.result(f"  {visible_line(reason)}")
    return ExitCode.NOT_VALID


def _parts(results: Sequence[RunResults], compared: Compared) -> Iterator[Part]:
    plan = results[0].plan
    yield safe(plan.decision)
    yield ""
    yield heading(answer(compared))
    yield ""
    columns = [
        Column(head="configuration"),
        Column(head="accepted, all scheduled", number=True, whole=True),
        Column(head="valid executions", number=True, whole=True),
    ]
    rows: list[list[str | Text]] = [
        [safe(name, style="bold"), scheduled, valid] for name, scheduled, valid in views(compared)
    ]
    yield table(columns, rows)
    yield ""
    yield table(
        [Column(head=head) for head in ESTIMATES_HEAD],
        [estimates_row(one) for one in compared.estimates],
    )
    yield from _list("", evidence(compared))
    if compared.valid is not None:
        yield from _list("Tasks that moved", moved(compared.valid) or ["none"])
    yield from _list("Repetitions that disagree", unstable(compared.unstable))
    if compared.categories:
        yield ""
        yield table(
            [Column(head=head) for head in CATEGORIES_HEAD], category_table(compared.categories)
        )
    yield from _list("", [needed(compared)] if compared.needed else [])
    yield from _list("Differs", compared.differs)
    yield from _list("Mind", compared.cautions)


def _list(head: str, lines: Iterator[str] | Sequence[str]) -> Iterator[Part]:
    found = list(lines)
    if not found:
        return
    yield ""
    if head:
        yield heading(head)
    for line in found:
        yield safe(f"  {line}" if head else line)
