"""The page of a run: what was planned, what came out, and how to check it."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from trialbook.api import Page
from trialbook.formats.records import plain
from trialbook.model.plan import Plan
from trialbook.model.suite import Comparison
from trialbook.reporting.checks import CheckCount, check_counts
from trialbook.reporting.facts_by_outcome import Measured
from trialbook.reporting.notices import notices
from trialbook.reporting.report import rerun_said
from trialbook.reporting.report_opinions import opinion_table
from trialbook.reporting.results import RunResults
from trialbook.reporting.summary import Summary
from trialbook.reporting.wording import number_of, part_said, ratio
from trialbook.site.addresses import (
    GATES,
    configuration_page,
    run_folder,
    run_matrix_page,
    run_page,
    run_trials_page,
    suite_page,
    task_page,
)
from trialbook.site.comparison_page import comparison_links
from trialbook.site.corrections_figure import run_corrections
from trialbook.site.figures import (
    cell_figure,
    configuration_figure,
    counts_figure,
    matrix_figure,
    when,
)
from trialbook.site.judgement_pages import JUDGEMENT
from trialbook.site.ledger_view import LedgerView
from trialbook.site.paging import paged
from trialbook.site.run_numbers import (
    answer_figure,
    costs_figure,
    enforced_figure,
    kinds_figure,
    reliability_figure,
)
from trialbook.site.run_plots import cost_plot, duration_plot, pass_plot
from trialbook.site.run_schedule import happened, happened_figure, schedule_pages
from trialbook.site.series_figure import series_rows
from trialbook.site.setup_facts import limits_said, setup_figure
from trialbook.storage.reader import RunRef

_CHECKS_SHOWN = 200
_TASKS = 100
_SLOTS = 60


def run_pages(view: LedgerView, run: RunRef) -> Iterator[Page]:
    """The page of a run, and those of its lists: every trial, and the matrix where it is large."""
    results = view.results(run)
    summary = results.summary
    closed = view.reader.is_closed(run)
    links = comparison_links(run, results.plan)
    if results.plan.judgement is not None and view.rubrics:
        links.append(["Judgement", JUDGEMENT])
    worked = view.worked(run)
    yield page_of_run(run, results, summary, closed=closed, worked=worked, links=links)
    yield from schedule_pages(run, results, summary)
    if len(summary.tasks) > _TASKS:
        yield from _matrix_pages(run, results, summary)


def run_pages_key(view: LedgerView, run: RunRef) -> object:
    """What the pages of a run depend on."""
    return (view.run_key(run), around_run(view, run))


def around_run(view: LedgerView, run: RunRef) -> object:
    """What they depend on outside of its folder: whether there is a page to lead to."""
    del run
    return bool(view.rubrics)


def page_of_run(
    run: RunRef,
    results: RunResults,
    summary: Summary,
    *,
    closed: bool,
    worked: Sequence[Measured] = (),
    links: Sequence[Sequence[str]] = (),
) -> Page:
    """The page of one run.

    ``worked`` says how agents worked in it, ``links`` are labels and paths of pages beside it.
    """
    plan = results.plan
    context = {
        **_opening(plan, summary),
        "closed": closed,
        "links": links,
        "finished": summary.finished,
        "slots": len(summary.cells),
        "answer": answer_figure(results, closed),
        "gate": _gate(plan),
        "notices": plain(notices(results)),
        "counts": counts_figure(summary.total),
        "configurations": [
            configuration_figure(row) | {"page": configuration_page(plan.suite, row.name)}
            for row in summary.configurations
        ],
        "graders": sorted({c.grader for row in summary.configurations for c in row.checks}),
        "repetitions": list(range(1, summary.repetitions + 1)),
        "opinions": _opinions(results),
        "series": series_rows(run, results),
        "matrix": _matrix(run, results, summary, summary.tasks[:_TASKS]),
        "matrix_more": run_matrix_page(run) if len(summary.tasks) > _TASKS else "",
        **_numbers(results, summary),
        "corrections": run_corrections(run, results),
        "checks": _checks(results),
        "worked": [_worked(one) for one in worked],
        "happened": happened_figure(happened(results), plan.jobs),
        "schedule": [
            {"slot": slot.key.path, **cell_figure(run, summary.cells[slot.key])}
            for slot in plan.schedule[:_SLOTS]
        ],
        "trials_page": run_trials_page(run),
        "facts": _facts(plan),
        "tasks": _tasks(plan),
        "setups": [
            setup_figure(name, planned) | {"page": configuration_page(plan.suite, name)}
            for name, planned in plan.configurations.items()
        ],
        "plugins": plain(plan.plugins),
        "commands": _commands(plan),
        "csv": f"{run_folder(run)}/results.csv",
    }
    title = f"{plan.suite}@{plan.protocol} · {plan.run}"
    return Page(path=run_page(run), template="run.html", title=title, context=context)


def _opening(plan: Plan, summary: Summary) -> dict[str, Any]:
    return {
        "suite": {"name": plan.suite, "page": suite_page(plan.suite)},
        "run": plan.run,
        "protocol": plan.protocol,
        "draft": summary.draft,
        "part": part_said(plan),
        "decision": plan.decision,
        "kind": plan.kind,
        "created": when(plan.created),
    }


def _numbers(results: RunResults, summary: Summary) -> dict[str, Any]:
    return {
        "kinds": kinds_figure(results),
        "reliability": reliability_figure(results, summary),
        "costs": costs_figure(results),
        "plots": {
            "passes": pass_plot(results),
            "times": duration_plot(results),
            "costs": cost_plot(results),
        },
        "enforced": enforced_figure(results),
    }


def _worked(one: Measured) -> dict[str, str]:
    return {
        "configuration": one.configuration,
        "name": one.name,
        "accepted": str(one.accepted),
        "others": str(one.others),
    }


def _gate(plan: Plan) -> dict[str, Any] | None:
    """What the run has to do with a gate; None if it was not made for one."""
    if plan.gate is None:
        return None
    older = [path for path in (plan.gate.baseline_from,) if path]
    return {
        "page": GATES,
        "baseline": plan.gate.baseline,
        "candidate": plan.gate.candidate,
        "older": older[0] if older else "",
        "after": len(plan.gate.after),
        "command": " ".join(
            ["trialbook gate", *(path.partition("/")[2] for path in plan.gate.after), plan.run]
        ),
    }


def _matrix(
    run: RunRef, results: RunResults, summary: Summary, tasks: Sequence[str]
) -> dict[str, Any]:
    """A part of the matrix, with what its rows can be sorted and filtered by."""
    planned = results.plan.tasks
    figure = matrix_figure(run, replace(summary, tasks=tuple(tasks)))
    for row in figure["rows"]:
        task = planned[row["task"]]
        page = task_page(results.plan.suite, row["task"])
        row |= {"category": task.category, "split": task.split, "page": page}
        for group in row["groups"]:
            marks = [cell["tone"] for cell in group["cells"]]
            group["accepted"] = marks.count("accepted")
    return figure


def _matrix_pages(run: RunRef, results: RunResults, summary: Summary) -> Iterator[Page]:
    plan = results.plan
    for part in paged(summary.tasks, run_matrix_page(run), "task", size=_TASKS):
        yield Page(
            path=part.path,
            template="run_matrix.html",
            title=f"Matrix of {plan.suite} · {plan.run}, page {part.number}",
            context={
                "suite": {"name": plan.suite, "page": suite_page(plan.suite)},
                "run": {"name": plan.run, "page": run_page(run)},
                "matrix": _matrix(run, results, summary, part.rows),
                "paged": part,
            },
        )


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
        "For": plan.kind,
        "Comparison": f"{compare.candidate} against {compare.baseline}" if compare else "none",
        "Margin": _margin(compare),
        "Looks": ", ".join(f"after round {number}" for number in compare.looks) or "only at the end"
        if compare
        else "none",
        "Confidence": f"alpha {compare.alpha:g}" if compare else "none",
        "Order": f"{plan.schedule_method}, seed {plan.seed}",
        "At once": number_of(plan.jobs, "trial"),
        "Program": f"trialbook {runner.trialbook}, Python {runner.python}, "
        f"git {runner.git or 'not there'}",
        "Machine": f"{runner.platform}, "
        + (number_of(runner.cpus, "processor") if runner.cpus else "processors not known"),
        "Lock": f"{plan.lock.path}, sha256 {plan.lock.sha256}" if plan.lock else "none",
        "Held-out tasks": f"opening {plan.held_out_opened}" if plan.held_out_opened else "none run",
        "People": _people(plan),
        "Digest of the suite": plan.suite_digest,
    }
    return [{"name": name, "value": value} for name, value in facts.items()]


def _people(plan: Plan) -> str:
    judged = plan.judgement
    if judged is None:
        return "nobody is asked"
    asked = number_of(judged.reviewers, "reviewer")
    return f"{asked} of each item with {judged.rubric}"


def _margin(compare: Comparison | None) -> str:
    if compare is None or compare.margin is None:
        return "none declared"
    because = f": {compare.because}" if compare.because else ""
    return f"{compare.margin * 100:g} points{because}"


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


def _commands(plan: Plan) -> list[str]:
    folder = shlex.quote(f"runs/{plan.path}")
    name = shlex.quote(plan.run)
    compare = plan.compare
    return [
        f"git log --stat -- {folder}",
        f"git show HEAD:./{folder}/plan.json",
        f"git show HEAD:./{folder}/report.md",
        f"trialbook show {name}",
        f"trialbook report {name}",
        *([f"trialbook compare {name}"] if compare else []),
        f"trialbook verify --run {name}",
    ]
