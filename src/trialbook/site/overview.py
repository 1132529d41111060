"""The pages above single runs: the first page, and one page for each suite."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from trialbook.api import Page
from trialbook.model.plan import Plan
from trialbook.reporting.brief import RunBrief
from trialbook.reporting.comparability import obstacles
from trialbook.reporting.wording import part_said
from trialbook.site.addresses import OVERVIEW, run_page, suite_page
from trialbook.site.figures import configuration_figure, counts_figure, when
from trialbook.storage.reader import RunRef

_NEWEST = 25


@dataclass(frozen=True, slots=True, kw_only=True)
class RunEntry:
    """A run as lists show it."""

    run: RunRef
    plan: Plan
    summary: RunBrief
    closed: bool


def index_page(suites: Sequence[str], runs: Sequence[RunEntry], head: str | None) -> Page:
    """The first page: suites with their latest results, and the newest runs.

    ``runs`` stand in the order of time; ``suites`` names those without a run too.
    """
    context = {
        "suites": [_suite(name, [r for r in runs if r.run.suite == name]) for name in suites],
        "runs": [run_figure(entry) for entry in reversed(runs[-_NEWEST:])],
        "older": max(0, len(runs) - _NEWEST),
        "total": {
            "runs": len(runs),
            "slots": sum(entry.summary.total.all_scheduled.slots for entry in runs),
            "trials": sum(entry.summary.total.trials for entry in runs),
        },
        "head": head,
    }
    return Page(path=OVERVIEW, template="index.html", title="Results", context=context)


def suites_page(suite: str, runs: Sequence[RunEntry]) -> Page:
    """One suite: its decision as last planned, its tasks, and all its runs, newest first."""
    latest = runs[-1].plan if runs else None
    context = {
        "suite": suite,
        "decision": latest.decision if latest else "",
        "protocol": latest.protocol if latest else None,
        "tasks": [
            {
                "name": name,
                "category": task.category,
                "split": task.split,
                "contamination": task.contamination.replace("_", " "),
                "source": task.source,
                "graders": [str(grader.get("grader", "")) for grader in task.graders],
            }
            for name, task in (latest.tasks.items() if latest else ())
        ],
        "runs": [run_figure(entry) for entry in reversed(runs)],
        "apart": bool(runs[1:]) and bool(obstacles([entry.plan for entry in runs])),
        "command": f"trialbook eval {suite}",
    }
    return Page(path=suite_page(suite), template="suite.html", title=suite, context=context)


def _suite(name: str, runs: Sequence[RunEntry]) -> dict[str, Any]:
    # What stands for the suite is a run of all of it, as long as there is one.
    latest = ([run for run in runs if not run.plan.partial] or runs)[-1:]
    return {
        "name": name,
        "page": suite_page(name),
        "decision": runs[-1].plan.decision if runs else "",
        "runs": len(runs),
        "latest": run_figure(latest[0]) if latest else None,
        "latest_of_all": latest == list(runs[-1:]),
        "command": f"trialbook eval {name}",
    }


def run_figure(entry: RunEntry) -> dict[str, Any]:
    """A run on one line, and its configurations."""
    summary = entry.summary
    return {
        "run": entry.run.run,
        "suite": entry.run.suite,
        "page": run_page(entry.run),
        "protocol": summary.protocol,
        "draft": summary.draft,
        "part": part_said(entry.plan),
        "closed": entry.closed,
        "created": when(entry.plan.created),
        "finished": summary.finished,
        "counts": counts_figure(summary.total),
        "configurations": [configuration_figure(row) for row in summary.configurations],
    }
