"""A patch as rows to look at: files, hunks, and lines with their numbers on both sides.

Reads git's extended diff line by line and trusts only the counts of its hunk headers, so that no
line of a file can pass for a header. Whatever it does not know it shows as it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from trialbook.formats.visible import decode
from trialbook.model.paths import path_to_text, text_to_path

_HUNK = re.compile(r"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@(.*)", re.DOTALL)
_HEADER = "diff --git "


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One line of a hunk: ``kind`` is context, added, deleted, hunk or note."""

    kind: str
    text: str
    old: int | None = None
    new: int | None = None


@dataclass(slots=True, kw_only=True)
class FileDiff:
    """One file of a patch. ``status`` is added, deleted, renamed, copied, modified or mode."""

    path: str
    old_path: str | None = None
    status: str = "modified"
    binary: bool = False
    insertions: int = 0
    deletions: int = 0
    notes: list[str] = field(default_factory=list)
    lines: list[Line] = field(default_factory=list)

    def shows(self, line: int) -> bool:
        """Whether the line with this number on the new side is among the rows."""
        return any(row.new == line for row in self.lines)


def parse_diff(data: bytes) -> list[FileDiff]:
    """The files of a patch, in its order."""
    lines = decode(data).split("\n")
    if lines and not lines[-1]:
        lines.pop()
    return list(_Reader(lines).files())


class _Reader:
    """A cursor over the patch's lines."""

    def __init__(self, lines: list[str]) -> None:
        self._lines = lines
        self._at = 0

    def files(self) -> Iterator[FileDiff]:
        while self._at < len(self._lines):
            line = self._next()
            if line.startswith(_HEADER):
                yield self._file(line)

    def _next(self) -> str:
        line = self._lines[self._at]
        self._at += 1
        return line

    def _file(self, header: str) -> FileDiff:
        file = FileDiff(path=_path_of_header(header))
        while self._at < len(self._lines):
            line = self._lines[self._at]
            if line.startswith(_HEADER):
                break
            self._at += 1
            hunk = _HUNK.fullmatch(line)
            if hunk:
                self._hunk(file, hunk)
            elif line.startswith("GIT binary patch"):
                file.binary = True
            elif not file.binary:
                _note(file, line)
        if file.status == "mode" and (file.lines or file.binary):
            file.status = "modified"
        return file

    def _hunk(self, file: FileDiff, header: re.Match[str]) -> None:
        old, new = int(header[1]), int(header[3])
        old_left = int(header[2]) if header[2] is not None else 1
        new_left = int(header[4]) if header[4] is not None else 1
        file.lines.append(Line(kind="hunk", text=header[0]))
        while (old_left > 0 or new_left > 0) and self._at < len(self._lines):
            line = self._next()
            mark, text = line[:1], line[1:]
            if mark == "+":
                file.lines.append(Line(kind="added", text=text, new=new))
                new, new_left = new + 1, new_left - 1
                file.insertions += 1
            elif mark == "-":
                file.lines.append(Line(kind="deleted", text=text, old=old))
                old, old_left = old + 1, old_left - 1
                file.deletions += 1
            elif mark == "\\":
                file.lines.append(Line(kind="note", text=line))
            else:
                file.lines.append(Line(kind="context", text=text, old=old, new=new))
                old, new = old + 1, new + 1
                old_left, new_left = old_left - 1, new_left - 1
        if self._at < len(self._lines) and self._lines[self._at].startswith("\\"):
            file.lines.append(Line(kind="note", text=self._next()))


def _note(file: FileDiff, line: str) -> None:
    """What a header line between ``diff --git`` and the first hunk says."""
    if line.startswith("new file mode "):
        file.status = "added"
        if not line.endswith("100644"):
            file.notes.append(_mode(line))
    elif line.startswith("deleted file mode "):
        file.status = "deleted"
    elif line.startswith(("old mode ", "new mode ")):
        file.status = "mode" if file.status == "modified" else file.status
        file.notes.append(_mode(line))
    elif line.startswith(("rename from ", "copy from ")):
        file.status = "renamed" if line.startswith("rename") else "copied"
        file.old_path = _plain(line.split(" from ", 1)[1])
    elif line.startswith(("rename to ", "copy to ")):
        file.path = _plain(line.split(" to ", 1)[1])
    elif line.startswith(("--- ", "+++ ")):
        # The new side comes second, and stands unless there is none.
        file.path = file.path if line[4:] == "/dev/null" else _side(line[4:])
    elif not line.startswith(("index ", "similarity ", "dissimilarity ")):
        file.notes.append(line)


def _mode(line: str) -> str:
    what, _, mode = line.rpartition(" ")
    kinds = {"100755": "executable", "120000": "symbolic link", "160000": "submodule"}
    return f"{what} {mode} ({kinds[mode]})" if mode in kinds else f"{what} {mode}"


def _path_of_header(header: str) -> str:
    """The new path of a ``diff --git`` line, as well as it can be told from that line alone."""
    rest = header[len(_HEADER) :]
    if rest.endswith('"'):
        start = rest.rfind(' "')
        return _side(rest[start + 1 :])
    half = (len(rest) - 1) // 2
    if rest[half : half + 1] == " " and rest[2:half] == rest[half + 3 :]:
        return _side(rest[half + 1 :])
    return _side(rest.rsplit(" b/", 1)[-1]) if " b/" not in rest else rest.rsplit(" b/", 1)[-1]


def _side(text: str) -> str:
    """A path as ``---`` and ``+++`` lines write it: maybe quoted, with ``a/`` or ``b/`` before."""
    path = _plain(text.removesuffix("\t"))
    if path.startswith('"'):
        return '"' + path[3:] if path[1:3] in ("a/", "b/") else path
    return path[2:] if path.startswith(("a/", "b/")) else path


def _plain(text: str) -> str:
    """The text form of a path as git quotes it: the form that all records use."""
    if not text.startswith('"'):
        return text
    try:
        return path_to_text(text_to_path(text))
    except ValueError:
        return text
