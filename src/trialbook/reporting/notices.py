"""What a reader must know before any number of a run, in plain text for every kind of page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trialbook.model.outcome import NOT_RUN
from trialbook.reporting.results import RunResults
from trialbook.reporting.summary import Summary
from trialbook.reporting.wording import listed, number_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One caution: ``code`` is stable and for programs, ``title`` and ``text`` are for people."""

    code: str
    title: str
    text: str


def notices(results: RunResults) -> tuple[Notice, ...]:
    """Every caution that applies to a run, the gravest first."""
    summary = results.summary
    return (
        *_completeness(summary),
        *_natures(summary),
        *_isolation(results, summary),
        *_views(summary),
    )


def _completeness(summary: Summary) -> Iterator[Notice]:
    if summary.draft:
        yield Notice(
            code="draft",
            title="Draft",
            text="The suite was not locked when this run was planned. The numbers describe work in "
            "progress and compare with no other run.",
        )
    if missing := summary.total.outcomes.get(NOT_RUN, 0):
        yield Notice(
            code="not_run",
            title="Not everything ran",
            text=f"{number_of(missing, 'slot')} of {summary.total.all_scheduled.slots} never ran "
            "and count as not accepted among all scheduled slots.",
        )
    if summary.unplanned:
        yield Notice(
            code="unplanned",
            title="Outside the plan",
            text=f"{number_of(len(summary.unplanned), 'trial')} on record for slots that the plan "
            "does not have; no number here counts them.",
        )


def _natures(summary: Summary) -> Iterator[Notice]:
    for nature in dict.fromkeys(row.nature for row in summary.configurations if row.nature):
        rows = [row for row in summary.configurations if row.nature == nature]
        names = listed(row.name for row in rows)
        yield Notice(
            code="nature",
            title=rows[0].label.capitalize(),
            text=f"{names}: {nature}.",
        )


def _isolation(results: RunResults, summary: Summary) -> Iterator[Notice]:
    if summary.not_isolated:
        records = [t.isolation for t in results.trials if t.isolation is not None]
        names = sorted({record.sandbox for record in records if not record.isolated})
        yield Notice(
            code="not_isolated",
            title="Not isolated",
            text=f"{summary.not_isolated} of {number_of(len(results.trials), 'trial')} ran without "
            f"isolation (sandbox {listed(names)}): what ran there could reach whatever the user "
            "running it could.",
        )


def _views(summary: Summary) -> Iterator[Notice]:
    for one, other in summary.not_comparable:
        yield Notice(
            code="not_comparable",
            title="Valid executions not comparable",
            text=f"{one} and {other} lost clearly different numbers of slots, so that what is left "
            "are two different samples.",
        )
    if summary.total.pending:
        yield Notice(
            code="pending",
            title="Preliminary",
            text=f"A person's verdict on {number_of(summary.total.pending, 'slot')} is due; "
            "no view counts that as accepted yet.",
        )
