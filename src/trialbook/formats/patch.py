"""Git's patches as values: files, hunks, lines and binary payloads, read from exact bytes.

A patch is bytes, never text: it may hold CRLF, any encoding, and lines without an end. Reading is
strict where a guess could change a file; what is no patch (a mail's header, its signature) is
passed over. Nothing here touches a file.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import NamedTuple

from trialbook.errors import Refused
from trialbook.formats.binary_patch import Binary, parse_binary
from trialbook.model.paths import path_to_text

_HUNK = re.compile(
    rb"@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@ ?(.*)\Z", re.DOTALL
)
_INDEX = re.compile(rb"index ([0-9a-f]{4,64})\.\.([0-9a-f]{4,64})(?: (\d{6}))?\Z")
_MODE = re.compile(rb"(old mode|new mode|new file mode|deleted file mode) ([0-7]{6})\Z")
_MOVE = re.compile(rb"(rename|copy) (from|to) (.+)\Z", re.DOTALL)
_SIMILARITY = re.compile(rb"(?:dis)?similarity index (\d{1,3})%\Z")
_QUOTED = re.compile(rb'"((?:[^"\\]|\\.)*)"', re.DOTALL)
_ESCAPE = re.compile(rb'\\(?:([abtnvfr"\\])|([0-3][0-7]{2})|(.))', re.DOTALL)
_NAMED = dict(zip(b'abtnvfr"\\', b'\a\b\t\n\v\f\r"\\', strict=True))
_START = b"diff --git "
_NO_NEWLINE = b"\\ "
_SIGNATURE = b"-- "
_MOST_NAMES = 1024
_line = tuple.__new__  # Patches are read line by line, many thousands of them: this is quicker.


class FileStatus(StrEnum):
    """What a patch does to one file."""

    ADDED = "added"
    DELETED = "deleted"
    MODIFIED = "modified"
    RENAMED = "renamed"
    COPIED = "copied"


class Line(NamedTuple):
    """One line of a hunk. ``kind`` is a space, ``+`` or ``-``; numbers count from 1.

    ``text`` has its line end, unless the file ends without one.
    """

    kind: str
    old: int | None
    new: int | None
    text: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """A place in a file and what becomes of it. ``section`` is what git found above it."""

    old_start: int
    old_count: int
    new_start: int
    new_count: int
    section: bytes
    lines: tuple[Line, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class FilePatch:
    """What a patch does to one file.

    ``old_path`` is None for an added file, ``new_path`` for a deleted one. Modes are None where the
    patch does not say. ``unreadable_binary`` is set where the patch only says *that* two binary
    files differ.
    """

    status: FileStatus
    old_path: bytes | None
    new_path: bytes | None
    old_mode: int | None = None
    new_mode: int | None = None
    old_oid: str | None = None
    new_oid: str | None = None
    similarity: int | None = None
    hunks: tuple[Hunk, ...] = ()
    binary: Binary | None = None
    unreadable_binary: bool = False

    @property
    def path(self) -> bytes:
        """The file's path after the change (before it, for a deleted file)."""
        path = self.new_path if self.new_path is not None else self.old_path
        return path or b""

    @property
    def mode_changed(self) -> bool:
        """Whether the file was there and gets another mode."""
        return None not in (self.old_mode, self.new_mode) and self.old_mode != self.new_mode

    @property
    def insertions(self) -> int | None:
        """How many lines are added; None for binary files."""
        return self._count("+")

    @property
    def deletions(self) -> int | None:
        """How many lines are taken away; None for binary files."""
        return self._count("-")

    def _count(self, kind: str) -> int | None:
        if self.binary is not None or self.unreadable_binary:
            return None
        return sum(line.kind == kind for hunk in self.hunks for line in hunk.lines)


def parse_patch(data: bytes) -> list[FilePatch]:
    """Read a patch in git's extended format.

    Raises:
        Refused: it is damaged, or of a kind that cannot be applied (a merge's combined diff). The
            message names the line.
    """
    reader = _Reader(data)
    files = []
    while reader.skip_to_file():
        files.append(_parse_file(reader))
    return files


