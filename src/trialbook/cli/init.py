"""``trialbook init``: make a ledger of one's own."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from trialbook.cli.context import Context, pass_context
from trialbook.registry import Registry
from trialbook.workflow.initialise import EXAMPLE_SUITE, init_ledger


@click.command("init", epilog="Example: trialbook init ../our-evals")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@pass_context
def command(context: Context, *, folder: Path) -> int:
    """Make a ledger in FOLDER: the same folders as here, a Makefile, one example suite that runs.

    FOLDER may be new, or a new folder inside a repository of yours. Nothing is committed.
    """
    program = context.program_anywhere
    made = init_ledger(folder, Registry(), program)
    kind = "a new repository" if made.new_repository else "the repository it is in"
    context.result(f"made a ledger in {folder}, in {kind}")
    for path in made.files:
        context.say(f"  {path}")
    context.result("")
    context.result(f"next   cd {shlex.quote(str(folder))}")
    context.result("       git add . && git commit -m 'Start a trialbook ledger'")
    context.result(f"       {program} eval {EXAMPLE_SUITE}")
    return 0
