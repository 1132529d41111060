"""A parsed patch in the form that templates draw, page by page, and where each line of it is."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from trialbook.formats.diff import FileDiff, parse_diff
from trialbook.reporting.wording import size
from trialbook.site.diff.remarks import Remark, remark_html
from trialbook.site.diff.rows import Beside, rows_html
from trialbook.site.diff.sheets import FILES, LINES, Part, sheets
from trialbook.site.diff.syntax import language_of

# Files longer than this are folded.
_FOLD_LINES = 400
_PAGE_BYTES = 4_000_000
_LONG_LINE = re.compile(rb"([^\n]{1900})([^\n]{100,})")
_MOST_REMARKS = 500
_LONGEST_QUOTE = 200


class Place(NamedTuple):
    """A page of a change, counted from 0, and the anchor on it."""

    sheet: int
    anchor: str


class Change:
    """A change and its pages.

    ``files`` is what could be read of it, ``unread`` says how much of the patch was not even looked
    at; empty if all was. A page with several changes gives each a ``prefix`` of its ids. ``room``
    is what the first page bears, in lines and in files.
    """

    def __init__(
        self,
        files: Sequence[FileDiff],
        unread: int = 0,
        *,
        prefix: str = "",
        room: tuple[int, int] = (LINES, FILES),
    ) -> None:
        self.files = files
        self.unread = size(unread) if unread else ""
        self._prefix = prefix
        self.sheets = sheets(files, room)
        self._lines: dict[int, dict[tuple[str, int | None], int]] = {}

    @classmethod
    def read(
        cls, patch: bytes, *, prefix: str = "", room: tuple[int, int] = (LINES, FILES)
    ) -> Change:
        """The change of a patch, or of its beginning up to a line end where it is very large."""
        read, left = readable(patch)
        return cls(parse_diff(read), left, prefix=prefix, room=room)

    def figure(
        self, number: int = 0, remarks: Sequence[Remark] = (), home: str = ""
    ) -> dict[str, Any]:
        """What one page shows.

        Args:
            number: Which one, from 0.
            remarks: What is said of lines, of any page.
            home: The address of the page that has what remarks lead back to, from this one; empty
                for itself.
        """
        parts = self.sheets[number]
        by_path: dict[str, list[Remark]] = {}
        for remark in remarks[:_MOST_REMARKS]:
            by_path.setdefault(remark.path, []).append(remark)
        return {
            "files": [self._file(part, by_path.get(part.file.path, ()), home) for part in parts],
            "later": sum(part.first for parts in self.sheets[number + 1 :] for part in parts),
            "unread": self.unread,
        }

    def place(self, path: str | None, line: int | None = None, side: str = "new") -> Place | None:
        """Where a line of a file is shown, or the file where the line is not; None for neither."""
        number = self._numbers.get(path or "")
        if number is None:
            return None
        anchor = f"{self._prefix}f{number}"
        sheet = self._shown(number).get((side, line)) if line else None
        if sheet is not None:
            return Place(sheet, f"{anchor}{side[0]}{line}")
        return Place(self._begins[number], anchor)

    @cached_property
    def _numbers(self) -> Mapping[str, int]:
        return {file.path: number for number, file in reversed([*enumerate(self.files, start=1)])}

    @cached_property
    def _begins(self) -> Mapping[int, int]:
        return {
            part.number: index
            for index, parts in enumerate(self.sheets)
            for part in parts
            if part.first
        }

    def _shown(self, number: int) -> Mapping[tuple[str, int | None], int]:
        """The pages of a file's lines, looked up once for each file that is asked for."""
        if number not in self._lines:
            self._lines[number] = {
                (side, place): index
                for index, parts in enumerate(self.sheets)
                for part in parts
                if part.number == number
                for line in part.file.lines[part.start : part.stop]
                for side, place in (("new", line.new), ("old", line.old))
            }
        return self._lines[number]

    def _file(self, part: Part, remarks: Iterable[Remark], home: str) -> dict[str, Any]:
        file = part.file
        anchor = f"{self._prefix}f{part.number}"
        beside, quoted = _beside(anchor, remarks, home)
        lines = file.lines[part.start : part.stop]
        return {
            "anchor": anchor if part.first else f"{anchor}-{part.start}",
            "path": file.path,
            "old_path": file.old_path,
            "status": file.status,
            "binary": file.binary,
            "insertions": file.insertions,
            "deletions": file.deletions,
            "notes": file.notes if part.first else ["This file began on an earlier page."],
            "fold": len(lines) > _FOLD_LINES,
            "left": part.left,
            # Nothing of it can be shown line by line.
            "bare": not file.lines,
            "rows": rows_html(lines, anchor, language_of(file.path), beside, quoted)
            if lines
            else "",
        }


def _beside(anchor: str, remarks: Iterable[Remark], home: str) -> tuple[Beside, frozenset[str]]:
    """The remarks as they stand below lines, and the ids of all lines that they speak of."""
    beside: dict[tuple[str, int], str] = {}
    quoted: set[str] = set()
    for remark in remarks:
        key = (remark.side, remark.last)
        beside[key] = beside.get(key, "") + remark_html(remark, home)
        side = remark.side[0]
        last = min(remark.last, remark.first + _LONGEST_QUOTE)
        quoted.update(f"{anchor}{side}{number}" for number in range(remark.first, last + 1))
    return beside, frozenset(quoted)


def readable(patch: bytes) -> tuple[bytes, int]:
    """As much of a patch as pages are made from, and how many bytes there are beyond that.

    It is the whole, unless that is very large: then its very long lines are folded, and if that is
    not enough, it is its beginning up to a line end.
    """
    if len(patch) <= _PAGE_BYTES:
        return patch, 0
    folded = _LONG_LINE.sub(_fold, patch)
    if len(folded) <= _PAGE_BYTES:
        return folded, 0
    read = folded[: folded.rfind(b"\n", 0, _PAGE_BYTES) + 1]
    return read, len(folded) - len(read)


def _fold(line: re.Match[bytes]) -> bytes:
    return b"%b [%d more bytes]" % (line[1], len(line[2]))
