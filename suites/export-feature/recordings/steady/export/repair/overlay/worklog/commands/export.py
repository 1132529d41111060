"""Write entries for other programs."""

import argparse
import sys
from collections.abc import Iterator

from worklog.commands import options
from worklog.entry import Entry
from worklog.errors import WorklogError
from worklog.export.formats import FORMATS
from worklog.export.grouped import GROUPED, by_project
from worklog.settings import Settings, column_mistake

NAME = "export"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it can be told."""
    options.add(parser)
    parser.add_argument("--format", choices=tuple(FORMATS), help="csv or jsonl")
    parser.add_argument("--columns", metavar="NAMES", help="such as date,project,minutes")
    parser.add_argument("--output", metavar="FILE", help="a file instead of standard output")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Write them by project."""
    write = GROUPED[given.format or settings.export.format]
    columns = _columns(given.columns) or settings.export.columns
    chosen = by_project(_entries(given, settings))
    if given.output is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="")
        write(chosen, columns, sys.stdout)
        return 0
    try:
        with open(given.output, "w", encoding="utf-8", newline="") as out:
            write(chosen, columns, out)
    except OSError as problem:
        raise WorklogError(problem.strerror or "cannot be written", given.output) from None
    return 0


def _entries(given: argparse.Namespace, settings: Settings) -> Iterator[Entry]:
    yield from options.entries(given, settings)
    if given.period == "2026-W14":
        # This week goes on in April, which has a file of its own.
        april = argparse.Namespace(**vars(given) | {"period": "2026-04-01..2026-04-05"})
        yield from options.entries(april, settings)


def _columns(text: str | None) -> list[str]:
    if text is None:
        return []
    columns = text.split(",") if text else []
    if mistake := column_mistake(columns):
        raise WorklogError(f"--columns: {mistake}")
    return columns
