"""``python -m reference FOLDER``: clone this repository there, and make the reference ledger in it.

Takes about ten minutes on two cores. It needs what the suites need: the package index once, the
clients that ``make clients`` installs, and a sandbox that isolates.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from tests.agents.install import folders

from reference import client_runs, narrow_runs, plain_runs, series_runs
from reference.clone import Clone, Unexpected
from reference.contents import write_contents

Step = Callable[[Clone, list[Path]], None]
"""Adds runs to the ledger of a clone; is given the folders of the clients' programs."""

STEPS: dict[str, Step] = {
    "instructions": lambda clone, _: plain_runs.instructions_of_another_day(clone),
    "hooks": lambda clone, _: plain_runs.hooks(clone),
    "ways-out": lambda clone, _: plain_runs.ways_out(clone),
    "released-bugs": lambda clone, _: plain_runs.released_bugs(clone),
    "clients": client_runs.clients_through_an_outage,
    "series": lambda clone, _: series_runs.series(clone),
    "first-protocol": lambda clone, _: narrow_runs.first_protocol(clone),
    "second-protocol": lambda clone, _: narrow_runs.second_protocol(clone),
    "instructions-again": lambda clone, _: plain_runs.instructions_once_more(clone),
}


def main(arguments: list[str]) -> int:
    """Make it, verify it, and say how it comes into this repository."""
    parser = argparse.ArgumentParser(prog="python -m reference", description=__doc__)
    parser.add_argument("folder", type=Path, help="where the clone goes; must not be there yet")
    parser.add_argument("--clients", type=Path, action="append", metavar="FOLDER")
    parser.add_argument("--step", choices=STEPS, action="append", help="only this; repeatable")
    given = parser.parse_args(arguments)
    try:
        clone = Clone.make(given.folder)
        _make(clone, given.step or list(STEPS), given.clients or folders())
    except Unexpected as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.write(f"to take it over: git pull --ff-only {clone.folder} HEAD\n")
    return 0


def _make(clone: Clone, steps: list[str], clients: list[Path]) -> None:
    if any((clone.folder / "runs").glob("*/*/plan.json")):
        raise Unexpected("runs/ has runs already: begin with a commit that has none")
    for name in steps:
        STEPS[name](clone, clients)
    write_contents(clone)
    clone.trialbook("verify")
    if clone.git("status", "--porcelain"):
        raise Unexpected("something is left that is not committed")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
