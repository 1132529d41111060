"""Numbers of a run in the form that templates draw: plain values, worded by `reporting`."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from trialbook.model.outcome import NOT_RUN
from trialbook.model.plan import SlotKey
from trialbook.model.trial import Trial
from trialbook.reporting.brief import RunBrief
from trialbook.reporting.summary import (
    Cell,
    ConfigurationSummary,
    Summary,
    amount_said,
    checks_said,
)
from trialbook.reporting.wording import (
    LETTERS,
    bounds,
    meaning,
    others,
    percent,
    rate,
    ratio,
    tone,
    words,
)
from trialbook.site.addresses import run_page, trial_page
from trialbook.stats.views import Counts
from trialbook.storage.reader import RunRef

_TONES = ("accepted", "pending", "failed", "errored", "absent")


def counts_figure(counts: Counts) -> dict[str, Any]:
    """Both views with their counts, and the segments of a bar over all scheduled slots."""
    share = counts.all_scheduled.rate
    return {
        "scheduled": rate(counts.all_scheduled),
        "scheduled_counts": ratio(counts.all_scheduled),
        "scheduled_share": "" if share is None else percent(share),
        "valid": rate(counts.valid_execution),
        "bounds": bounds(counts),
        "others": others(counts),
        "replacements": counts.replacements,
        "slots": counts.all_scheduled.slots,
        "bar": _bar(counts),
    }


def _bar(counts: Counts) -> list[dict[str, Any]]:
    """Segments in slots, by tone: accepted, then what waits, failed, errored, never ran."""
    sums = dict.fromkeys(_TONES, 0)
    for outcome, number in counts.outcomes.items():
        sums[tone(outcome)] += number
    segments, start = [], 0
    for name, number in sums.items():
        if number:
            segments.append({"tone": name, "start": start, "slots": number})
            start += number
    return segments


def configuration_figure(row: ConfigurationSummary) -> dict[str, Any]:
    """One configuration: what it is, its counts, its checks per repetition, its spend."""
    return {
        "name": row.name,
        "label": row.label,
        "nature": row.nature,
        "description": row.description,
        "counts": counts_figure(row.counts),
        "checks": [
            {
                "grader": count.grader,
                "repetition": count.repetition,
                "said": checks_said(count),
                "graded": count.graded,
                "full": count.passed == count.total,
            }
            for count in row.checks
        ],
        "spend": [
            {"basis": words(entry.basis), "amount": amount_said(entry), "trials": entry.trials}
            for entry in row.spend
        ],
    }


def run_figure(brief: RunBrief) -> dict[str, Any]:
    """A run on one line, and its configurations."""
    return {
        "run": brief.run,
        "suite": brief.suite,
        "page": run_page(brief.ref),
        "protocol": brief.protocol,
        "draft": brief.draft,
        "part": brief.part,
        "closed": brief.closed,
        "created": when(brief.created),
        "finished": brief.finished,
        "counts": counts_figure(brief.total),
        "configurations": [configuration_figure(row) for row in brief.configurations],
    }


def matrix_figure(run: RunRef, summary: Summary) -> dict[str, Any]:
    """Tasks by configurations by repetitions; each cell links to the trial that stands for it."""
    names = [row.name for row in summary.configurations]
    repetitions = range(1, summary.repetitions + 1)
    rows = []
    for task in summary.tasks:
        groups = []
        for name in names:
            keys = [SlotKey(task, name, number) for number in repetitions]
            cells = [cell_figure(run, summary.cells[k]) for k in keys if k in summary.cells]
            groups.append({"configuration": name, "cells": cells})
        rows.append({"task": task, "groups": groups})
    return {"configurations": names, "rows": rows, "legend": legend(summary.total.outcomes)}


def cell_figure(run: RunRef, cell: Cell) -> dict[str, Any]:
    """One slot: letter, tone, words for it, and where its trial is (its last one)."""
    last = cell.last
    said = words(cell.outcome)
    if last is not None and len(cell.trials) > 1:
        said += f", run again: {words(last.outcome)}"
    if cell.changed:
        said += ", not as recorded"
    return {
        **outcome_figure(cell.outcome),
        "changed": cell.changed,
        "repetition": cell.slot.repetition,
        "said": said,
        "reason": last.reason if last else meaning(NOT_RUN),
        "rerun": len(cell.trials) > 1,
        "page": trial_page(run, last.path) if last else "",
        "here": False,
    }


def outcome_figure(outcome: str) -> dict[str, str]:
    """An outcome's letter, tone, words and meaning."""
    return dict(_outcome(outcome))


@lru_cache(maxsize=64)
def _outcome(outcome: str) -> Mapping[str, str]:
    return {
        "code": str(outcome),
        "letter": LETTERS[outcome],
        "tone": tone(outcome),
        "words": words(outcome),
        "meaning": meaning(outcome),
    }


def legend(outcomes: Mapping[str, int]) -> list[dict[str, str]]:
    """The outcomes that occur, in the order of the vocabulary."""
    return [outcome_figure(outcome) for outcome in LETTERS if outcome in outcomes]


def when(text: str) -> str:
    """A record's time to the minute: ``2026-11-30 15:15 UTC``."""
    return f"{text[:10]} {text[11:16]} UTC" if text.endswith("Z") else text


def trial_link(run: RunRef, trial: Trial) -> dict[str, Any]:
    """A trial as something to go to."""
    return {
        **outcome_figure(trial.outcome),
        "path": trial.path,
        "page": trial_page(run, trial.path),
        "repetition": trial.repetition,
        "rerun": trial.rerun,
    }
