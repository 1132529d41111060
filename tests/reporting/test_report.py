from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from urllib.parse import unquote

from markdown_it import MarkdownIt
from tests.recorded import (
    drift_run,
    full_ledger,
    hostile_run,
    mixed_run,
    results_of,
)

from trialbook.model.suite import Comparison
from trialbook.reporting.report import render_report, report_md
from trialbook.reporting.results import results_csv
from trialbook.storage.reader import Reader

FORGE = MarkdownIt("commonmark", {"html": True}).enable("table")


def test_checks_stand_in_the_report_for_each_repetition() -> None:
    text = render_report(results_of(*drift_run())).decode()
    assert "| `baseline` | 9/9 | 9/9 | 9/9 |" in text
    assert "| `candidate` | 5/9 | 5/9 | 5/9 |" in text
    assert "| `create-user` | `service-uses-class` | 3/3 | 0/3 |" in text
    assert "5 other checks passed whenever asked." in text


def test_both_views_stand_in_the_report_with_counts_and_bounds() -> None:
    text = render_report(results_of(*mixed_run())).decode()
    assert (
        "| `current` | agent | 1/6 (16.7 %) | 1 needs review, 1 agent timeout, 1 provider outage, "
        "1 environment failure, 1 not run | 2/3 (66.7 %) | 2/6 to 5/6 (33.3 % to 83.3 %) |" in text
    )
    assert "**Draft.**" in text
    assert "| `current` | provider reported | $1.26 | 3 |" in text
    assert "| `current` | unknown | unknown | 3 |" in text


def test_every_percentage_in_the_report_has_its_counts() -> None:
    for run in (drift_run(), mixed_run(), hostile_run()):
        text = render_report(results_of(*run)).decode()
        for found in re.finditer(r"\d %", text):
            assert re.search(r"\d+/\d+( to \d+/\d+)? \([^)]*$", text[: found.start() + 1])


def test_the_report_is_the_same_bytes_when_it_is_made_again(tmp_path: Path) -> None:
    root = full_ledger(tmp_path)
    reader = Reader.open(root)
    for run in reader.runs():
        if not reader.is_closed(run):
            continue
        assert report_md(reader, run) == reader.file(run, "report.md")
        assert results_csv(reader.plan(run), reader.trials(run)) == reader.file(run, "results.csv")


def test_the_links_of_a_report_lead_to_what_lies_beside_it(tmp_path: Path) -> None:
    root = full_ledger(tmp_path / "ledger")
    reader = Reader.open(root)
    seen = 0
    for run in reader.runs():
        html = FORGE.render(report_md(reader, run).decode())
        for target in re.findall(r'href="([^"]*)"', html):
            beside = root / "runs" / run.path / unquote(target)
            assert beside.exists() or target == "./results.csv", target
            seen += 1
    assert seen > 6


def test_hostile_text_does_nothing_in_the_report() -> None:
    text = render_report(results_of(*hostile_run())).decode()
    html = FORGE.render(text)
    tags = set(re.findall(r"<(\w+)", html))
    assert tags <= {
        *("h1", "h2", "p", "blockquote", "ul", "li", "strong", "em", "code", "a"),
        *("table", "thead", "tbody", "tr", "th", "td"),
    }
    assert all(target.startswith("./") for target in re.findall(r'href="([^"]*)"', html))
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e\u2028]", text)


def test_the_declared_comparison_is_answered_at_the_top() -> None:
    plan, bundles = drift_run()
    declared = Comparison(baseline="baseline", candidate="candidate", margin=0.1, because="so")
    text = render_report(results_of(replace(plan, compare=declared), bundles)).decode()
    head = text[: text.index("## Accepted")]
    assert (
        "**inconclusive: these trials do not show whether candidate is better or worse.**" in head
    )
    assert "## `candidate` against `baseline`" in text
    assert "- down create-user: 3/3 to 0/3" in text


def test_a_draft_gets_no_answer_and_says_why() -> None:
    plan, bundles = drift_run()
    declared = Comparison(baseline="baseline", candidate="candidate")
    draft = replace(plan, compare=declared, status="draft", draft_because="not locked")
    text = render_report(results_of(draft, bundles)).decode()
    assert "**No comparison:**" in text
    assert " against " not in text


def test_an_open_run_shows_no_difference() -> None:
    plan, bundles = drift_run()
    declared = Comparison(baseline="baseline", candidate="candidate")
    text = render_report(results_of(replace(plan, compare=declared), bundles[:-1])).decode()
    assert "**not ready: " in text
    assert "## Rates and reliability" not in text
    assert "interval" not in text
