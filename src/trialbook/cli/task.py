"""``trialbook task``: start a new task."""

from __future__ import annotations

from pathlib import Path

import click

from trialbook.cli.context import Context, pass_context
from trialbook.errors import ExitCode, UserError
from trialbook.registry import Registry
from trialbook.storage.scaffold import new_task
from trialbook.storage.task_sources import Source, folder_source, git_source, package_source


@click.group("task", epilog="Example: trialbook task new refunds negative-amount")
def command() -> None:
    """Start a new task."""


@command.command(
    "new", epilog="Example: trialbook task new refunds negative-amount --git ../shop-api"
)
@click.argument("suite")
@click.argument("name")
@click.option(
    "--snapshot-folder",
    type=click.Path(path_type=Path),
    help="Start from this folder; copied into the task unless it is in the suite.",
)
@click.option("--git", help="Start from a commit of this repository: a path, or a URL.")
@click.option(
    "--commit", help="With --git: a full commit id or a branch; by default where HEAD is."
)
@click.option("--package", help="Start from a source distribution: NAME==VERSION.")
@click.option("--sha256", help="With --package: the digest of the source distribution.")
@pass_context
def new(  # noqa: PLR0913 - click hands every option over by name
    context: Context,
    *,
    suite: str,
    name: str,
    snapshot_folder: Path | None,
    git: str | None,
    commit: str | None,
    package: str | None,
    sha256: str | None,
) -> int:
    """Start a task called NAME in SUITE: task.yaml, a brief, checks, and a snapshot to start from.

    Without an option the snapshot is a small example. The files pass `suite check` as they are and
    say in comments what each key is for. Nothing that is there already is changed.
    """
    if (snapshot_folder, git, package).count(None) < 2:  # noqa: PLR2004 - at most one is given
        raise UserError("give only one of --snapshot-folder, --git and --package")
    if (commit and not git) or (sha256 and not package):
        raise UserError("--commit belongs to --git, and --sha256 to --package")
    root = context.root()
    task_folder = root / "suites" / suite / "tasks" / name
    source: Source | None = None
    if snapshot_folder is not None:
        source = folder_source(snapshot_folder, task_folder)
    elif git is not None:
        source = git_source(git, commit, task_folder)
    elif package is not None:
        source = package_source(package, sha256)
    made = new_task(root, suite, name, Registry(), source)
    for path in made.files:
        context.result(str(path))
    context.say("")
    context.say(f"next   write suites/{suite}/tasks/{name}/brief.md and checks.yaml")
    context.say(f"       {context.program} suite check {suite}")
    for problem in made.left:
        context.say(f"left   {problem}")
    return ExitCode.DONE
