"""Exports by project, with totals."""

import csv
import json
from collections.abc import Iterable, Sequence
from typing import Any, TextIO

from worklog.entry import Entry
from worklog.export.rows import row_of


def by_project(entries: Iterable[Entry]) -> dict[str, list[Entry]]:
    """The entries of every project, by the names of the projects."""
    groups: dict[str, list[Entry]] = {}
    for entry in entries:
        groups.setdefault(entry.project, []).append(entry)
    return dict(sorted(groups.items()))


def write_grouped_csv(
    groups: dict[str, list[Entry]], columns: Sequence[str], out: TextIO
) -> None:
    """A heading, the rows of every project, and its total."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for project, entries in groups.items():
        for entry in entries:
            row = row_of(entry) | {"tags": " ".join(entry.tags)}
            writer.writerow([row[name] for name in columns])
        total = _total(project, entries)
        writer.writerow([total.get(name, "") for name in columns])


def write_grouped_jsonl(
    groups: dict[str, list[Entry]], columns: Sequence[str], out: TextIO
) -> None:
    """An object for every entry of a project, and one for its total."""
    for project, entries in groups.items():
        for row in (*map(row_of, entries), _total(project, entries)):
            shown = {name: row.get(name) for name in columns}
            out.write(json.dumps(shown, ensure_ascii=False) + "\n")


def _total(project: str, entries: list[Entry]) -> dict[str, Any]:
    minutes = sum(entry.minutes for entry in entries)
    return {"minutes": minutes, "project": project, "note": "total"}


GROUPED = {"csv": write_grouped_csv, "jsonl": write_grouped_jsonl}
