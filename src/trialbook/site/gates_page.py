"""The page of gates: every decision over time, and how often gates were false alarms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from trialbook.api import Page
from trialbook.reporting.gates import VERDICTS, AlarmRate, GateEntry, alarm_rates
from trialbook.reporting.gates_said import bounds_said, share_said
from trialbook.site.addresses import GATES, suite_page
from trialbook.site.gate_figure import gate_row
from trialbook.site.ledger_view import LedgerView
from trialbook.site.paging import paged


def gates_pages(view: LedgerView, _: None) -> Iterator[Page]:
    """All gates of the ledger, newest first, on as many pages as they need."""
    found = view.gates
    rates = [_rate(one) for one in alarm_rates(found)]
    rows = [gate_row(entry) for entry in reversed(found)]
    for part in paged(rows, GATES, "gate"):
        yield Page(
            path=part.path,
            template="gates.html",
            title="Gates" if part.number == 1 else f"Gates, page {part.number}",
            context={
                "rows": part.rows,
                "paged": part,
                "rates": rates,
                "tiles_shown": _tiles(found),
            },
        )


def _tiles(entries: Sequence[GateEntry]) -> list[list[Any]]:
    """How many gates came to what."""
    counts = Counter(entry.gate.verdict for entry in entries)
    known = [[word.capitalize(), counts[word]] for word in VERDICTS if counts[word]]
    return [["Gates", len(entries)], *known]


def _rate(rate: AlarmRate) -> dict[str, Any]:
    return {
        "suite": rate.suite,
        "page": suite_page(rate.suite) if rate.suite else "",
        "gates": rate.gates,
        "decided": rate.decided,
        "failed": rate.failed,
        "unknown": rate.unknown,
        "false": share_said(rate.false, rate.decided) if rate.decided else "none",
        "interval": bounds_said(rate.interval),
        "equal": share_said(rate.equal_failed, rate.equal) if rate.equal else "none",
        "equal_interval": bounds_said(rate.equal_interval),
    }
