"""The columns of an export: their names, and what an entry has in them."""

from collections.abc import Callable

from worklog.clock import format_time
from worklog.entry import Entry

Cell = str | int | list[str]

COLUMNS: dict[str, Callable[[Entry], Cell]] = {
    "date": lambda entry: entry.day.isoformat(),
    "start": lambda entry: format_time(entry.start),
    "end": lambda entry: format_time(entry.end),
    "minutes": lambda entry: entry.minutes,
    "project": lambda entry: entry.project,
    "note": lambda entry: entry.note,
    "tags": lambda entry: list(entry.tags),
}


def cells(entry: Entry) -> dict[str, Cell]:
    """What an entry has in every column."""
    return {name: cell(entry) for name, cell in COLUMNS.items()}
