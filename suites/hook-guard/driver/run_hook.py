"""Runs the hook of the working directory on its change, and writes down what the hook decided.

Reads ``.hooks/require-tests`` and ``change.diff``, writes ``verdict.json``. Status 1 if the hook is
missing, cannot be run, or does not end. Standard library only.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

HOOK = Path(".hooks/require-tests")
CHANGE = Path("change.diff")
VERDICT = Path("verdict.json")
PATIENCE_SECONDS = 20
DECISIONS = {0: "allow", 1: "refuse"}


class HookProblem(Exception):
    """The hook could not be run to its end."""


def run_hook() -> dict[str, str | int]:
    """What the hook decided: ``error`` for any status that is neither of the two it should give."""
    if not os.access(HOOK, os.X_OK):
        raise HookProblem(f"{HOOK} is missing or not executable")
    try:
        with CHANGE.open("rb") as change:
            done = subprocess.run(
                [HOOK.resolve()],
                stdin=change,
                capture_output=True,
                timeout=PATIENCE_SECONDS,
                check=False,
            )
    except subprocess.TimeoutExpired:
        raise HookProblem(f"{HOOK} did not end within {PATIENCE_SECONDS} seconds") from None
    except OSError as problem:
        raise HookProblem(f"cannot run {HOOK} on {CHANGE}: {problem}") from problem
    return {
        "decision": DECISIONS.get(done.returncode, "error"),
        "exit_code": done.returncode,
        "message": done.stderr.decode("utf-8", "replace").strip(),
    }


def main() -> int:
    """The exit status."""
    try:
        verdict = run_hook()
    except HookProblem as problem:
        print(f"run_hook.py: {problem}", file=sys.stderr)
        return 1
    VERDICT.write_text(json.dumps(verdict, indent=2) + "\n", encoding="utf-8")
    print(f"{HOOK}: {verdict['decision']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
