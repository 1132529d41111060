"""Real clients whose model is a script: one run in which the model's server fails at first."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from reference.clone import Clone, Unexpected

SUITE = "real-agents"
# A client on the third one makes a log so long that the whole of it would go to Git LFS, which
# a clone cannot count on.
TASKS = ("structlog-styles-copy", "tomli-loads-type")
PORT = 8793  # as in the suite's configurations
_OVERLOADED = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}

_ABOUT = (
    "the real programs of Claude Code, Codex and mini-swe-agent; their model is a script, whose "
    "server was set up to be overloaded at first: an incident, and what was lost run again"
)


class Server:
    """The scripted model, which can be given other scripts while a run waits."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._process: subprocess.Popen[bytes] | None = None

    def serve(self, scripts: Path) -> None:
        """Answer from these scripts from now on.

        Raises:
            Unexpected: it does not start.
        """
        self.end()
        ready = self._place / "port"
        ready.unlink(missing_ok=True)
        command = [sys.executable, "-m", "trialbook.testing.scripted_model", str(scripts)]
        command += ["--port", str(PORT), "--port-file", str(ready)]
        self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL)
        while not ready.exists():
            if self._process.poll() is not None:
                raise Unexpected(f"the scripted model needs port {PORT}; see above")
            time.sleep(0.05)

    def end(self) -> None:
        """End it, if it runs."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait()
            self._process = None


def clients_through_an_outage(clone: Clone, folders: Sequence[Path]) -> None:
    """Every client is told at first that the server is overloaded; what was lost is run again."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        server = Server(place)
        overloaded = place / "overloaded.json"
        overloaded.write_text(json.dumps({"default": [{"status": 529, "body": _OVERLOADED}]}))
        environment = _environment(clone, place, folders)

        def seen(line: str, _: subprocess.Popen[str]) -> None:
            if line.startswith("no more trials are started"):
                server.serve(clone.folder / "suites" / SUITE / "scripts")

        def evaluate() -> None:
            tasks = [word for name in TASKS for word in ("--task", name)]
            arguments = ("eval", SUITE, *tasks, "--seed", "outage", "--jobs", "1")
            clone.watched(*arguments, seen=seen, environment=environment)

        try:
            server.serve(overloaded)
            (run,) = clone.noted(SUITE, _ABOUT, evaluate)
            _run_again(clone, run, environment)
        finally:
            server.end()


def _run_again(clone: Clone, run: str, environment: dict[str, str]) -> None:
    """Close the incident that the run opened by itself, and do what was decided."""
    folder = clone.folder / "runs" / SUITE / run
    (incident,) = {path.name.partition(".")[0] for path in (folder / "incidents").iterdir()}
    records = [json.loads(path.read_text()) for path in folder.rglob("trial.json")]
    until = max(one["finished"] for one in records if one["outcome"] == "provider_outage")
    reason = "the scripted server answered 529 on purpose, so that an outage is on record"
    decided = ("--until", until, "--decision", "rerun", "--reason", reason)
    clone.trialbook("incident", "close", incident, *decided)
    clone.trialbook("rerun", run, "--incident", incident, environment=environment)


def _environment(clone: Clone, place: Path, folders: Sequence[Path]) -> dict[str, str]:
    """The clients on the PATH, and keys that no provider takes, as the suite's own start has it."""
    start = runpy.run_path(str(clone.folder / "suites" / SUITE / "start.py"))
    linked: str = start["linked"](place, list(folders))
    keys = dict.fromkeys(start["KEYS"], "no-provider-takes-this-key")
    return {"PATH": linked + os.pathsep + os.environ.get("PATH", ""), **keys}
