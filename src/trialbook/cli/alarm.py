"""``trialbook alarm``: say whether a gate that failed was right."""

from __future__ import annotations

import click

from trialbook.cli.context import Context, pass_context
from trialbook.errors import ExitCode
from trialbook.formats.records import plain
from trialbook.formats.visible import visible_line
from trialbook.model.alarm import AlarmKind
from trialbook.workflow.alarming import AlarmRequest, tell_alarm


@click.command(
    "alarm",
    epilog="Example: trialbook alarm 20261130T151526Z false --because 'twenty more trials pass'",
)
@click.argument("run")
@click.argument("kind", metavar="false|real", type=click.Choice([k.value for k in AlarmKind]))
@click.option("--because", required=True, metavar="TEXT", help="How that is known.")
@click.option("--author", metavar="NAME", help="Who says so; by default git's identity.")
@click.option("--json", "as_json", is_flag=True, help="Print the result as JSON.")
@pass_context
def command(
    context: Context, *, run: str, kind: str, because: str, author: str | None, as_json: bool
) -> int:
    """Put on record that the failure of a gate, which RUN names, was a false alarm, or was real.

    A gate that fails without anything being worse costs trust. What is found out about failures is
    kept, so that `trialbook gates` can say how often that happens. Nothing about the gate's answer
    changes. Of several records the newest counts.
    """
    request = AlarmRequest(run=run, kind=AlarmKind(kind), because=because, author=author)
    done = tell_alarm(context.root(), context.system, request)
    for warning in done.warnings:
        context.warn(warning)
    if as_json:
        context.json({"commit": done.commit, "alarm": plain(done.alarm)})
        return ExitCode.DONE
    context.result(f"gate    {visible_line(done.alarm.run)}")
    context.result(f"reason  {visible_line(done.entry.gate.reason)}")
    context.result(f"alarm   {done.alarm.kind}")
    context.result(f"commit  git show {done.commit}")
    return ExitCode.DONE
