"""``trialbook finding``: say what became of something that was sent back."""

from __future__ import annotations

import click

from trialbook.cli.context import Context, pass_context
from trialbook.errors import ExitCode
from trialbook.formats.records import plain
from trialbook.formats.visible import visible_line
from trialbook.model.rule import RuleKind
from trialbook.reporting.findings_said import about_said
from trialbook.workflow.resolving import ResolveRequest, resolve


@click.group("finding", epilog="Example: trialbook finding resolve 1a2b3c4d --rule task --link ...")
def command() -> None:
    """Say what became of something that was sent back."""


@command.command(
    "resolve",
    epilog="Example: trialbook finding resolve 1a2b3c4d --rule instructions "
    "--link suites/shop/instructions/current/AGENTS.md",
)
@click.argument("group")
@click.option(
    "--rule",
    "kind",
    required=True,
    type=click.Choice([one.value for one in RuleKind]),
    help="What it became.",
)
@click.option("--link", required=True, help="Where: a path of the ledger, or an address.")
@click.option("--note", metavar="TEXT", help="More about it.")
@click.option("--author", metavar="NAME", help="Who says so; by default git's identity.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def resolve_(  # noqa: PLR0913 - click hands every option over by name
    context: Context,
    *,
    group: str,
    kind: str,
    link: str,
    note: str | None,
    author: str | None,
    as_json: bool,
) -> int:
    """Put on record that GROUP, as `trialbook findings` names it, became a rule, and where.

    A path has to be in HEAD already. What is sent back in trials that begin later is shown as a
    repeat of the rule.
    """
    request = ResolveRequest(group=group, kind=RuleKind(kind), link=link, note=note, author=author)
    done = resolve(context.root(), context.system, request)
    for warning in done.warnings:
        context.warn(warning)
    if as_json:
        context.json({"commit": done.commit, "rule": plain(done.rule)})
        return ExitCode.DONE
    context.result(f"finding  {visible_line(about_said(done.group))}")
    context.result(f"rule     {done.rule.kind}: {visible_line(done.rule.link)}")
    context.result(f"commit   git show {done.commit}")
    return ExitCode.DONE
