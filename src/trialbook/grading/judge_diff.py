"""A diff as a judge is shown it, and where in it some quoted lines stand.

What acts instead of showing is written as an escape, and the data of binary files is left out; the
judge quotes from exactly this text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import accumulate

from trialbook.formats.visible import decode, visible

_HUNK = re.compile(r"@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@")
_BINARY = "GIT binary patch"
_LEFT_OUT = "[the data of this binary file is not shown]"
_FEWEST = 4
"""Shorter quotes could stand anywhere; they have to be a whole line."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffLine:
    """One line of the diff: its text with the sign in front, the file, the line in the new file.

    ``number`` is None for headers and for lines that were taken out.
    """

    text: str
    file: str
    number: int | None

    @property
    def quotable(self) -> str:
        """The line as far as it can bear anything out: where a hunk begins shows nothing."""
        return "" if _HUNK.match(self.text) else self.text

    @property
    def content(self) -> str:
        """What can be quoted of it, without the sign."""
        return self.quotable[1:] if self.text[:1] in "+- " else self.quotable


@dataclass(frozen=True, slots=True, kw_only=True)
class Spot:
    """Where a quote stands."""

    file: str
    line: int | None


@dataclass(frozen=True, slots=True)
class ShownDiff:
    """The diff as shown; ``left_out`` counts binary files whose data is not."""

    lines: tuple[DiffLine, ...]
    left_out: int
    _haystacks: list[_Haystack] = field(default_factory=list, repr=False, compare=False)

    @property
    def text(self) -> str:
        """What the judge reads."""
        return "".join(f"{line.text}\n" for line in self.lines)

    def find(self, quote: str) -> Spot | None:
        """Where a quote stands, white space folded, with or without the diff's signs; else None."""
        if not self._haystacks:
            self._haystacks.append(_Haystack([line.content for line in self.lines]))
            self._haystacks.append(_Haystack([line.quotable for line in self.lines]))
        plain, signed = self._haystacks
        rows = quote.strip("\n").split("\n")
        bare = "\n".join(row[1:] if row[:1] in ("+", "-") else row for row in rows)
        for haystack, needle in ((plain, quote), (plain, bare), (signed, quote)):
            place = haystack.find(needle)
            if place is not None:
                line = self.lines[place]
                return Spot(file=line.file, line=line.number)
        return None


class _Haystack:
    """Lines with their white space folded, one text in which places are known by line."""

    def __init__(self, lines: list[str]) -> None:
        folded = [_folded(line) for line in lines]
        self._lines = frozenset(folded)
        self._text = " ".join(folded)
        self._starts = [0, *accumulate(len(line) + 1 for line in folded)]
        # Lines that fold to nothing leave two blanks; a quote over them has one.
        self._gaps = "  " in self._text
        if self._gaps:
            kept = [(place, line) for place, line in enumerate(folded) if line]
            self._text = " ".join(line for _, line in kept)
            self._starts = [0, *accumulate(len(line) + 1 for _, line in kept)]
            self._places = [place for place, _ in kept]
        else:
            self._places = list(range(len(folded)))

    def find(self, quote: str) -> int | None:
        """The number of the line in which a quote begins."""
        needle = _folded(quote)
        if not needle or (len(needle) < _FEWEST and needle not in self._lines):
            return None
        at = self._text.find(needle)
        if at < 0:
            return None
        return self._places[bisect_right(self._starts, at) - 1]


def _folded(text: str) -> str:
    # What ends the lines of files from Windows is no part of what anybody quotes.
    return " ".join(text.replace("\\x0d", " ").split())


def show_diff(patch: bytes) -> ShownDiff:
    """The diff as a judge is shown it."""
    lines: list[DiffLine] = []
    left_out = 0
    for line, binary in _lines(visible(decode(patch))):
        lines.append(line)
        left_out += binary
    return ShownDiff(tuple(lines), left_out)


def _lines(text: str) -> Iterator[tuple[DiffLine, bool]]:
    """The lines to show, each with whether it stands for a binary file's data."""
    file, number = "", None
    skipping = in_hunk = False
    for row in text.removesuffix("\n").split("\n") if text else ():
        if row.startswith("diff --git "):
            skipping = in_hunk = False
            file, number = _file_of(row), None
        elif skipping:
            continue
        elif row == _BINARY and not in_hunk:
            skipping = True
            yield DiffLine(text=_LEFT_OUT, file=file, number=None), True
            continue
        if not in_hunk and row.startswith("+++ b/"):
            file = row[len("+++ b/") :].split("\t")[0]
        if hunk := _HUNK.match(row):
            in_hunk, number = True, int(hunk[1])
            yield DiffLine(text=row, file=file, number=None), False
            continue
        new = in_hunk and number is not None and row[:1] in ("+", " ", "")
        yield DiffLine(text=row, file=file, number=number if new else None), False
        if new and number is not None:
            number += 1


def _file_of(header: str) -> str:
    """The new name in ``diff --git a/x b/x``, as far as it can be told from the header alone."""
    return header.rpartition(" b/")[2].rstrip('"')
