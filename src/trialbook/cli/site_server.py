"""Serves a built site to this machine, and lets open pages load again when it is built anew.

A served page gets one script more than the built one has. The script asks for another one, which
the server sends when there is something new: scripts of the same origin are what the pages' policy
allows, so that the policy stays as it is.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

from trialbook.cli.context import Context
from trialbook.errors import EnvironmentProblem, ExitCode, TrialbookError
from trialbook.site.watching import state_of

_HOST = "127.0.0.1"
_LIVE, _WAIT = "/_trialbook/live.js", "/_trialbook/wait.js"
_PATIENCE = 20.0
_PAUSE = 0.5
_NAME = re.compile(r"[0-9a-f-]{1,40}")
_OURS = re.compile(r"(localhost|127\.0\.0\.1)(:\d+)?", re.IGNORECASE | re.ASCII)
"""The hosts that this machine is asked for as; a foreign name may be made to lead here."""
_SCRIPT = """"use strict";
(() => {
  const mine = new URL(document.currentScript.src).searchParams.get("version");
  let asked = 0;
  const ask = () => {
    const script = document.createElement("script");
    script.src = "/_trialbook/wait.js?version=" + mine + "&asked=" + asked++;
    script.onload = () => {
      script.remove();
      if (window.trialbookVersion === mine) ask();
      else location.reload();
    };
    script.onerror = () => { script.remove(); setTimeout(ask, 2000); };
    document.head.append(script);
  };
  ask();
})();
"""


class Versions:
    """Which build of the site is served, for those who wait for the next one."""

    def __init__(self, start: str) -> None:
        self._start = start
        self._number = 0
        self._changed = threading.Condition()

    @property
    def current(self) -> str:
        """The name of the build that is served now."""
        return f"{self._start}-{self._number}"

    def advance(self) -> None:
        """There is a new one."""
        with self._changed:
            self._number += 1
            self._changed.notify_all()

    def after(self, version: str, patience: float) -> str:
        """The name of the build that is served when it is another one, or when patience ends."""
        with self._changed:
            self._changed.wait_for(lambda: self.current != version, timeout=patience)
            return self.current


@dataclass(frozen=True, slots=True, kw_only=True)
class Rebuild:
    """How to build again, and the state of the ledger before it was built the first time."""

    state: str
    build: Callable[[], None]


def serve_site(context: Context, folder: Path, port: int, rebuild: Rebuild) -> int:
    """Serve a folder to this machine only, until Ctrl-C; build again when something changed.

    Raises:
        EnvironmentProblem: the port is taken.
    """
    versions = Versions(context.system.token(4))
    server = site_server(folder, port, versions)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    state = rebuild.state
    with server:
        thread.start()
        context.result(f"http://{_HOST}:{server.server_address[1]}/")
        context.say("Ctrl-C ends it; what changes is built again")
        try:
            while True:
                context.system.sleep(_PAUSE)
                state = _looked(context, state, rebuild.build, versions)
        except KeyboardInterrupt:
            context.say("stopped")
        finally:
            server.shutdown()
    return ExitCode.DONE


def site_server(folder: Path, port: int, versions: Versions) -> ThreadingHTTPServer:
    """A server of a folder, bound to its port.

    Raises:
        EnvironmentProblem: the port is taken.
    """

    class Handler(QuietHandler):
        """Serves that folder."""

        def __init__(self, *args: object) -> None:
            self.versions = versions
            super().__init__(*args, directory=str(folder))  # type: ignore[arg-type]

    try:
        return _Server((_HOST, port), Handler)
    except OSError as error:
        raise EnvironmentProblem(
            f"cannot listen on {_HOST}:{port}: {error.strerror}",
            hint="choose another port with --port, or 0 for any free one",
        ) from error


def _looked(context: Context, state: str, rebuild: Callable[[], None], versions: Versions) -> str:
    """Look once whether something changed, and build if so; a fault is told and ends nothing."""
    try:
        now = state_of(context.root())
    except TrialbookError:
        return state  # It is being written; the next look will tell.
    if now != state:
        try:
            rebuild()
        except TrialbookError as error:
            context.warn(f"not built again: {error}" + (f"; {error.hint}" if error.hint else ""))
        except Exception as error:  # noqa: BLE001 - whatever it is, the server goes on
            context.warn(f"not built again, by a fault of the program: {error!r}")
        else:
            versions.advance()
    return now


class _Server(ThreadingHTTPServer):
    daemon_threads = True


class QuietHandler(SimpleHTTPRequestHandler):
    """Serves the built files and says nothing of it. Folders without a page are not listed."""

    versions: Versions

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

    def parse_request(self) -> bool:
        """Answer those only who ask for this machine by its own name.

        Else a page from elsewhere could read the site, by letting a name of its own lead here.
        """
        if not super().parse_request():
            return False
        if _OURS.fullmatch(self.headers.get("Host", "localhost").strip()):
            return True
        self.send_error(421, "Misdirected Request")
        return False

    def do_GET(self) -> None:
        """A file as it is; a page with the script that loads it again."""
        parts = urlsplit(self.path)
        if parts.path == _LIVE:
            self._answer(_SCRIPT.encode(), ".js")
        elif parts.path == _WAIT:
            asked = parse_qs(parts.query).get("version", [""])[0]
            now = self.versions.after(asked if _NAME.fullmatch(asked) else "", _PATIENCE)
            self._answer(f'window.trialbookVersion = "{now}";\n'.encode(), ".js")
        elif (page := self._page()) is not None:
            script = f'<script src="{_LIVE}?version={self.versions.current}"></script>\n</head>'
            self._answer(page.replace(b"</head>", script.encode(), 1), ".html")
        else:
            super().do_GET()

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

    def _page(self) -> bytes | None:
        """The bytes of the page that is asked for; None for anything else."""
        path = Path(self.translate_path(self.path))
        if path.is_dir() and urlsplit(self.path).path.endswith("/"):
            path /= "index.html"
        if path.suffix != ".html":
            return None
        try:
            return path.read_bytes()
        except OSError:
            return None

    def _answer(self, data: bytes, kind: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", self.extensions_map[kind])
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)
