"""What pages the site has, scope by scope: the place where a new kind of page is named.

See `trialbook.site.units` for the scopes, and for what a part has to keep to.
"""

from __future__ import annotations

from collections.abc import Iterator

from trialbook.reporting.results import results_csv
from trialbook.site.addresses import COSTS, FINDINGS, GATES, GLOSSARY, RUBRICS, run_folder
from trialbook.site.comparison_page import across_pages, comparison_pages
from trialbook.site.configuration_page import configuration_pages
from trialbook.site.costs_page import costs_page
from trialbook.site.feed import feed_files
from trialbook.site.findings_page import findings_pages, found_groups
from trialbook.site.gates_page import gates_pages
from trialbook.site.glossary import glossary_page
from trialbook.site.judgement_pages import JUDGEMENT, judgement_page
from trialbook.site.ledger_view import LedgerView
from trialbook.site.overview import overview_page
from trialbook.site.rubric_pages import rubric_pages
from trialbook.site.run_page import around_run, run_pages, run_pages_key
from trialbook.site.search import (
    prose_key,
    search_of_findings,
    search_of_run,
    search_of_site,
)
from trialbook.site.suite_page import suite_pages
from trialbook.site.task.page import task_pages
from trialbook.site.trial.page import trial_pages
from trialbook.site.units import ConfigurationRef, Entry, File, Made, Part, TaskRef, TrialRef
from trialbook.storage.reader import RunRef


def _overview(view: LedgerView, _: None) -> Iterator[Made]:
    yield overview_page(view)


def _rubrics(view: LedgerView, _: None) -> Iterator[Made]:
    yield from rubric_pages(view.rubrics, view.findings.groups)


def _judgement(view: LedgerView, _: None) -> Iterator[Made]:
    yield from judgement_page(view.root, view.reader)


def _findings(view: LedgerView, _: None) -> Iterator[Made]:
    yield from findings_pages(view, None)
    yield from search_of_findings(found_groups(view))


def _glossary(view: LedgerView, _: None) -> Iterator[Made]:
    del view
    yield glossary_page()


def _csv(view: LedgerView, run: RunRef) -> Iterator[Made]:
    results = view.results(run)
    data = results_csv(results.plan, results.standings.values(), results.summary)
    yield File(f"{run_folder(run)}/results.csv", data)


PER_SITE: tuple[Part[None], ...] = (
    Part(
        "gates",
        gates_pages,
        key=lambda view, _: (view.runs_key, view.alarms_key),
        navigation=Entry("Gates", GATES, lambda view: bool(view.runs)),
    ),
    Part(
        "costs",
        costs_page,
        key=lambda view, _: view.runs_key,
        navigation=Entry("Costs", COSTS, lambda view: bool(view.runs)),
    ),
    Part(
        "findings",
        _findings,
        key=lambda view, _: view.site_key,
        navigation=Entry("Findings", FINDINGS, lambda view: bool(view.runs)),
    ),
    Part(
        "judgement",
        _judgement,
        key=lambda view, _: (view.runs_key, view.rubrics_key),
        navigation=Entry("Judgement", JUDGEMENT, lambda view: bool(view.rubrics)),
    ),
    Part(
        "rubrics",
        _rubrics,
        key=lambda view, _: (view.runs_key, view.rubrics_key),
        navigation=Entry("Rubrics", RUBRICS, lambda view: bool(view.rubrics)),
    ),
    Part(
        "glossary",
        _glossary,
        key=lambda _view, _: "",
        navigation=Entry("Glossary", GLOSSARY, lambda _: True),
    ),
    Part("feed", feed_files, key=lambda view, _: (view.runs_key, view.alarms_key)),
    Part("search", search_of_site, key=lambda view, _: (view.site_key, prose_key(view))),
    Part("overview", _overview, key=lambda view, _: (view.site_key, view.reader.head)),
)
PER_SUITE: tuple[Part[str], ...] = (
    Part(
        "suite",
        suite_pages,
        key=lambda view, suite: (view.suite_key(suite), view.alarms_key),
    ),
    Part("comparisons", across_pages),
)
PER_TASK: tuple[Part[TaskRef], ...] = (Part("task", task_pages),)
PER_CONFIGURATION: tuple[Part[ConfigurationRef], ...] = (
    Part("configuration", configuration_pages),
)
PER_RUN: tuple[Part[RunRef], ...] = (
    Part("run", run_pages, key=run_pages_key, around=around_run),
    Part("csv", _csv),
    Part("comparisons", comparison_pages),
    Part("search", search_of_run),
)
PER_TRIAL: tuple[Part[TrialRef], ...] = (Part("trial", trial_pages),)
