"""``trialbook plugins``: what is installed, and where it comes from."""

from __future__ import annotations

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.terminal import Column, render, table
from trialbook.formats.records import plain
from trialbook.registry import Registry


@click.command(epilog="Example: trialbook plugins --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def command(context: Context, *, as_json: bool) -> None:
    """List the plugins that are installed: agents, graders, sandboxes, executors, pages."""
    plugins = Registry().all()
    if as_json:
        context.json([plain(plugin.use) for plugin in plugins])
        return
    columns = [Column(head=head) for head in ("group", "name", "distribution", "version", "code")]
    rows = [
        (plugin.group, plugin.name, plugin.distribution, plugin.version, plugin.entry_point.value)
        for plugin in plugins
    ]
    context.result(render([table(columns, rows)], colour=context.colour))
