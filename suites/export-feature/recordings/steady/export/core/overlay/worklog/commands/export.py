"""Write entries for other programs."""

import argparse
import sys

from worklog.commands import options
from worklog.errors import WorklogError
from worklog.export.formats import FORMATS
from worklog.settings import Settings

NAME = "export"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it can be told."""
    options.add(parser)
    parser.add_argument("--format", choices=tuple(FORMATS), default="csv", help="csv or jsonl")
    parser.add_argument("--output", metavar="FILE", help="a file instead of standard output")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Write them as they come."""
    write = FORMATS[given.format]
    chosen = options.entries(given, settings)
    if given.output is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="")
        write(chosen, sys.stdout)
        return 0
    try:
        with open(given.output, "w", encoding="utf-8", newline="") as out:
            write(chosen, out)
    except OSError as problem:
        raise WorklogError(problem.strerror or "cannot be written", given.output) from None
    return 0
