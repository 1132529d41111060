"""``trialbook agreement``: how far reviewers agree, and how far each can be relied on."""

from __future__ import annotations

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.terminal import Column, Part, heading, render, safe, table
from trialbook.formats.visible import visible_line
from trialbook.reporting.agreement import RubricAgreement, agreements
from trialbook.reporting.agreement_said import (
    CHECK_COLUMNS,
    COLUMNS,
    as_json,
    blinding_said,
    check_cells,
    item_cells,
    table_rows,
)
from trialbook.reporting.calibration_said import share_said
from trialbook.reporting.wording import listed, number_of
from trialbook.storage.reader import Reader


@click.command("agreement", epilog="Example: trialbook agreement 20261130T151526Z-3f9c2d")
@click.argument("runs", nargs=-1, required=True, metavar="RUN...")
@click.option("--json", "json_wanted", is_flag=True, help="Print the result as JSON.")
@pass_context
def command(context: Context, *, runs: tuple[str, ...], json_wanted: bool) -> None:
    """Say how far the reviewers of one or several RUNs agree, question by question.

    From the answers that each gave alone, not from what they settled afterwards; and only when the
    reviews are open. Shown with it: a question whose wording leads careful people to different
    answers, how often each reviewer said the same of a packet that came again, what they made of
    answers known to be good or bad, and whether they could tell which configuration made a change.
    Several runs are put together if they were reviewed by the same version of a rubric.
    """
    root = context.root()
    reader = Reader.open(root)
    found = agreements(root, reader, list(dict.fromkeys(map(reader.resolve_run, runs))))
    if json_wanted:
        context.json([as_json(one) for one in found])
        return
    for number, one in enumerate(found):
        if number:
            context.result("")
        context.result(render(_parts(one), colour=context.colour))


def _parts(found: RubricAgreement) -> list[Part]:
    reviewers = ", ".join(map(visible_line, found.reviewers))
    parts: list[Part] = [
        heading(f"{found.rubric.reference}: {visible_line(found.rubric.title)}"),
        safe(f"{number_of(len(found.runs), 'run')}, reviewed by {reviewers}"),
        "",
        table([_column(name) for name in COLUMNS], [item_cells(one) for one in found.items]),
        "",
        heading("answers, the first reviewer by name in the rows"),
    ]
    for item in found.items:
        heads = [name.replace("_", " ") for name in item.found.table.categories]
        columns = [Column(head=item.item, whole=True), *(Column(head=one) for one in heads)]
        parts += [table(columns, table_rows(item)), ""]
    parts += [
        heading("reviewers"),
        table(
            [_column(name) for name in CHECK_COLUMNS], [check_cells(one) for one in found.checks]
        ),
        "",
        safe(f"blinding: {blinding_said(found.blinding)}"),
    ]
    if found.left_out:
        parts.append(safe(f"in no score: {listed(found.left_out)}"))
    for score in found.scores:
        yes = share_said(score.yes.count, score.yes.total)
        parts.append(
            safe(f"{score.configuration}: yes to {yes} of what was answered, {score.open} open")
        )
    if found.unresolved:
        parts.append(safe(f"{number_of(found.unresolved, 'item')} unresolved, and counted as such"))
    return parts


def _column(name: str) -> Column:
    return Column(head=name, whole=name in ("item", "reviewer"))
