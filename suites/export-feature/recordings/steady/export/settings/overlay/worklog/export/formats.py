"""The formats of an export. Each writes an entry as soon as it gets it."""

import csv
import json
from collections.abc import Iterable, Sequence
from typing import TextIO

from worklog.entry import Entry
from worklog.export.rows import row_of


def write_csv(entries: Iterable[Entry], columns: Sequence[str], out: TextIO) -> None:
    """A heading, and a row an entry."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for entry in entries:
        row = row_of(entry) | {"tags": " ".join(entry.tags)}
        writer.writerow([row[name] for name in columns])


def write_jsonl(entries: Iterable[Entry], columns: Sequence[str], out: TextIO) -> None:
    """An object an entry, each on a line."""
    for entry in entries:
        row = row_of(entry)
        out.write(json.dumps({name: row[name] for name in columns}, ensure_ascii=False) + "\n")


FORMATS = {"csv": write_csv, "jsonl": write_jsonl}
