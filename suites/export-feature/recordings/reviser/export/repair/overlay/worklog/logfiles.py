"""The files of a log, and the entries in them."""

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from worklog import grammar
from worklog.entry import Entry
from worklog.errors import LogMistake, WorklogError
from worklog.period import Period

_MONTH = re.compile(r"(\d{4})-(\d\d)\.log")


def paths(folder: Path) -> list[Path]:
    """The files of a log, in the order in which they are read."""
    if not folder.is_dir():
        raise WorklogError("there is no such folder", str(folder))
    return sorted(folder.glob("*.log"))


def needed(folder: Path, period: Period | None) -> list[Path]:
    """The files of a log that can hold days of the period, in the order in which they are read.

    A file that is not named after a month can hold any day.
    """
    if period is None:
        return paths(folder)
    wanted = {None, *months(period)}
    return [path for path in paths(folder) if month_of(path) in wanted]


def months(period: Period) -> Iterator[tuple[int, int]]:
    """Year and number of every month in the period."""
    first = period.first.replace(day=1)
    while first <= period.last:
        yield first.year, first.month
        first = (first + timedelta(days=31)).replace(day=1)


def month_of(path: Path) -> tuple[int, int] | None:
    """The month that a file is named after, or None."""
    match = _MONTH.fullmatch(path.name)
    return (int(match[1]), int(match[2])) if match else None


def read(path: Path) -> Iterator[Entry]:
    """The entries of one file, each as soon as it is read."""
    month = month_of(path)
    with path.open(encoding="utf-8") as lines:
        for entry in grammar.parse(lines, path.name):
            if month and (entry.day.year, entry.day.month) != month:
                raise LogMistake(f"{entry.day} is not in the month of this file", path.name)
            yield entry
