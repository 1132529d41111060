"""``trialbook status``: the runs of a ledger, how far each came, and what to do next."""

from __future__ import annotations

import click

from trialbook.cli.remembered import Remembered


@click.command(epilog="Example: trialbook status --json")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@click.pass_context
def command(invocation: click.Context, *, as_json: bool) -> None:
    """List the runs of this ledger, oldest first, and say what to do next.

    A run is *open* until all its slots are done and its results are written.
    """
    remembered = Remembered(
        "status.json" if as_json else "status",
        invocation.find_root().params.get("ledger"),
        code=[__file__, __file__.replace("status.py", "run_list.py")],
    )
    answer = remembered.recall()
    if answer is None:
        # Only now is it worth the time to load what reads a ledger.
        from trialbook.cli.context import context_of  # noqa: PLC0415
        from trialbook.cli.run_list import run_list  # noqa: PLC0415

        context = context_of(invocation)
        answer = remembered.remember(lambda: run_list(context, as_json=as_json))
    if answer:
        click.echo(answer)
    elif not invocation.find_root().params.get("quiet"):
        from trialbook.cli.context import called  # noqa: PLC0415

        click.echo(f"no runs yet; the next command: {called()} eval SUITE", err=True)
