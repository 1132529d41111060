"""Options that choose entries, which are the same for every command."""

import argparse
from collections.abc import Iterator
from pathlib import Path

from worklog.entry import Entry
from worklog.period import parse_period
from worklog.selection import Selection, selected
from worklog.settings import Settings


def add(parser: argparse.ArgumentParser) -> None:
    """Give a command the options."""
    parser.add_argument("--log", type=Path, metavar="FOLDER", help="the folder of the log")
    parser.add_argument("--period", metavar="P", help="2026, 2026-Q1, 2026-03, 2026-W10, a day, A..B")
    parser.add_argument("--project", action="append", default=[], help="a project with its parts")
    parser.add_argument("--tag", action="append", default=[], help="entries that have the tag")


def entries(given: argparse.Namespace, settings: Settings) -> Iterator[Entry]:
    """The entries that the options choose, each as soon as it is read."""
    period = parse_period(given.period) if given.period else None
    wanted = Selection(period, tuple(given.project), tuple(given.tag))
    return selected(given.log or settings.log, wanted)
