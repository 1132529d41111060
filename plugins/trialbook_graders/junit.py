"""JUnit XML reports, read without trust: bounded, with nothing in them expanded or fetched."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from xml.parsers import expat  # declarations that could expand or fetch are refused below

from trialbook.api import TrialbookError
from trialbook_graders.search import read_regular

REPORT_LIMIT = 20_000_000
"""The largest report, in bytes, that is read."""

PASSED = "passed"
FAILED = "failed"

_DEPTH = 50
_TEXT = 2000
_SILENT = frozenset({"system-out", "system-err", "properties"})
_OUTCOMES = {"failure": FAILED, "error": "error", "skipped": "skipped"}
_FINE = frozenset({"", "run", "passed", "pass", "success", "ok", "completed"})


class ReportError(TrialbookError):
    """A report that is not there, or that nobody should believe."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReportedTest:
    """One reported test: its id, how it ended, and what was said about it (clipped)."""

    id: str
    outcome: str
    text: str


def read_report(path: Path) -> tuple[ReportedTest, ...]:
    """Every test of a report, in its order, repeated ones included.

    A test has passed only if nothing but output is said about it; skipped, expected to fail, run
    again and unknown words are outcomes of their own.

    Raises:
        ReportError: no such file, a link or anything else in its place, too large, not XML, not a
            report, or with declarations that a report has no use for.
    """
    data = read_regular(path, REPORT_LIMIT)
    if data is None:
        there = "no regular file" if path.is_symlink() or path.exists() else "no report"
        raise ReportError(f"there is {there} where the tests should have written their report")
    if len(data) > REPORT_LIMIT:
        raise ReportError(f"the report is larger than {REPORT_LIMIT // 1_000_000} MB")
    return parse_report(data)


def parse_report(data: bytes) -> tuple[ReportedTest, ...]:
    """The same for bytes at hand."""
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.text
    parser.StartDoctypeDeclHandler = reader.declaration
    parser.EntityDeclHandler = reader.declaration
    parser.buffer_text = True
    try:
        parser.Parse(data, True)  # noqa: FBT003 - this is the end of the data
    except (expat.ExpatError, UnicodeError, LookupError) as error:
        raise ReportError(f"the report is not XML: {error}") from error
    return tuple(reader.cases)


class _Reader:
    """Collects test cases from parser events."""

    def __init__(self) -> None:
        self.cases: list[ReportedTest] = []
        self._path: list[str] = []
        self._id = ""
        self._outcomes: list[str] = []
        self._said: list[str] = []
        self._length = 0

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if not self._path and name not in {"testsuites", "testsuite"}:
            raise ReportError(f"the report begins with <{name[:40]}>, not with <testsuites>")
        if len(self._path) >= _DEPTH:
            raise ReportError("the report is nested too deeply")
        if "testcase" in self._path:
            # Only what stands directly in a test case says how it ended.
            if self._path[-1] == "testcase" and name not in _SILENT:
                self._outcomes.append(_OUTCOMES.get(name, name))
                self._say(attributes.get("message", ""))
        elif name == "testcase":
            self._id = f"{attributes.get('classname', '')}::{attributes.get('name', '')}"
            status = attributes.get("status", "").lower()
            self._outcomes = [] if status in _FINE else [status]
            self._said, self._length = [], 0
        self._path.append(name)

    def end(self, name: str) -> None:
        self._path.pop()
        if name == "testcase" and "testcase" not in self._path:
            outcome = self._outcomes[0] if self._outcomes else PASSED
            text = "\n".join(filter(None, self._said))[:_TEXT]
            self.cases.append(ReportedTest(id=self._id, outcome=outcome, text=text))

    def text(self, data: str) -> None:
        inside = len(self._path) > 1 and self._path[-2] == "testcase"
        if inside and self._path[-1] not in _SILENT:
            self._say(data)

    def declaration(self, *_: object) -> None:
        raise ReportError("the report has a document type or an entity; reports have none")

    def _say(self, text: str) -> None:
        if text.strip() and self._length < _TEXT:
            self._said.append(text.strip("\n"))
            self._length += len(text)
