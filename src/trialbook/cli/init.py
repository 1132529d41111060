"""``trialbook init``: make a ledger of one's own."""

from __future__ import annotations

import shlex
from pathlib import Path

import click

from trialbook.cli.context import Context, pass_context
from trialbook.errors import UserError
from trialbook.registry import Registry
from trialbook.storage.scaffold import CI_SERVICES, PUBLISHERS, ci_template, publish_template
from trialbook.workflow.initialise import EXAMPLE_SUITE, init_ledger


@click.command("init", epilog="Example: trialbook init ../our-evals")
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path), required=False)
@click.option("--ci", type=click.Choice(CI_SERVICES), help="Print a CI job that gates changes.")
@click.option(
    "--publish",
    type=click.Choice(list(PUBLISHERS)),
    help="Print what publishes the site: a CI job, or a shell script.",
)
@pass_context
def command(context: Context, *, folder: Path | None, ci: str | None, publish: str | None) -> int:
    """Make a ledger in FOLDER: the same folders as here, a Makefile, one example suite that runs.

    FOLDER may be new, or a new folder inside a repository of yours. Nothing is committed.

    With --ci a job for a CI service is printed instead, to redirect into its file; with --publish
    one that puts the site on that service's pages, or a script that copies it to any host.
    """
    if publish is not None:
        context.result(publish_template(publish).removesuffix("\n"))
        return 0
    if ci is not None:
        context.result(ci_template(ci).removesuffix("\n"))
        return 0
    if folder is None:
        raise UserError("which folder?", hint="trialbook init ../our-evals")
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