class _Reader:
    """The lines of a patch, without their ends, and where reading is."""

    def __init__(self, data: bytes) -> None:
        self._lines = data.split(b"\n")
        whole = not self._lines[-1]
        if whole:
            self._lines.pop()
        self._count = len(self._lines)
        self._cut_off = -1 if whole else self._count - 1
        self._at = 0

    def peek(self) -> bytes | None:
        """The next line, or None at the end."""
        return self._lines[self._at] if self._at < self._count else None

    def take(self) -> bytes:
        """The next line, which must be there, and whole."""
        at = self._at
        if at >= self._count:
            raise self.refusal("the patch ends in the middle of a file")
        self._at = at + 1
        if at == self._cut_off:
            raise self.refusal("the patch ends in the middle of a line; its last newline is gone")
        return self._lines[at]

    def ahead(self) -> tuple[list[bytes], int, int]:
        """All lines, the place of the next one, and of the first that is not there or not whole."""
        return self._lines, self._at, self._count if self._cut_off < 0 else self._cut_off

    def go_to(self, place: int) -> None:
        """Have taken the lines before a place."""
        self._at = place

    def skip_to_file(self) -> bool:
        """Go to where the next file begins; False if there is none."""
        while (line := self.peek()) is not None:
            if line.startswith(_START):
                return True
            if line.startswith((b"diff --cc ", b"diff --combined ")):
                raise self.refusal("the combined diff of a merge cannot be applied")
            self._at += 1
        return False

    def refusal(self, problem: str) -> Refused:
        """The error for something wrong at the line that was read last."""
        return Refused(
            f"damaged patch, line {max(self._at, 1)}: {problem}",
            hint="make it with `git diff --binary --full-index` and keep its exact bytes",
        )


@dataclass(slots=True, kw_only=True)
class _Header:
    """What has been read of a file's header so far."""

    names: tuple[bytes, bytes] | None
    status: FileStatus = FileStatus.MODIFIED
    moved: dict[str, bytes] = field(default_factory=dict)
    minus: bytes | None = None
    plus: bytes | None = None
    modes: dict[str, int] = field(default_factory=dict)
    oids: tuple[str, str] | None = None
    similarity: int | None = None


def _parse_file(reader: _Reader) -> FilePatch:
    header = _Header(names=_header_names(reader.take()[len(_START) :]))
    while (line := reader.peek()) is not None and _read_header_line(header, line):
        reader.take()
    hunks: tuple[Hunk, ...] = ()
    binary = None
    unreadable = False
    if line is not None and line.startswith(b"GIT binary patch"):
        reader.take()
        binary = parse_binary(reader.take, reader.peek, reader.refusal)
    elif line is not None and line.startswith(b"Binary files "):
        reader.take()
        unreadable = True
    else:
        if line is not None and line.startswith(b"--- "):
            header.minus = _named(reader.take()[4:], reader)
            plus = reader.take()
            if not plus.startswith(b"+++ "):
                raise reader.refusal("a line that begins with `+++ ` is missing")
            header.plus = _named(plus[4:], reader)
        hunks = tuple(_parse_hunks(reader))
    old_path, new_path = _paths(header, reader)
    return FilePatch(
        status=header.status,
        old_path=old_path,
        new_path=new_path,
        old_mode=header.modes.get("old"),
        new_mode=header.modes.get("new"),
        old_oid=header.oids[0] if header.oids else None,
        new_oid=header.oids[1] if header.oids else None,
        similarity=header.similarity,
        hunks=hunks,
        binary=binary,
        unreadable_binary=unreadable,
    )


def _read_header_line(header: _Header, line: bytes) -> bool:
    """Take a line into the header; False if it is none of the header's."""
    if line.startswith((b"--- ", b"@@ ")):
        return False
    if match := _MODE.match(line):
        what, mode = match.group(1), int(match.group(2), 8)
        header.modes["new" if what.startswith(b"new") else "old"] = mode
        if what == b"new file mode":
            header.status = FileStatus.ADDED
        elif what == b"deleted file mode":
            header.status = FileStatus.DELETED
    elif match := _INDEX.match(line):
        header.oids = (match.group(1).decode(), match.group(2).decode())
        if match.group(3):
            header.modes.setdefault("old", int(match.group(3), 8))
            header.modes.setdefault("new", int(match.group(3), 8))
    elif match := _MOVE.match(line):
        header.moved[match.group(2).decode()] = _unquoted(match.group(3))
        renamed = match.group(1) == b"rename"
        header.status = FileStatus.RENAMED if renamed else FileStatus.COPIED
    elif match := _SIMILARITY.match(line):
        header.similarity = int(match.group(1))
    else:
        return False
    return True


def _paths(header: _Header, reader: _Reader) -> tuple[bytes | None, bytes | None]:
    if header.status in (FileStatus.RENAMED, FileStatus.COPIED):
        if header.moved.keys() != {"from", "to"}:
            raise reader.refusal("a rename or copy names only one of its two files")
        return header.moved["from"], header.moved["to"]
    names = {name for name in (header.minus, header.plus) if name is not None}
    names = names or set(header.names or ())
    if len(names) != 1:
        raise reader.refusal("the name of the file cannot be told from its header")
    name = names.pop()
    if header.names and name not in header.names:
        raise reader.refusal(f"two names for one file, one of them {path_to_text(name)}")
    added = header.status is FileStatus.ADDED
    deleted = header.status is FileStatus.DELETED
    return None if added else name, None if deleted else name


