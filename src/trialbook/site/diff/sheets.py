"""A change over as many pages as it needs: every line has a page, and every page can be borne."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trialbook.formats.diff import FileDiff

LINES, FILES = 1_500, 120
"""How much of a change is on the page of its trial."""

SHEET_LINES, SHEET_FILES = 3_000, 300
"""How much of it each further page has."""

_LEAST = 60
"""A file does not begin on a page that has room for fewer lines."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Lines ``start`` to ``stop`` of the file with that number (from 1) in the change."""

    number: int
    file: FileDiff
    start: int
    stop: int

    @property
    def first(self) -> bool:
        """Whether the file begins here."""
        return self.start == 0

    @property
    def left(self) -> int:
        """How many of its lines come later."""
        return len(self.file.lines) - self.stop


def sheets(files: Sequence[FileDiff], first: tuple[int, int] = (LINES, FILES)) -> list[list[Part]]:
    """The parts of each page; the first page may have none, the others have some.

    ``first`` is the room on the first page, in lines and files.
    """
    found: list[list[Part]] = [[]]
    lines, room = first
    for number, file in enumerate(files, start=1):
        start = 0
        while True:
            needed = len(file.lines) - start
            if not room or (lines < needed and lines < _LEAST):
                found.append([])
                lines, room = SHEET_LINES, SHEET_FILES
            stop = start + min(needed, lines)
            found[-1].append(Part(number=number, file=file, start=start, stop=stop))
            lines, room = lines - (stop - start), room - 1
            if stop == len(file.lines):
                break
            start = stop
    return found
