"""Rows in the formats of an export, each written as soon as it comes."""

import csv
import json
from collections.abc import Iterable, Sequence
from typing import TextIO

from worklog.export.columns import Cell

Rows = Iterable[dict[str, Cell]]


def csv_rows(columns: Sequence[str], rows: Rows, out: TextIO) -> None:
    """A heading, and a line a row; lists are joined by spaces."""
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    for row in rows:
        writer.writerow(_text(cell) for cell in row.values())


def jsonl_rows(columns: Sequence[str], rows: Rows, out: TextIO) -> None:
    """An object a row, each on a line of its own; the rows say themselves what the columns are."""
    del columns
    for row in rows:
        print(json.dumps(row, ensure_ascii=False), file=out)


def _text(cell: Cell) -> str | int:
    return " ".join(cell) if isinstance(cell, list) else cell


FORMATS = {"csv": csv_rows, "jsonl": jsonl_rows}
