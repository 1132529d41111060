"""The page of a run: what was planned, what came out, and how to check it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import Any

from trialbook.api import Page
from trialbook.formats.records import plain
from trialbook.model.plan import Plan
from trialbook.model.suite import Limits
from trialbook.reporting.attempts import escalation_said
from trialbook.reporting.checks import CheckCount, check_counts
from trialbook.reporting.facts_by_outcome import Measured
from trialbook.reporting.notices import notices
from trialbook.reporting.report import rerun_said
from trialbook.reporting.report_opinions import opinion_table
from trialbook.reporting.results import RunResults
from trialbook.reporting.summary import Summary
from trialbook.reporting.wording import number_of, part_said, ratio
from trialbook.site.addresses import run_folder, run_page, suite_page
from trialbook.site.corrections_figure import run_corrections
from trialbook.site.figures import (
    cell_figure,
    configuration_figure,
    counts_figure,
    matrix_figure,
    when,
)
from trialbook.site.series_figure import series_rows
from trialbook.storage.reader import RunRef

_CHECKS_SHOWN = 200


def page_of_run(
    run: RunRef,
    results: RunResults,
    summary: Summary,
    *,
    closed: bool,
    worked: Sequence[Measured] = (),
) -> Page:
    """The page of one run; ``worked`` says how agents worked in it."""
    plan = results.plan
    context = {
        "suite": {"name": plan.suite, "page": suite_page(plan.suite)},
        "run": plan.run,
        "protocol": plan.protocol,
        "draft": summary.draft,
        "part": part_said(plan),
        "closed": closed,
        "decision": plan.decision,
        "created": when(plan.created),
        "finished": summary.finished,
        "notices": plain(notices(results)),
        "counts": counts_figure(summary.total),
        "configurations": [configuration_figure(row) for row in summary.configurations],
        "graders": sorted({c.grader for row in summary.configurations for c in row.checks}),
        "repetitions": list(range(1, summary.repetitions + 1)),
        "opinions": _opinions(results),
        "series": series_rows(run, results),
        "matrix": matrix_figure(run, summary),
        "corrections": run_corrections(run, results),
        "checks": _checks(results),
        "worked": [
            {
                "configuration": one.configuration,
                "name": one.name,
                "accepted": str(one.accepted),
                "others": str(one.others),
            }
            for one in worked
        ],
        "schedule": [
            {"slot": slot.key.path, **cell_figure(run, summary.cells[slot.key])}
            for slot in plan.schedule
        ],
        "facts": _facts(plan),
        "tasks": _tasks(plan),
        "setups": [_setup(plan, name) for name in plan.configurations],
        "plugins": plain(plan.plugins),
        "commands": _commands(plan),
        "csv": f"{run_folder(run)}/results.csv",
    }
    title = f"{plan.suite}@{plan.protocol} · {plan.run}"
    return Page(path=run_page(run), template="run.html", title=title, context=context)


def _opinions(results: RunResults) -> dict[str, Any] | None:
    """Tests and merging side by side; None where nobody judges."""
    found = opinion_table(results)
    return None if found is None else {"judges": found.judges, "rows": found.rows}


def _checks(results: RunResults) -> dict[str, Any]:
    """The checks that somebody failed first; then the others, as far as a page holds them."""
    counts = sorted(check_counts(results), key=lambda check: check.always_passed)
    names = list(results.plan.configurations)
    rows = [(check.always_passed, _check(check, names)) for check in counts[:_CHECKS_SHOWN]]
    return {
        "configurations": names,
        "failed": [row for passed, row in rows if not passed],
        "passed": [row for passed, row in rows if passed],
        "hidden": max(0, len(counts) - _CHECKS_SHOWN),
    }


def _check(check: CheckCount, configurations: Sequence[str]) -> dict[str, Any]:
    tallies = [check.passed[name] for name in configurations]
    return {
        "task": check.task,
        "grader": check.grader,
        "id": check.id,
        "question": check.question,
        "severity": check.severity.value,
        "passed": [
            {"said": ratio(tally) if tally.slots else "", "full": tally.accepted == tally.slots}
            for tally in tallies
        ],
    }


def _facts(plan: Plan) -> list[dict[str, str]]:
    runner = plan.runner
    compare = plan.compare
    facts = {
        "Status": plan.status,
        "Planned": plan.created,
        "Accepted when": plan.accept,
        "Run again": rerun_said(plan.rerun),
        "After a limit": "not accepted, whatever the grades say"
        if plan.limits_are_failures
        else "graded like any other trial",
        "Comparison": f"{compare.candidate} against {compare.baseline}" if compare else "none",
        "Order": f"{plan.schedule_method}, seed {plan.seed}",
        "At once": number_of(plan.jobs, "trial"),
        "Program": f"trialbook {runner.trialbook}, Python {runner.python}, "
        f"git {runner.git or 'not there'}",
        "Machine": f"{runner.platform}, "
        + (number_of(runner.cpus, "processor") if runner.cpus else "processors not known"),
        "Digest of the suite": plan.suite_digest,
    }
    return [{"name": name, "value": value} for name, value in facts.items()]


def _tasks(plan: Plan) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "category": task.category,
            "split": task.split,
            "contamination": task.contamination.replace("_", " "),
            "source": task.source,
            "tree": task.tree,
            "graders": [str(grader.get("grader", "")) for grader in task.graders],
            "limits": limits_said(task.limits),
            "no_change_expected": task.no_change_expected,
            "digest": task.digest,
        }
        for name, task in plan.tasks.items()
    ]


def _setup(plan: Plan, name: str) -> dict[str, Any]:
    planned = plan.configurations[name]
    network = planned.network
    allowed = ", ".join(network.allow)
    return {
        "name": name,
        "description": planned.description,
        "agent": f"{planned.agent} {planned.agent_version or ''}".strip(),
        "model": planned.model,
        "reasoning": planned.reasoning,
        "instructions": planned.instructions,
        "approval": planned.approval,
        "sandbox": planned.sandbox,
        "network": f"{network.mode}: {allowed}" if allowed else network.mode,
        "secrets": [*planned.secrets, *(one.source for one in planned.credential_files)],
        "limits": limits_said(planned.limits),
        "parameters": json.dumps(planned.parameters, indent=2, ensure_ascii=False)
        if planned.parameters
        else "",
        "attempts": escalation_said(planned.escalation) if planned.escalation else "",
        "gives_reference": planned.gives_reference,
        "digest": planned.digest,
    }


_UNITS = {
    "minutes": "min",
    "grace_seconds": "s grace",
    "output_mb": "MB output",
    "file_mb": "MB a file",
    "usd": "USD",
    "turns": "turns",
    "tokens": "tokens",
    "memory_mb": "MB memory",
    "processes": "processes",
    "workspace_mb": "MB workspace and home",
}


def limits_said(limits: Limits) -> str:
    """Ceilings in words: ``20 min, 10 MB output``; none where there is none."""
    said = [
        f"{getattr(limits, name):g} {unit}"
        for name, unit in _UNITS.items()
        if getattr(limits, name) is not None
    ]
    return ", ".join(said) or "none"


def _commands(plan: Plan) -> list[str]:
    folder = shlex.quote(f"runs/{plan.path}")
    return [
        f"git log --stat -- {folder}",
        f"git show HEAD:./{folder}/plan.json",
        f"trialbook show {shlex.quote(plan.run)}",
    ]
