"""The JUnit report of tests that an agent wrote itself: read for hints, never to grade."""

from __future__ import annotations

from xml.parsers import expat

MOST_BYTES = 5_000_000
_MOST_TESTS = 2_000
_DEPTH = 50
_LONGEST = 300
_SILENT = frozenset({"system-out", "system-err", "properties"})


class ReportRefusedError(ValueError):
    """A report that says nothing that could be used."""


def read_tests(data: bytes) -> dict[str, bool | None]:
    """The tests of a report: passed, failed, or None for what was neither (skipped, say).

    One that is named twice has passed only if it did each time.

    Raises:
        ReportRefusedError: it is too large, no XML, or declares something that could expand.
    """
    if len(data) > MOST_BYTES:
        raise ReportRefusedError(f"the report has more than {MOST_BYTES // 1_000_000} MB")
    reader = _Reader()
    parser = expat.ParserCreate()
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.StartDoctypeDeclHandler = reader.declared
    parser.EntityDeclHandler = reader.declared
    try:
        parser.Parse(data, True)  # noqa: FBT003 - this is the end of the data
    except (expat.ExpatError, UnicodeError, LookupError) as error:
        raise ReportRefusedError(f"the report is no XML: {error}") from error
    return reader.tests


class _Reader:
    def __init__(self) -> None:
        self.tests: dict[str, bool | None] = {}
        self._path: list[str] = []
        self._name = ""
        self._passed: bool | None = True

    def start(self, name: str, attributes: dict[str, str]) -> None:
        if len(self._path) >= _DEPTH:
            raise ReportRefusedError("the report is nested too deeply")
        if name == "testcase":
            said = f"{attributes.get('classname', '')}::{attributes.get('name', '')}"
            self._name, self._passed = said[:_LONGEST], True
        elif self._path[-1:] == ["testcase"] and name not in _SILENT:
            self._passed = False if name in {"failure", "error"} else None
        self._path.append(name)

    def end(self, name: str) -> None:
        self._path.pop()
        if name == "testcase" and len(self.tests) < _MOST_TESTS:
            before = self.tests.get(self._name, True)
            self.tests[self._name] = before if self._passed is True else self._passed

    def declared(self, *_: object) -> None:
        raise ReportRefusedError("the report has a document type or an entity")
