"""``trialbook site build`` and ``trialbook site serve``: the static site of a ledger."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.reading import open_reader
from trialbook.errors import ExitCode
from trialbook.formats.records import plain
from trialbook.registry import Registry
from trialbook.reporting.wording import number_of
from trialbook.site.build import BuildOptions, Progress, SiteSummary, build_site
from trialbook.site.watching import state_of

_BUILD_FOLDER = "site/_build"
_output = click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help=f"Where the site goes; by default {_BUILD_FOLDER} in the ledger.",
)
_jobs = click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1, 256),
    default=None,
    help="How many processes make pages at once; by default one for each processor.",
)


@click.group(epilog="Example: trialbook site build")
def command() -> None:
    """Build the static site of this ledger, or serve it on this machine."""


@command.command(epilog="Example: trialbook site build --output public")
@_output
@_jobs
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@pass_context
def build(context: Context, *, output: Path | None, jobs: int | None, as_json: bool) -> int:
    """Build the site from the ledger at HEAD. It opens from the file system, without a server.

    What did not change since the last build into the same folder is kept. Every link is checked;
    the exit status is 2 if one leads nowhere.
    """
    with counting(context) as progress:
        summary = built(context, output, BuildOptions(jobs=jobs or processors(), progress=progress))
    if as_json:
        context.json(_json(summary))
    else:
        context.result(str(summary.output / "index.html"))
        tell(context, summary)
    return ExitCode.FIX if summary.problems else ExitCode.DONE


@command.command(epilog="Example: trialbook site serve --port 8000")
@click.option(
    "--port",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Where to listen; 0 takes a free one.",
)
@_output
@_jobs
@pass_context
def serve(context: Context, *, port: int, output: Path | None, jobs: int | None) -> int:
    """Build the site, then serve it to this machine only, until Ctrl-C.

    The site is built again when the ledger, or a file that it is made from, changes, and open pages
    show it by themselves.
    """
    from trialbook.cli.site_server import Rebuild, serve_site  # noqa: PLC0415 - a build needs no server

    state = state_of(context.root())
    with counting(context) as progress:
        summary = built(context, output, BuildOptions(jobs=jobs or processors(), progress=progress))
    tell(context, summary)

    def again() -> None:
        tell(context, built(context, output, BuildOptions(jobs=jobs or processors())))

    return serve_site(context, summary.output, port, Rebuild(state=state, build=again))


def built(context: Context, output: Path | None, options: BuildOptions) -> SiteSummary:
    """Build the site of this invocation's ledger."""
    root = context.root()
    target = output.absolute() if output is not None else root / _BUILD_FOLDER
    reader = open_reader(context)
    try:
        cached = replace(options, cache=context.system.cache_folder())
        return build_site(root, reader, target, registry=Registry(), options=cached)
    finally:
        reader.close()


def tell(context: Context, summary: SiteSummary) -> None:
    """Say what a build did, and everything that is to be fixed."""
    context.say(
        f"{number_of(summary.pages, 'page')}: {number_of(summary.written, 'file')} written, "
        f"{summary.removed} removed"
    )
    for problem in summary.problems:
        context.warn(str(problem))


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def counting(context: Context) -> Iterator[Progress | None]:
    """One line that says how far a build is, on a terminal only.

    It is written by hand: no thread that refreshes, since a build may fork, and nothing to import.
    """
    if not context.on_terminal:
        yield None
        return

    def say(stage: str, done: int, total: int) -> None:
        click.echo(f"\r\x1b[K{stage}: {done:,} of {total:,}", err=True, nl=False)

    try:
        yield say
    finally:
        click.echo("\r\x1b[K", err=True, nl=False)


def _json(summary: SiteSummary) -> dict[str, Any]:
    return {
        "output": str(summary.output),
        "pages": summary.pages,
        "units_made": summary.made,
        "units_kept": summary.kept,
        "files_written": summary.written,
        "files_removed": summary.removed,
        "problems": plain(summary.problems),
    }
