"""What of a ledger waits for somebody or does not count: open, invalid, draft runs, and faults."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from trialbook.reporting.brief import RunBrief
from trialbook.reporting.conclusion import Conclusion
from trialbook.reporting.wording import number_of
from trialbook.site.addresses import run_page, suite_page
from trialbook.site.ledger_view import LedgerView

_NAMED = 6


class Known(NamedTuple):
    """A run in short, and what it came to."""

    brief: RunBrief
    conclusion: Conclusion


def health(view: LedgerView, known: Sequence[Known]) -> list[dict[str, Any]]:
    """Lines of what is not well, each with the runs or suites that it is about; none if all is."""
    return [line for line in _lines(view, known) if line["count"]]


def _lines(view: LedgerView, known: Sequence[Known]) -> Iterator[dict[str, Any]]:
    yield _runs(
        "Incomplete",
        "open: trials of the plan are missing, or the results were not written",
        [one for one in known if not one.brief.closed],
    )
    yield _runs(
        "Invalidated",
        "an incident made them void; they stay on record and compare with none",
        [one for one in known if one.conclusion.invalidated],
    )
    yield _runs(
        "Draft",
        "made of a suite that was not locked; they compare with none",
        [one for one in known if one.brief.draft],
    )
    yield _runs(
        "Waiting",
        "closed, and something in them waits for a person",
        [one for one in known if one.brief.closed and one.conclusion.waits],
    )
    faulty = [suite for suite in view.suites if view.faults(suite)]
    yield {
        "name": "Faulty suites",
        "means": "their files have mistakes; `trialbook suite check` names them",
        "count": number_of(len(faulty), "suite") if faulty else "",
        "places": [{"label": suite, "page": suite_page(suite)} for suite in faulty[:_NAMED]],
        "more": max(0, len(faulty) - _NAMED),
    }


def _runs(name: str, means: str, found: Sequence[Known]) -> dict[str, Any]:
    newest = [one.brief for one in reversed(found[-_NAMED:])]
    return {
        "name": name,
        "means": means,
        "count": number_of(len(found), "run") if found else "",
        "places": [
            {"label": f"{one.suite} {one.run}", "page": run_page(one.ref)} for one in newest
        ],
        "more": max(0, len(found) - _NAMED),
    }
