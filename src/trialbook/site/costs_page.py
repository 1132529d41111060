"""The page of costs: what accepted changes cost, suite by suite, and by which prices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from trialbook.api import Page
from trialbook.model.plan import Plan
from trialbook.model.prices import Price
from trialbook.reporting.brief import RunBrief
from trialbook.reporting.costs_said import COSTS_HEAD, cost_row
from trialbook.reporting.report_decision import compared
from trialbook.reporting.results import RunResults
from trialbook.reporting.wording import money, nature_label, number_of, words
from trialbook.site.addresses import COSTS, run_page, suite_page
from trialbook.site.figures import when
from trialbook.site.ledger_view import LedgerView
from trialbook.site.run_plots import Spent, cost_plot_of, spent_of, tradeoff_of
from trialbook.storage.reader import RunRef

_RUNS = 10
"""So many of a suite's newest runs are told one by one; the sums are over all."""


_HEADS = ("basis", "spend, all trials", *COSTS_HEAD[1:])
_COLUMNS = range(len(_HEADS))
_NOTHING = frozenset({"unknown", "none", ""})
"""A column with nothing but such values is named, and not shown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMoney:
    """What one run's configurations cost, and what may be said of that beside their acceptance."""

    spent: tuple[Spent, ...]
    said: tuple[str, ...]


def costs_page(view: LedgerView, _: None) -> Iterator[Page]:
    """The page, with a part for each suite that has runs."""
    suites = [part for suite in view.suites if (part := _suite(view, suite, view.briefs(suite)))]
    yield Page(
        path=COSTS,
        template="costs.html",
        title="Costs",
        context={
            "spend": _spend(view.briefs()),
            "suites": suites,
            "prices": _prices(view),
            "runs": len(view.runs),
        },
    )


def _spend(briefs: Sequence[RunBrief]) -> list[list[str]]:
    """All trials by the basis of their cost; amounts of different bases are never added up."""
    sums: dict[str, tuple[Decimal, int]] = {}
    for brief in briefs:
        for row in brief.configurations:
            for entry in row.spend:
                amount, trials = sums.get(entry.basis, (Decimal(0), 0))
                sums[entry.basis] = (amount + (entry.usd or Decimal(0)), trials + entry.trials)
    unknown = sums.pop("unknown", None)
    rows = [
        [words(basis), money(amount), number_of(trials, "trial")]
        for basis, (amount, trials) in sorted(sums.items())
    ]
    if unknown is not None:
        rows.append(["unknown", "unknown", number_of(unknown[1], "trial")])
    return rows


def _suite(view: LedgerView, suite: str, briefs: Sequence[RunBrief]) -> dict[str, Any] | None:
    if not briefs:
        return None
    newest = briefs[-_RUNS:][::-1]
    runs = [_run(view, brief) for brief in newest]
    columns = [[row["cells"][at] for run in runs for row in run["rows"]] for at in _COLUMNS]
    told = [at for at in _COLUMNS if not {*columns[at]} <= _NOTHING]
    return {
        "suite": suite,
        "columns": [[_HEADS[at], at] for at in told],
        "untold": [_HEADS[at] for at in _COLUMNS if at not in told],
        "page": suite_page(suite),
        "spend": _spend(briefs),
        "runs": runs,
        "plot": next((run["plot"] for run in runs if run["plot"]), None),
        "plotted": next((run["run"] for run in runs if run["plot"]), ""),
        "more": max(0, len(briefs) - _RUNS),
    }


def _run(view: LedgerView, brief: RunBrief) -> dict[str, Any]:
    run = brief.ref
    plan = view.plan(run)
    found = run_money(view, run)
    states = ((brief.draft, "draft"), (brief.partial, brief.part), (not brief.closed, "open"))
    return {
        "run": run.run,
        "page": run_page(run),
        "created": when(brief.created),
        "state": [word for holds, word in states if holds],
        "prices": "" if plan.prices is None else plan.prices.path,
        "plot": cost_plot_of(found.spent, found.said),
        "rows": [
            {
                "configuration": one.cost.configuration,
                "label": nature_label(plan.configurations[one.cost.configuration]),
                "cells": [
                    words(one.cost.basis or "unknown"),
                    "unknown" if one.cost.spend is None else money(one.cost.spend),
                    *cost_row(one.cost)[1:],
                ],
            }
            for one in found.spent
        ],
    }


def run_money(view: LedgerView, run: RunRef) -> RunMoney:
    """What a run's configurations cost; worked out once for as long as nothing is added to it."""
    return view.reader.answer(run, "money", RunMoney, lambda: _money(view.results(run)))


def _money(results: RunResults) -> RunMoney:
    spent = spent_of(results)
    found = compared(results)
    said = () if found is None else tuple(tradeoff_of(found, spent))
    return RunMoney(spent=spent, said=said)


def _prices(view: LedgerView) -> list[dict[str, Any]]:
    """Every table of prices that a run of late counted with, the newest date first."""
    known: dict[tuple[str, str], tuple[Plan, list[RunRef]]] = {}
    for suite in view.suites:
        for run in view.runs_of(suite)[-_RUNS:]:
            plan = view.plan(run)
            if plan.prices is not None:
                key = (plan.prices.path, plan.prices.sha256)
                known.setdefault(key, (plan, []))[1].append(run)
    tables = [(plan.prices, runs) for plan, runs in known.values() if plan.prices is not None]
    tables.sort(key=lambda found: (found[0].date, found[0].path), reverse=True)
    return [
        {
            "path": table.path,
            "date": table.date,
            "sha256": table.sha256,
            "runs": number_of(len(runs), "run"),
            "models": [
                [name, *(value or "none" for value in _four(table.models[name]))]
                for name in sorted(table.models)
            ],
        }
        for table, runs in tables
    ]


def _four(price: Price) -> tuple[str | None, ...]:
    return (price.input, price.output, price.cache_read, price.cache_write)
