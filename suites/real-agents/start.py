"""Runs this suite offline: starts the scripted model, lets the clients ask it, and ends it again.

usage: start.py [--clients FOLDER]... [--log FILE] [ARGUMENT OF trialbook eval]...

``mini``, ``claude`` and ``codex`` are looked for in the folders that are given, and then on the
PATH. Whatever keys the environment holds, the clients get one that no provider takes.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SUITE = Path(__file__).resolve().parent
PORT = 8793  # as in configurations/
KEYS = ("OPENAI_API_KEY", "ANTHROPIC_API_KEY")
PROGRAMS = ("mini", "claude", "codex")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--clients", type=Path, action="append", default=[], metavar="FOLDER")
    parser.add_argument("--log", type=Path, help="gets every request of the clients, one a line")
    given, rest = parser.parse_known_args()
    with tempfile.TemporaryDirectory() as folder:
        path = linked(Path(folder), given.clients) + os.pathsep + os.environ.get("PATH", "")
        keys = {name: "no-provider-takes-this-key" for name in KEYS}
        model = started(Path(folder) / "port", given.log)
        if model is None:
            return 2
        try:
            done = subprocess.run(
                [sys.executable, "-m", "trialbook", "eval", SUITE.name, *rest],
                cwd=SUITE.parents[1],
                env={**os.environ, **keys, "PATH": path},
                check=False,
            )
        finally:
            model.terminate()
            model.wait()
    return done.returncode


def linked(folder: Path, clients: list[Path]) -> str:
    """A folder of links to the clients only: beside them there may be an interpreter, say."""
    for name in PROGRAMS:
        found = shutil.which(name, path=os.pathsep.join(map(str, clients))) if clients else None
        if found is not None:
            (folder / name).symlink_to(Path(found).resolve())
    return str(folder)


def started(ready: Path, log: Path | None) -> subprocess.Popen[bytes] | None:
    """The scripted model, once it listens; None if it does not come to that."""
    command = [sys.executable, "-m", "trialbook.testing.scripted_model", str(SUITE / "scripts")]
    command += ["--port", str(PORT), "--port-file", str(ready)]
    command += ["--log", str(log)] if log is not None else []
    model = subprocess.Popen(command, stdin=subprocess.DEVNULL)
    while not ready.exists():
        if model.poll() is not None:
            print(f"the scripted model needs port {PORT}; see above", file=sys.stderr)
            return None
        time.sleep(0.05)
    return model


if __name__ == "__main__":
    sys.exit(main())
