"""A run's schedule, as planned and as it happened: order, times, and what ran side by side."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from trialbook.api import Page
from trialbook.model.trial import Trial
from trialbook.reporting.results import RunResults, grades_line
from trialbook.reporting.summary import AMOUNT, Cell, Summary
from trialbook.reporting.wording import duration, number_of, words
from trialbook.site.addresses import run_page, run_trials_page, suite_page, trial_page
from trialbook.site.figures import outcome_figure, when
from trialbook.site.paging import paged
from trialbook.storage.reader import RunRef


@dataclass(frozen=True, slots=True, kw_only=True)
class Happened:
    """How a run went in time. ``most`` is how many trials ran at one moment at most.

    ``moved`` counts slots that did not begin in the order planned, first trials only.
    """

    began: str
    ended: str
    whole: float
    working: float
    most: int
    moved: int
    slots: int


def happened(results: RunResults) -> Happened | None:
    """How it went; None before the first trial."""
    trials = results.trials
    if not trials:
        return None
    began = min(trial.started for trial in trials)
    ended = max(trial.finished for trial in trials)
    order = _order(results.summary)
    return Happened(
        began=began,
        ended=ended,
        whole=_seconds(began, ended),
        working=sum(_seconds(trial.started, trial.finished) for trial in trials),
        most=_most(trials),
        moved=sum(number != position for number, position in enumerate(order, start=1)),
        slots=len(order),
    )


def _order(summary: Summary) -> list[int]:
    """The planned positions of slots in the order in which their first trials began."""
    firsts = [
        (cell.trials[0].started, position)
        for position, cell in enumerate(summary.cells.values(), start=1)
        if cell.trials
    ]
    # Ranks among those that ran: a slot that never did moves no other.
    ran = sorted(position for _, position in firsts)
    rank = {position: number for number, position in enumerate(ran, start=1)}
    return [rank[position] for _, position in sorted(firsts)]


def _most(trials: Iterable[Trial]) -> int:
    moments = [(trial.started, 1) for trial in trials] + [(trial.finished, -1) for trial in trials]
    running = most = 0
    for _, step in sorted(moments):
        running += step
        most = max(most, running)
    return most


def happened_figure(found: Happened | None, planned: int) -> list[list[str]]:
    """As rows for the macro ``facts``; ``planned`` is how many trials were to run at once."""
    if found is None:
        return []
    kept = "as planned" if not found.moved else f"{found.moved} of {found.slots} at another place"
    return [
        ["First trial", when(found.began)],
        ["Last trial ended", when(found.ended)],
        ["From first to last", duration(found.whole)],
        ["All trials together", duration(found.working)],
        ["At once", f"at most {number_of(found.most, 'trial')}, {planned} planned"],
        ["Order of beginning", kept],
    ]


def schedule_pages(run: RunRef, results: RunResults, summary: Summary) -> Iterator[Page]:
    """Every slot and its trials in the order planned, on as many pages as that takes."""
    plan = results.plan
    rows = list(_rows(run, results, summary))
    for part in paged(rows, run_trials_page(run), "trial"):
        yield Page(
            path=part.path,
            template="run_trials.html",
            title=f"Trials of {plan.suite} · {plan.run}"
            + (f", page {part.number}" if part.number > 1 else ""),
            context={
                "suite": {"name": plan.suite, "page": suite_page(plan.suite)},
                "run": {"name": plan.run, "page": run_page(run)},
                "graders": _graders(summary),
                "paged": part,
                "rows": part.rows,
                "facts": happened_figure(happened(results), plan.jobs),
                "method": f"{plan.schedule_method}, seed {plan.seed}",
            },
        )


def _graders(summary: Summary) -> list[str]:
    return sorted({count.grader for row in summary.configurations for count in row.checks})


def _rows(run: RunRef, results: RunResults, summary: Summary) -> Iterator[dict[str, Any]]:
    began = min((trial.started for trial in results.trials), default="")
    ranks = _ranks(results.trials)
    for position, cell in enumerate(summary.cells.values(), start=1):
        yield from _slot_rows(run, results, (position, cell), began, ranks)
    for trial in summary.unplanned:
        yield _row(run, results, trial, 0, began, ranks)


def _ranks(trials: Sequence[Trial]) -> dict[str, int]:
    """In which order trials began."""
    ordered = sorted(trials, key=lambda trial: (trial.started, trial.path))
    return {trial.path: number for number, trial in enumerate(ordered, start=1)}


def _slot_rows(
    run: RunRef,
    results: RunResults,
    slot: tuple[int, Cell],
    began: str,
    ranks: dict[str, int],
) -> Iterator[dict[str, Any]]:
    position, cell = slot
    for trial in cell.trials:
        yield _row(run, results, trial, position, began, ranks)
    if not cell.trials:
        yield {
            **outcome_figure(cell.outcome),
            "position": position,
            "began": "",
            "rank": "",
            "task": cell.slot.task,
            "configuration": cell.slot.configuration,
            "repetition": cell.slot.repetition,
            "rerun": 0,
            "page": "",
            "path": cell.slot.path,
            "after": "",
            "took": "",
            "seconds": "",
            "cost": "",
            "grades": "",
            "reason": "",
            "corrected": "",
            "isolated": "",
        }


def _row(
    run: RunRef,
    results: RunResults,
    trial: Trial,
    position: int,
    began: str,
    ranks: dict[str, int],
) -> dict[str, Any]:
    seconds = _seconds(trial.started, trial.finished)
    usd = trial.usage.cost_usd or ""
    standing = results.standing(trial)
    return {
        **outcome_figure(trial.outcome),
        "position": position or "",
        "began": trial.started,
        "rank": ranks[trial.path],
        "task": trial.task,
        "configuration": trial.configuration,
        "repetition": trial.repetition,
        "rerun": trial.rerun,
        "page": trial_page(run, trial.path),
        "path": trial.path,
        "after": duration(_seconds(began, trial.started)),
        "took": duration(seconds),
        "seconds": round(seconds, 3),
        "cost": usd if AMOUNT.fullmatch(usd) else "",
        "grades": grades_line(trial),
        "reason": trial.reason,
        "corrected": words(standing.record.outcome) if standing.changed else "",
        "isolated": "" if trial.isolation is None or trial.isolation.isolated else "not isolated",
    }


def _seconds(began: str, ended: str) -> float:
    took = datetime.fromisoformat(ended) - datetime.fromisoformat(began)
    return max(0.0, took.total_seconds())