def _parse_hunks(reader: _Reader) -> Iterator[Hunk]:
    while (line := reader.peek()) is not None and line.startswith(b"@@ "):
        reader.take()
        match = _HUNK.match(line)
        if match is None:
            raise reader.refusal("the header of a hunk cannot be read")
        old_start, new_start = int(match.group(1)), int(match.group(3))
        old_count = 1 if match.group(2) is None else int(match.group(2))
        new_count = 1 if match.group(4) is None else int(match.group(4))
        yield Hunk(
            old_start=old_start,
            old_count=old_count,
            new_start=new_start,
            new_count=new_count,
            section=match.group(5),
            lines=_hunk_lines(reader, (old_start, old_count), (new_start, new_count)),
        )
    if line is not None and line[:1] in b" +-" and line not in (b"", _SIGNATURE):
        raise reader.refusal("a hunk has more lines than its header says")


def _hunk_lines(reader: _Reader, old: tuple[int, int], new: tuple[int, int]) -> tuple[Line, ...]:
    lines: list[Line] = []
    old_at, old_end = old[0], sum(old)
    new_at, new_end = new[0], sum(new)
    ahead, at, end = reader.ahead()
    while old_at < old_end or new_at < new_end:
        # As `take` does it, which would be called for every line of every patch of a ledger.
        if at >= end:
            reader.go_to(at)
            reader.take()
        raw = ahead[at]
        at += 1
        # Some mailers and editors cut the single space of an empty line that did not change.
        sign, text = raw[:1] or b" ", raw[1:] + b"\n"
        if sign == b"+" and new_at < new_end:
            lines.append(_line(Line, ("+", None, new_at, text)))
            new_at += 1
        elif sign == b" " and old_at < old_end and new_at < new_end:
            lines.append(_line(Line, (" ", old_at, new_at, text)))
            old_at, new_at = old_at + 1, new_at + 1
        elif sign == b"-" and old_at < old_end:
            lines.append(_line(Line, ("-", old_at, None, text)))
            old_at += 1
        elif raw.startswith(_NO_NEWLINE) and lines:
            lines[-1] = lines[-1]._replace(text=lines[-1].text.removesuffix(b"\n"))
        else:
            reader.go_to(at)
            raise reader.refusal("a hunk does not have the lines that its header says")
    reader.go_to(at)
    following = reader.peek()
    if following is not None and following.startswith(_NO_NEWLINE) and lines:
        reader.take()
        lines[-1] = lines[-1]._replace(text=lines[-1].text.removesuffix(b"\n"))
    return tuple(lines)


@lru_cache(maxsize=_MOST_NAMES)
def _header_names(rest: bytes) -> tuple[bytes, bytes] | None:
    """Both names of a ``diff --git`` line, where it can be told where the first one ends."""
    if match := _QUOTED.match(rest):
        first, second = match.group(), rest[match.end() + 1 :]
    elif match := re.fullmatch(rb'(.+) ("(?:[^"\\]|\\.)*")', rest, re.DOTALL):
        first, second = match.group(1), match.group(2)
    else:
        # Unquoted names may hold spaces; then both sides have the same name, or other lines of the
        # header say what they are.
        middle = len(rest) // 2
        first, second = rest[:middle], rest[middle + 1 :]
        if rest[middle : middle + 1] != b" " or _stripped(first) != _stripped(second):
            return None
    names = _stripped(_unquoted(first)), _stripped(_unquoted(second))
    return (names[0], names[1]) if names[0] is not None and names[1] is not None else None


def _named(rest: bytes, reader: _Reader) -> bytes | None:
    """The name in a ``---`` or ``+++`` line, or None for no file."""
    name = _unquoted(rest.removesuffix(b"\t"))
    if name == b"/dev/null":
        return None
    stripped = _stripped(name)
    if stripped is None:
        raise reader.refusal(f"the name {path_to_text(name)} has no prefix such as a/ or b/")
    return stripped


def _stripped(name: bytes) -> bytes | None:
    _, slash, rest = name.partition(b"/")
    return rest if slash else None


def _unquoted(name: bytes) -> bytes:
    match = _QUOTED.fullmatch(name)
    return _ESCAPE.sub(_unescaped, match.group(1)) if match else name


def _unescaped(match: re.Match[bytes]) -> bytes:
    letter, octal, other = match.groups()
    if letter:
        return bytes([_NAMED[letter[0]]])
    return bytes([int(octal, 8)]) if octal else bytes(other)
