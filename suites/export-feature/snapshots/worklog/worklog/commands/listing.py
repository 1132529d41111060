"""Print entries, one a line."""

import argparse

from worklog.clock import format_duration, format_time
from worklog.commands import options
from worklog.settings import Settings

NAME = "list"


def arguments(parser: argparse.ArgumentParser) -> None:
    """What it can be told."""
    options.add(parser)


def run(given: argparse.Namespace, settings: Settings) -> int:
    """Print them as they come."""
    for entry in options.entries(given, settings):
        times = f"{format_time(entry.start)}-{format_time(entry.end)}"
        tags = "".join(f" #{tag}" for tag in entry.tags)
        duration = format_duration(entry.minutes).rjust(5)
        print(f"{entry.day} {times} {duration} {entry.project} {entry.note}{tags}".rstrip())
    return 0
