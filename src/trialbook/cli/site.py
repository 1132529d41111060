"""``trialbook site build`` and ``trialbook site serve``: the static site of a ledger."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import click

from trialbook.cli.context import Context, pass_context
from trialbook.cli.reading import open_reader
from trialbook.errors import EnvironmentProblem, ExitCode
from trialbook.registry import Registry
from trialbook.reporting.wording import number_of
from trialbook.site.build import SiteSummary, build_site

_BUILD_FOLDER = "site/_build"
_HOST = "127.0.0.1"
_output = click.option(
    "--output",
    type=click.Path(file_okay=False, path_type=Path),
    default=None,
    help=f"Where the site goes; by default {_BUILD_FOLDER} in the ledger.",
)


@click.group(epilog="Example: trialbook site build")
def command() -> None:
    """Build the static site of this ledger, or serve it on this machine."""


@command.command(epilog="Example: trialbook site build --output public")
@_output
@pass_context
def build(context: Context, output: Path | None) -> int:
    """Build the site from the ledger at HEAD. It opens from the file system, without a server."""
    summary = _build(context, output)
    context.result(str(summary.output / "index.html"))
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
@pass_context
def serve(context: Context, port: int, output: Path | None) -> int:
    """Build the site, then serve it to this machine only, until Ctrl-C."""
    summary = _build(context, output)
    handler = partial(QuietHandler, directory=str(summary.output))
    try:
        server = ThreadingHTTPServer((_HOST, port), handler)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot listen on {_HOST}:{port}: {error.strerror}",
            hint="choose another port with --port, or 0 for any free one",
        ) from error
    with server:
        context.result(f"http://{_HOST}:{server.server_address[1]}/")
        context.say("Ctrl-C ends it; build again to see new results")
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            context.say("stopped")
    return ExitCode.DONE


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves the built files and says nothing of it. Folders without a page are not listed."""

    # Some hosts map these to other types by configuration of the system.
    extensions_map = {  # noqa: RUF012 - the library's own way
        "": "application/octet-stream",
        ".css": "text/css; charset=utf-8",
        ".csv": "text/csv; charset=utf-8",
        ".html": "text/html; charset=utf-8",
        ".svg": "image/svg+xml",
    }

    def end_headers(self) -> None:
        """Let browsers take types as they are named, and ask again for what may have changed."""
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cache-Control", "no-cache")
        super().end_headers()

    def list_directory(self, path: object) -> None:
        """Answer that there is nothing."""
        del path
        self.send_error(404, "Not Found")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the library's name
        """Nothing: requests are no results."""


def _build(context: Context, output: Path | None) -> SiteSummary:
    root = context.root()
    target = output.absolute() if output is not None else root / _BUILD_FOLDER
    reader = open_reader(context)
    summary = build_site(root, reader, target, registry=Registry())
    context.say(
        f"{number_of(summary.pages, 'page')}: {number_of(summary.written, 'file')} written, "
        f"{summary.removed} removed"
    )
    for problem in summary.problems:
        context.say(f"warning: {problem}")
    return summary
