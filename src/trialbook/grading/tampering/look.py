"""One changed file as both sides have it, and what stands in it that did not before."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePosixPath
from typing import NamedTuple

from trialbook.model.evidence import KINDS, Sighting
from trialbook.model.paths import text_to_path

TEXT_BYTES = 1_000_000
"""The largest file, in bytes, that is looked into."""

_SNIFFED = 8000
_EXCERPT = 160
_TEST_FOLDERS = frozenset({"test", "tests", "testing", "__tests__", "spec", "specs", "e2e"})
_TEST_NAME = re.compile(
    r"test_.*\.py|.*_test\.(?:py|go|rb|exs|cc|cpp)|.*\.(?:test|spec)\.[cm]?[jt]sx?"
    r"|.*Tests?\.(?:java|kt|cs|swift)|.*_spec\.rb"
)
_CODE = re.compile(r".*\.(?:py|[cm]?[jt]sx?|go|rb|rs|java|kt|cs|swift|php|exs?|c|cc|cpp|sh)")


class Line(NamedTuple):
    """A line of a file: its number from 1, and its text without the line end."""

    number: int
    text: str


@dataclass(frozen=True, kw_only=True)
class Looked:
    """One changed file. ``old`` and ``new`` are None where there is none, or no text."""

    path: str
    status: str
    old_path: str
    old: bytes | None
    new: bytes | None

    @cached_property
    def plain(self) -> str:
        """The path as patterns take it: one line, whatever its bytes are."""
        return plain_path(self.path)

    @cached_property
    def old_plain(self) -> str:
        """The same of the path before."""
        return plain_path(self.old_path)

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.plain).name

    @property
    def is_test(self) -> bool:
        """Whether it looks like a file of tests, by its path."""
        return is_test(self.plain)

    @cached_property
    def added(self) -> tuple[Line, ...]:
        """The lines that the file has now and did not have before, wherever they stand."""
        return tuple(_surplus(lines_of(self.new), lines_of(self.old)))

    @cached_property
    def removed(self) -> tuple[Line, ...]:
        """The lines that are gone, numbered as they were."""
        return tuple(_surplus(lines_of(self.old), lines_of(self.new)))

    def sighting(
        self, kind: str, detail: str, line: Line | None = None, *, quoted: bool = True
    ) -> Sighting:
        """Something that was seen in this file, with its severity by default."""
        return Sighting(
            kind=kind,
            severity=KINDS[kind][0],
            detail=detail,
            path=self.path,
            line=None if line is None else line.number,
            excerpt=line.text.strip()[:_EXCERPT] if line is not None and quoted else None,
        )


def plain_path(path: str) -> str:
    """A path in text form as one line for patterns; never for finding the file again."""
    return " ".join(text_to_path(path).decode("utf-8", "replace").splitlines())


def is_test(path: str) -> bool:
    """Whether a path looks like one of tests."""
    parts = PurePosixPath(path).parts
    if not parts:
        return False
    inside = not _TEST_FOLDERS.isdisjoint(part.lower() for part in parts[:-1])
    return bool(_TEST_NAME.fullmatch(parts[-1])) or (inside and bool(_CODE.fullmatch(parts[-1])))


def text_of(data: bytes | None) -> bytes | None:
    """The bytes, if they are a text that is not too large."""
    if data is None or len(data) > TEXT_BYTES or b"\0" in data[:_SNIFFED]:
        return None
    return data


def lines_of(data: bytes | None) -> list[Line]:
    """The lines of a file, whatever its encoding is."""
    text = (data or b"").decode("utf-8", "replace")
    return [Line(number, line) for number, line in enumerate(text.splitlines(), start=1)]


def _surplus(these: list[Line], those: list[Line]) -> Iterator[Line]:
    """The lines of which these have more than those; white space at the ends does not count."""
    left = Counter(line.text.strip() for line in those)
    for line in these:
        text = line.text.strip()
        if not text:
            continue
        if left[text]:
            left[text] -= 1
        else:
            yield line
