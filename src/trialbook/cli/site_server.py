"""Serves a built site to this machine."""

from __future__ import annotations

from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from trialbook.cli.context import Context
from trialbook.errors import EnvironmentProblem, ExitCode

_HOST = "127.0.0.1"


def serve_site(context: Context, folder: Path, port: int) -> int:
    """Serve a folder to this machine only, until Ctrl-C.

    Raises:
        EnvironmentProblem: the port is taken.
    """
    handler = partial(QuietHandler, directory=str(folder))
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
        ".js": "text/javascript; charset=utf-8",
        ".svg": "image/svg+xml",
        ".xml": "application/xml; charset=utf-8",
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
