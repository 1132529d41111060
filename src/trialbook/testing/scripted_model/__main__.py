"""Serves scripts from the command line, until it is ended."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from trialbook.testing.scripted_model import ScriptedModel, ScriptError, read_scripts


def main() -> int:
    """Serve the scripts that are named; 2 if one has a mistake, or the port is in use."""
    parser = argparse.ArgumentParser(
        prog="python -m trialbook.testing.scripted_model",
        description="A model that answers from scripts, on the loopback address.",
    )
    parser.add_argument("scripts", nargs="+", type=Path, help="files of scripts, or folders")
    parser.add_argument("--port", type=int, default=0, help="0 is one that is free")
    parser.add_argument("--port-file", type=Path, help="gets the port, once it is open")
    parser.add_argument("--log", type=Path, help="gets what it is asked, one JSON line a request")
    given = parser.parse_args()
    try:
        server = ScriptedModel(given.port, read_scripts(given.scripts), given.log)
    except (ScriptError, OSError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 2
    if given.port_file is not None:
        partial = given.port_file.with_suffix(".partial")
        partial.write_text(str(server.server_port), encoding="utf-8")
        partial.rename(given.port_file)
    sys.stderr.write(f"a scripted model answers at http://127.0.0.1:{server.server_port}\n")
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
