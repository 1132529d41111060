"""The page of a configuration: what it is, how it differs from its neighbours, how it came out."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from trialbook.api import Page
from trialbook.model.plan import PlannedConfiguration
from trialbook.model.suite import Configuration
from trialbook.reporting.arms import what_differs
from trialbook.reporting.brief import RunBrief
from trialbook.reporting.conclusion import conclusion_of
from trialbook.reporting.summary import ConfigurationSummary, amount_said
from trialbook.reporting.wording import number_of, words
from trialbook.site.addresses import configuration_page, run_page, suite_page, task_page
from trialbook.site.figures import counts_figure, when
from trialbook.site.history_plot import history_plot
from trialbook.site.instruction_texts import (
    instruction_files,
    instruction_texts,
    text_differences,
    text_figures,
)
from trialbook.site.ledger_view import LedgerView
from trialbook.site.setup_facts import differing, setup_facts, told_facts
from trialbook.site.suite_tasks_figure import row_cell
from trialbook.site.units import ConfigurationRef
from trialbook.storage.reader import RunRef
from trialbook.storage.rows import TrialRow

_RUNS = 200
_NEIGHBOURS = 8
_COLUMNS = 6
_VERSIONS = 30


@dataclass(slots=True)
class _Version:
    """What ran under the name while nothing about it changed: its digest, and the runs of it."""

    digest: str
    runs: list[RunBrief] = field(default_factory=list)


def configuration_pages(view: LedgerView, ref: ConfigurationRef) -> Iterator[Page]:
    """The page of one configuration of a suite."""
    suite, name = ref
    versions = _versions(view, ref)
    briefs = [brief for version in versions for brief in version.runs]
    newest = briefs[-1].ref if briefs else None
    planned = view.plan(newest).configurations[name] if newest else None
    authored = view.authored(suite)
    mine = next((c for c in authored.configurations if c.name == name), None) if authored else None
    texts = instruction_texts(view, newest, planned) if newest and planned else {}
    row = _summary(briefs[-1], name) if briefs else None
    context = {
        "suite": {"name": suite, "page": suite_page(suite)},
        "name": name,
        "label": row.label if row else "",
        "nature": row.nature if row else "",
        "description": planned.description if planned else mine.description if mine else "",
        "there": mine is not None,
        "as_of": {"run": newest.run, "page": run_page(newest)} if newest else None,
        "facts": told_facts(setup_facts(planned)) if planned else _authored_facts(mine),
        "digest": planned.digest if planned else "",
        "files": text_figures(planned, texts) if planned else [],
        "neighbours": _neighbours(view, newest, name) if newest else [],
        "history": history_plot(briefs, names=(name,)) if briefs else None,
        "results": [_result(brief, name, versions) for brief in reversed(briefs[-_RUNS:])],
        "hidden": max(0, len(briefs) - _RUNS),
        "totals": _tiles(briefs, name, versions),
        "matrix": _matrix(view, briefs[-_COLUMNS:], name, suite),
        "versions": _history(view, versions, name),
        "command": f"trialbook eval {suite} -c {name}",
        "commands": [
            f"git log --stat -- suites/{suite}/configurations/{name}.yaml",
            f"git log --oneline -- 'runs/{suite}/*/*/{name}'",
        ],
    }
    yield Page(
        path=configuration_page(suite, name),
        template="configuration.html",
        title=f"{name} of {suite}",
        context=context,
    )


def _versions(view: LedgerView, ref: ConfigurationRef) -> list[_Version]:
    """Every content that the name had, oldest first; one that came back is a version again."""
    found: list[_Version] = []
    for run in view.runs_of(ref.suite):
        part = next(
            (p for p in conclusion_of(view.reader, run).parts if p.name == ref.configuration), None
        )
        if part is None:
            continue
        if not found or found[-1].digest != part.digest:
            found.append(_Version(part.digest))
        found[-1].runs.append(view.brief(run))
    return found


def _summary(brief: RunBrief, name: str) -> ConfigurationSummary:
    return next(row for row in brief.configurations if row.name == name)


def _authored_facts(mine: Configuration | None) -> list[list[str]]:
    """What the file says, as long as no plan has it."""
    if mine is None:
        return []
    return [
        ["Agent", mine.agent],
        ["Version", mine.version or "not pinned"],
        ["Model", mine.model or "none named"],
        ["Reasoning", mine.reasoning or "not set"],
        ["Instructions", mine.instructions or "none"],
        ["Approval", mine.approval or "not set"],
        ["Sandbox", mine.sandbox or "the strongest there is"],
        ["Network", mine.network.mode],
    ]


def _result(brief: RunBrief, name: str, versions: Sequence[_Version]) -> dict[str, Any]:
    row = _summary(brief, name)
    number = next(n for n, one in enumerate(versions, start=1) if brief in one.runs)
    return {
        "run": brief.run,
        "page": run_page(brief.ref),
        "created": when(brief.created),
        "protocol": brief.protocol,
        "version": number,
        "draft": brief.draft,
        "part": brief.part,
        "closed": brief.closed,
        "counts": counts_figure(row.counts),
        "trials": row.counts.trials,
        "spend": [
            {"basis": words(one.basis), "amount": amount_said(one), "trials": one.trials}
            for one in row.spend
        ],
    }


def _tiles(briefs: Sequence[RunBrief], name: str, versions: Sequence[_Version]) -> list[list[Any]]:
    return [
        ["Runs", len(briefs)],
        ["Trials", sum(_summary(brief, name).counts.trials for brief in briefs)],
        ["Contents", len({one.digest for one in versions})],
    ]


def _matrix(
    view: LedgerView, briefs: Sequence[RunBrief], name: str, suite: str
) -> dict[str, Any] | None:
    """Tasks by the newest runs, newest first; each mark leads to its trial."""
    columns = list(reversed(briefs))
    tasks: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for brief in columns:
        for row in _last_rows(view, brief.ref, name):
            cells = tasks.setdefault(row.task, {}).setdefault(brief.run, [])
            cells.append(row_cell(brief.ref, row))
    if not tasks:
        return None
    return {
        "runs": [
            {"run": one.run, "page": run_page(one.ref), "when": one.created[:10]} for one in columns
        ],
        "rows": [
            {
                "task": task,
                "page": task_page(suite, task),
                "groups": [tasks[task].get(one.run, []) for one in columns],
            }
            for task in sorted(tasks)
        ],
    }


def _place(brief: RunBrief) -> dict[str, str]:
    return {"run": brief.run, "page": run_page(brief.ref), "when": when(brief.created)}


def _last_rows(view: LedgerView, run: RunRef, name: str) -> list[TrialRow]:
    last = {row.slot: row for row in view.rows(run) if row.configuration == name}
    return list(last.values())


def _neighbours(view: LedgerView, run: RunRef, name: str) -> list[dict[str, Any]]:
    """Against every other configuration of the same run."""
    plan = view.plan(run)
    mine = plan.configurations[name]
    others = [one for one in plan.configurations if one != name]
    return [
        {
            "name": other,
            "page": configuration_page(plan.suite, other),
            **_difference(view, (run, plan.configurations[other]), (run, mine)),
        }
        for other in others[:_NEIGHBOURS]
    ]


def _history(view: LedgerView, versions: Sequence[_Version], name: str) -> list[dict[str, Any]]:
    """Every version, newest first, with what is not as in the one before."""
    found = []
    for index, version in enumerate(versions):
        changed = None
        if index and len(versions) - index <= _VERSIONS:
            before = versions[index - 1].runs[-1].ref
            after = version.runs[0].ref
            changed = _difference(
                view,
                (before, view.plan(before).configurations[name]),
                (after, view.plan(after).configurations[name]),
            )
        first, last = version.runs[0], version.runs[-1]
        found.append(
            {
                "number": index + 1,
                "digest": version.digest,
                "runs": number_of(len(version.runs), "run"),
                "first": {
                    "run": first.run,
                    "page": run_page(first.ref),
                    "when": when(first.created),
                },
                "last": _place(last),
                "changed": changed,
            }
        )
    return found[::-1]


def _difference(
    view: LedgerView,
    one: tuple[RunRef, PlannedConfiguration],
    other: tuple[RunRef, PlannedConfiguration],
) -> dict[str, Any]:
    """What differs: in words as comparisons say it, field by field, and in instruction files."""
    files, others = instruction_files(one[1]), instruction_files(other[1])
    return {
        "said": what_differs(one[1], other[1]),
        "fields": differing(setup_facts(one[1]), setup_facts(other[1])),
        "texts": text_differences(
            instruction_texts(view, *one), instruction_texts(view, *other), files, others
        )
        if files != others
        else [],
    }
