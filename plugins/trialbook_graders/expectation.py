"""The frozen expectation of acceptance tests, and what a report is worth against it.

A candidate is acceptable only if the reported tests are exactly the expected ones, each reported
once, each with the outcome that was frozen: *passed*, or *failed* for a sentinel. A sentinel that
passes says that whoever wrote the report did not run the tests.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialbook.api import (
    Check,
    Finding,
    Problem,
    Severity,
    check_schema,
    load_schema,
    read_document,
)
from trialbook_graders.junit import FAILED, PASSED, ReportedTest

_MOST = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Expectation:
    """The ids to be reported as passed, and those of the sentinels, to be reported as failed."""

    passed: tuple[str, ...]
    must_fail: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """What a report says against the expectation.

    ``expected`` has one check for each expected test; ``others`` only what is wrong beyond them.
    ``violation`` is set when a sentinel passed.
    """

    expected: tuple[Check, ...]
    others: tuple[Check, ...]
    violation: str | None


def read_expectation(path: Path, shown: str) -> tuple[Expectation | None, list[Problem]]:
    """Read an expectation file, with every mistake in it."""
    document, problems = read_document(path, shown)
    if document is None:
        return None, problems
    problems += check_schema(document, load_schema("expected"))
    if problems:
        return None, problems
    passed = list(map(str, document.data["passed"]))
    must_fail = list(map(str, document.data.get("must_fail", [])))
    for number, name in enumerate(must_fail):
        if name in passed:
            problems.append(
                document.problem(
                    ("must_fail", number),
                    f"{name!r} must fail, but is expected to pass too",
                    "keep it in one of the two lists",
                )
            )
    if problems:
        return None, problems
    return Expectation(passed=tuple(passed), must_fail=tuple(must_fail)), []


def compare(
    expectation: Expectation, tests: Sequence[ReportedTest], sentinel: str | None = None
) -> Comparison:
    """Hold a report against the expectation.

    Args:
        expectation: What was frozen.
        tests: What was reported.
        sentinel: The name of the function that was injected to fail, where one was.
    """
    injected = [test for test in tests if sentinel and test.id.endswith(f"::{sentinel}")]
    reported: dict[str, list[ReportedTest]] = {}
    for test in tests:
        if test not in injected:
            reported.setdefault(test.id, []).append(test)
    sentinels = [(name, reported.get(name, [])) for name in expectation.must_fail]
    if sentinel is not None:
        sentinels.append(("the injected sentinel", injected))
    forged = [name for name, found in sentinels if any(t.outcome == PASSED for t in found)]
    others = [_sentinel(name, found) for name, found in sentinels if not _is_failed(found)]
    known = {*expectation.passed, *expectation.must_fail}
    extra = [test for test in tests if test.id not in known and test not in injected]
    if extra:
        others.append(_unexpected(extra))
    return Comparison(
        expected=tuple(_expected(name, reported.get(name, [])) for name in expectation.passed),
        others=tuple(others),
        violation=f"{forged[0]} must fail, and was reported as passed" if forged else None,
    )


def _expected(name: str, found: Sequence[ReportedTest]) -> Check:
    passed = len(found) == 1 and found[0].outcome == PASSED
    message = "passed"
    if not found:
        message = "was not reported: it did not run, or did not end"
    elif not passed:
        message = ", ".join(test.outcome for test in found)
        if len(found) > 1:
            message = f"reported {len(found)} times: {message}"
    return Check(
        id=name,
        question=f"Does {name} pass?",
        passed=passed,
        message=message,
        severity=Severity.MUST,
        evidence=_said(found),
    )


def _sentinel(name: str, found: Sequence[ReportedTest]) -> Check:
    outcomes = ", ".join(test.outcome for test in found)
    return Check(
        id=f"sentinel: {name}",
        question=f"Does {name} fail, as it must?",
        passed=False,
        message=f"reported as {outcomes}" if found else "was not reported",
        severity=Severity.MUST,
        evidence=_said(found),
    )


def _unexpected(extra: Sequence[ReportedTest]) -> Check:
    return Check(
        id="no other tests",
        question="Are only the expected tests reported?",
        passed=False,
        message=f"{len(extra)} reported that nobody expects: "
        + ", ".join(f"{test.id} ({test.outcome})" for test in extra[:3]),
        severity=Severity.MUST,
        evidence=_said(extra),
    )


def _said(tests: Iterable[ReportedTest]) -> tuple[Finding, ...]:
    return tuple(
        Finding(text=f"{test.id}: {test.outcome}\n{test.text}".rstrip())
        for test in tests
        if test.outcome != PASSED
    )[:_MOST]


def _is_failed(found: Sequence[ReportedTest]) -> bool:
    return len(found) == 1 and found[0].outcome == FAILED
