"""The rows of an export: every project with its entries and its total."""

from collections.abc import Iterable, Sequence

from worklog.entry import Entry
from worklog.export.columns import Cell, cells

TOTAL = "total"

Row = dict[str, Cell | None]


def rows(entries: Iterable[Entry], columns: Sequence[str]) -> list[Row]:
    """All rows. Every entry is read before the first row is there: a mistake leaves none."""
    projects: dict[str, list[Entry]] = {}
    for entry in entries:
        projects.setdefault(entry.project, []).append(entry)
    made: list[Row] = []
    for project, own in sorted(projects.items()):
        made += [cells(entry, columns) for entry in own]
        made.append(_total(project, own, columns))
    return made


def _total(project: str, entries: list[Entry], columns: Sequence[str]) -> Row:
    filled: Row = {
        "project": project,
        "minutes": sum(entry.minutes for entry in entries),
        "note": TOTAL,
    }
    return {name: filled.get(name) for name in columns}
