"""Every trial of a task over time: a strip for each configuration, and all of them in a list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from trialbook.model.outcome import Outcome
from trialbook.reporting.wording import number_of
from trialbook.site.addresses import run_page, trial_page
from trialbook.site.figures import outcome_figure, when
from trialbook.site.ledger_view import LedgerView
from trialbook.site.suite_tasks_figure import row_cell
from trialbook.storage.reader import RunRef
from trialbook.storage.rows import TrialRow

_RUNS = 24
"""How many of the newest runs a strip has."""

_CELLS = 10
"""How many trials of a configuration in a run it shows."""

Sightings = Sequence[tuple[RunRef, Sequence[TrialRow]]]
"""The trials of a task, run by run, in the order of time."""


def trials_of(view: LedgerView, suite: str, task: str) -> Sightings:
    """Every trial of a task, by run; runs without one are left out."""
    found = [(run, view.rows_of_task(run, task)) for run in view.runs_of(suite)]
    return [(run, rows) for run, rows in found if rows]


def strip_of(view: LedgerView, found: Sightings) -> dict[str, Any]:
    """Configurations by runs: a mark for each trial that stands for its slot."""
    shown = found[-_RUNS:]
    names = dict.fromkeys(row.configuration for _, rows in shown for row in rows)
    runs, before = [], None
    for run, _ in shown:
        brief = view.brief(run)
        changed = before is not None and brief.protocol != before
        before = brief.protocol
        runs.append(
            {
                "name": run.run,
                "page": run_page(run),
                "day": brief.created[:10],
                "protocol": brief.protocol,
                "changed": changed,
                "draft": brief.draft,
            }
        )
    return {
        "runs": runs,
        "hidden": len(found) - len(shown),
        "rows": [
            {"name": name, "groups": [_group(run, rows, name) for run, rows in shown]}
            for name in names
        ],
    }


def _group(run: RunRef, rows: Sequence[TrialRow], name: str) -> dict[str, Any]:
    last = {row.slot: row for row in rows if row.configuration == name}
    cells = [row_cell(run, row) for row in last.values()]
    return {"cells": cells[:_CELLS], "hidden": max(0, len(cells) - _CELLS)}


def said_of(found: Sightings) -> str:
    """All of it in a sentence, counted over the slots."""
    last = {(run, row.slot): row for run, rows in found for row in rows}
    accepted = sum(row.outcome is Outcome.ACCEPTED for row in last.values())
    if not last:
        return ""
    runs = number_of(len(found), "run")
    return f"Accepted in {accepted} of {number_of(len(last), 'slot')}, over {runs}."


def list_of(found: Sightings) -> list[dict[str, Any]]:
    """Every trial in a row, the newest first; those that were run again too."""
    return [
        {
            **outcome_figure(row.outcome),
            "run": run.run,
            "run_page": run_page(run),
            "trial": row.slot.trial_path(row.rerun).partition("/")[2],
            "page": trial_page(run, row.slot.trial_path(row.rerun)),
            "configuration": row.configuration,
            "repetition": row.repetition,
            "corrected": row.corrected,
            "started": when(row.started),
            "cost": "" if row.cost_usd is None else f"${row.cost_usd}",
            "grades": ", ".join(
                f"{grade.grader} {grade.passed}/{grade.total}"
                if grade.status == "graded"
                else f"{grade.grader} {grade.status}"
                for grade in row.grades
            ),
        }
        for run, rows in reversed(found)
        for row in rows
    ]
