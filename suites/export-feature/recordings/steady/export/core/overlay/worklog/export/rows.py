"""What an entry is in an export."""

from typing import Any

from worklog.clock import format_time
from worklog.entry import Entry

COLUMNS = ("date", "start", "end", "minutes", "project", "note", "tags")


def row_of(entry: Entry) -> dict[str, Any]:
    """The fields of an entry by the names of their columns."""
    return {
        "date": entry.day.isoformat(),
        "start": format_time(entry.start),
        "end": format_time(entry.end),
        "minutes": entry.minutes,
        "project": entry.project,
        "note": entry.note,
        "tags": list(entry.tags),
    }
