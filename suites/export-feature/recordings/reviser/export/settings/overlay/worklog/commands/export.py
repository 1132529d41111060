"""Write entries in a form that other programs read."""

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from worklog.commands import options
from worklog.errors import WorklogError
from worklog.export.columns import cells, chosen
from worklog.export.writing import FORMATS
from worklog.settings import Settings

NAME = "export"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it can be told."""
    options.add(parser)
    parser.add_argument("--format", choices=list(FORMATS), help="csv or jsonl")
    parser.add_argument("--columns", metavar="NAMES", help="such as date,project,minutes")
    parser.add_argument("--output", type=Path, metavar="FILE", help="instead of standard output")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Hand every entry on as it comes."""
    columns = settings.export.columns
    if given.columns is not None:
        columns = chosen(given.columns.split(",") if given.columns else (), "--columns")
    rows = (cells(entry, columns) for entry in options.entries(given, settings))
    with _opened(given.output) as out:
        FORMATS[given.format or settings.export.format](columns, rows, out)
    return 0


@contextmanager
def _opened(path: Path | None) -> Iterator[TextIO]:
    if path is None:
        sys.stdout.reconfigure(encoding="utf-8", newline="")
        yield sys.stdout
        return
    try:
        out = path.open("w", encoding="utf-8", newline="")
    except OSError as problem:
        raise WorklogError(f"cannot be written: {problem.strerror}", str(path)) from None
    with out:
        yield out
