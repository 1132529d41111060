"""The columns of an export: their names, and what an entry has in them."""

from collections.abc import Callable, Sequence

from worklog.clock import format_time
from worklog.entry import Entry
from worklog.errors import WorklogError

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


def cells(entry: Entry, columns: Sequence[str]) -> dict[str, Cell]:
    """What an entry has in the columns, in their order."""
    return {name: COLUMNS[name](entry) for name in columns}


def chosen(names: Sequence[str], where: str) -> tuple[str, ...]:
    """Columns that somebody asks for, if they can be had; `where` is where they are asked for."""
    if not names:
        raise WorklogError("names no column", where)
    for number, name in enumerate(names):
        if name not in COLUMNS:
            raise WorklogError(f"{name!r} is none of {', '.join(COLUMNS)}", where)
        if name in names[:number]:
            raise WorklogError(f"{name!r} stands there twice", where)
    return tuple(names)
