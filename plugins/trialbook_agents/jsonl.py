"""Reads what clients print, one JSON object a line: cut off, mixed with prose, or not even text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from trialbook_agents.shapes import Json

MOST_BYTES = 64_000_000
"""How much of a file is read."""

_MOST_LINE = 16_000_000
_CHUNK = 1 << 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """The objects of a file, in order.

    ``broken`` counts the lines that are no object; ``cut`` says that the file does not end where a
    line does, or was not read to its end.
    """

    items: tuple[Json, ...] = ()
    broken: int = 0
    cut: bool = False


def read_records(path: Path, most: int = MOST_BYTES) -> Records:
    """The objects of a file; none if it is not there, or is no regular file."""
    try:
        if path.is_symlink() or not path.is_file():
            return Records()
        with path.open("rb") as file:
            data = file.read(most + 1)
    except OSError:
        return Records()
    items, broken = [], 0
    *lines, last = data[:most].split(b"\n")
    for line in [*lines, last]:
        item = parse_line(line)
        if item is not None:
            items.append(item)
        elif line.strip():
            broken += 1
    # A last line without its end may still be whole: some clients leave it out.
    whole = not last.strip() or parse_line(last) is not None
    return Records(items=tuple(items), broken=broken, cut=len(data) > most or not whole)


def read_object(path: Path, most: int = MOST_BYTES) -> Json | None:
    """The one object that a file holds; None if there is none, or it is only half written."""
    try:
        if path.is_symlink() or not path.is_file():
            return None
        with path.open("rb") as file:
            value = json.loads(file.read(most).decode("utf-8", "replace"))
    except (OSError, ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def parse_line(line: bytes) -> Json | None:
    """The object that a line is, or None. Bytes that are no text are replaced."""
    line = line.strip()
    if not line.startswith(b"{") or len(line) > _MOST_LINE:
        return None
    try:
        value = json.loads(line.decode("utf-8", "replace"))
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


class Lines:
    """Reads a file that grows, from where it was left: whole lines only."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = 0
        self._rest = b""

    def added(self) -> list[bytes]:
        """The lines that were added since the last look."""
        try:
            if self._path.is_symlink() or not self._path.is_file():
                return []
            with self._path.open("rb") as file:
                file.seek(self._offset)
                data = file.read(_CHUNK)
        except OSError:
            return []
        self._offset += len(data)
        *lines, rest = (self._rest + data).split(b"\n")
        self._rest = rest if len(rest) <= _MOST_LINE else b""
        return lines


class Tail:
    """Reads the objects of a file that grows."""

    def __init__(self, path: Path) -> None:
        self._lines = Lines(path)

    def more(self) -> list[Json]:
        """The objects that were added since the last look."""
        return [item for line in self._lines.added() if (item := parse_line(line)) is not None]
