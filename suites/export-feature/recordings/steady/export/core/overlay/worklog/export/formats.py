"""The formats of an export. Each writes an entry as soon as it gets it."""

import csv
import json
from collections.abc import Iterable
from typing import TextIO

from worklog.entry import Entry
from worklog.export.rows import COLUMNS, row_of


def write_csv(entries: Iterable[Entry], out: TextIO) -> None:
    """A heading, and a row an entry."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for entry in entries:
        row = row_of(entry) | {"tags": " ".join(entry.tags)}
        writer.writerow(row.values())


def write_jsonl(entries: Iterable[Entry], out: TextIO) -> None:
    """An object an entry, each on a line."""
    for entry in entries:
        out.write(json.dumps(row_of(entry), ensure_ascii=False) + "\n")


FORMATS = {"csv": write_csv, "jsonl": write_jsonl}
