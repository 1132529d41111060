"""Print totals of projects, days or tags."""

import argparse

from worklog import summary
from worklog.clock import format_duration
from worklog.commands import options
from worklog.settings import GROUPINGS, Settings
from worklog.table import table

NAME = "report"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it can be told."""
    options.add(parser)
    parser.add_argument("--by", choices=GROUPINGS, help="what is added up")
    parser.add_argument("--depth", type=int, metavar="N", help="parts of a project to tell apart")


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print the totals, and the total of them."""
    depth = given.depth or settings.report.depth
    keys = {
        "project": summary.by_project(depth),
        "day": summary.by_day,
        "tag": summary.by_tag,
    }[given.by or settings.report.by]
    chosen = list(options.entries(given, settings))
    rows = [(name, format_duration(n)) for name, n in summary.totals(chosen, keys).items()]
    rows.append(("total", format_duration(sum(entry.minutes for entry in chosen))))
    print(table(rows, right=frozenset({1})), end="")
    return 0
