"""``trialbook findings``: what is sent back again and again."""

from __future__ import annotations

from typing import Any

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.terminal import Column, Text, render, safe, table
from trialbook.formats.records import plain
from trialbook.reporting.findings import Findings, Group, findings
from trialbook.reporting.findings_said import about_said, rules_said
from trialbook.reporting.wording import number_of
from trialbook.storage.reader import Reader


@click.command("findings", epilog="Example: trialbook findings")
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def command(context: Context, *, runs: tuple[str, ...], as_json: bool) -> None:
    """List what checks, reviewers and trusted judges send back, in groups, most frequent first.

    Findings of one check are a group. Those on one question of a rubric are, if at least half of
    all their words are the same; without words, if they are about the same file. What a judge
    finds counts only if the judge is trusted so far. With RUNs, only groups that these have a part
    in, with all that the ledger knows of them. A group that became a rule says where, and how
    often it was sent back since.
    """
    reader = Reader.open(context.root())
    wanted = list(dict.fromkeys(map(reader.resolve_run, runs))) if runs else None
    found = findings(reader, wanted)
    if as_json:
        context.json(_as_json(found))
        return
    if not found.groups:
        context.say("nothing was sent back")
    else:
        columns = [
            Column(head="group", whole=True),
            Column(head="what"),
            Column(head="times", number=True),
            Column(head="trials", number=True),
            Column(head="first", whole=True),
            Column(head="last", whole=True),
            Column(head="by"),
            Column(head="rule"),
        ]
        rows = [_row(group) for group in found.groups]
        context.result(render([table(columns, rows)], colour=context.colour))
    if found.opinions:
        said = number_of(found.opinions, "finding")
        context.result(f"left out: {said} of judges that are not trusted so far")
    if any(not group.rules for group in found.groups):
        context.say(
            f"next   {context.program} finding resolve GROUP --rule instructions --link PATH"
        )


def _row(group: Group) -> list[str | Text]:
    seen = group.sightings
    return [
        safe(group.id, style="bold"),
        about_said(group),
        str(len(seen)),
        str(group.trials),
        seen[0].when[:10] if seen else "",
        seen[-1].when[:10] if seen else "",
        ", ".join(group.by),
        rules_said(group),
    ]


def _as_json(found: Findings) -> dict[str, Any]:
    return {
        "groups": [
            {
                "group": group.id,
                "about": plain(group.about),
                "times": len(group.sightings),
                "trials": group.trials,
                "first": group.sightings[0].when if group.sightings else None,
                "last": group.sightings[-1].when if group.sightings else None,
                "by": list(group.by),
                "repeats": len(group.repeats),
                "rules": [plain(rule) for rule in group.rules],
                "sightings": [
                    {
                        "trial": one.trial,
                        "when": one.when,
                        "by": one.by,
                        "place": one.about.place,
                        "text": one.about.text,
                    }
                    for one in group.sightings
                ],
            }
            for group in found.groups
        ],
        "opinions": found.opinions,
    }
