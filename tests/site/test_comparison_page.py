"""Pages of comparisons say what the command prints, for each pair, and over several runs."""

from __future__ import annotations

import html
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import trialbook
from tests.recorded import a_bundle, a_configuration, a_plan, a_trial, new_ledger, record_run
from tests.site.conftest import build
from tests.stats.vectors import A, B

from trialbook.api import Page
from trialbook.model.outcome import Outcome
from trialbook.model.prices import Price, PriceTable
from trialbook.model.suite import Comparison
from trialbook.model.usage import Usage
from trialbook.registry import Registry
from trialbook.site.comparison_page import across, across_pages, comparison_pages
from trialbook.site.costs_page import costs_page
from trialbook.site.ledger_view import LedgerView
from trialbook.storage.reader import Reader, RunRef

RUN, LATER = "20261130-151526-3f9c", "20261201-151526-3f9c"
SUITE = "refunds"
DECLARED = Comparison(baseline="current", candidate="cheap", margin=0.1, because="one in ten")
ACCEPTED = {"current": A, "cheap": B, "third": A}
COST = {"current": "0.4", "cheap": "1.1", "third": None}


def record(root: Path, run: str = RUN, *, drop: int = 0, **changes: Any) -> None:
    """A run of ten tasks, three configurations, three trials each."""
    names = changes.pop("names", tuple(ACCEPTED))
    options: dict[str, Any] = {
        "compare": DECLARED,
        "status": "locked",
        "run": run,
        "suite": SUITE,
    } | changes
    plan = a_plan(
        {name: a_configuration(model=name) for name in names},
        [f"t{place:02}" for place in range(1, 11)],
        **options,
    )
    bundles = []
    for slot in plan.schedule[: len(plan.schedule) - drop]:
        good = slot.repetition <= ACCEPTED[slot.configuration][int(slot.task[1:]) - 1]
        outcome = Outcome.ACCEPTED if good else Outcome.REJECTED
        cost = COST[slot.configuration]
        usage = Usage(cost_usd=cost, basis="unknown" if cost is None else "priced")
        bundles.append(a_bundle(a_trial(plan, slot.key, outcome, usage=usage), patch=None))
    record_run(root, plan, bundles, closed=not drop)


def view_of(root: Path) -> LedgerView:
    return LedgerView(root, Reader.open(root), Registry())


def pages(root: Path) -> dict[str, Page]:
    view = view_of(root)
    found = comparison_pages(view, RunRef(SUITE, RUN))
    return {page.path.rpartition("/")[2]: page for page in found}


def words(text: str) -> str:
    """Text without its line breaks, and what the terminal folded."""
    return " ".join(text.split())


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = new_ledger(tmp_path_factory.mktemp("comparison") / "ledger")
    record(root)
    return root


def sentences(found: Mapping[str, Any]) -> Sequence[str]:
    said = [found["answer"], *found["evidence"], found["needed"]]
    return [*said, *found["differs"], *found["cautions"]]


@pytest.mark.parametrize(
    ("page", "sides"),
    [
        ("compare-current--cheap.html", []),
        ("compare-current--third.html", ["--baseline", "current", "--candidate", "third"]),
        ("compare-cheap--third.html", ["--baseline", "cheap", "--candidate", "third"]),
    ],
)
def test_a_page_says_what_the_command_on_it_prints(root: Path, page: str, sides: list[str]) -> None:
    context = pages(root)[page].context
    printed = words(trialbook(root, "compare", RUN, *sides).stdout)
    for sentence in sentences(context["found"]):
        assert words(sentence) in printed
    assert context["commands"] == [" ".join(["trialbook compare", RUN, *sides])]
    for row in context["found"]["views"]:
        assert words(f"{row[1]} {row[2]}") in printed


def test_the_written_page_has_sentence_interval_and_moved_tasks(root: Path, tmp_path: Path) -> None:
    build(root, tmp_path / "site")
    written = tmp_path / "site" / "runs" / SUITE / RUN / "compare-current--cheap.html"
    text = words(html.unescape(re.sub(r"<[^>]+>", " ", written.read_text())))
    printed = words(trialbook(root, "compare", RUN).stdout)
    for said in (
        "inconclusive: these trials do not show whether cheap is better or worse.",
        "interval -14.5 to +21.2 points (confidence 0.95, t, guarded).",
        "31 tasks for 10 points",
    ):
        assert said in text
        assert said in printed
    assert "t07 ▲ up 2/3 to 3/3" in text
    assert "t10 ▼ down 1/3 to 0/3" in text


def test_plots_hold_the_same_numbers(root: Path) -> None:
    found = pages(root)["compare-current--cheap.html"].context["found"]
    numbers = {row[0]: tuple(row[1:]) for row in found["difference"].rows}
    within = "-14.5 to +21.2 (confidence 0.95, t, guarded)"
    assert numbers["valid executions"] == ("+3.3", within)
    assert numbers["t07"] == ("+33.3", "2/3 to 3/3")
    assert found["difference"].text == found["evidence"][0]
    assert "Of 10 tasks, 2 went up, 1 went down, and 7 did not move." in found["slopes"].text
    passes = {row[:2]: row[2] for row in found["passes"].rows}
    assert passes["current", "3"] == "6/10 (60.0 %)"
    assert passes["cheap", "3"] == "7/10 (70.0 %)"


def test_costs_dominate_only_where_that_is_proven(root: Path) -> None:
    found = pages(root)["compare-current--cheap.html"].context["found"]
    assert any("costs 2.64 times" in said for said in found["tradeoff"])
    assert not any("dominates" in said for said in found["tradeoff"])
    assert found["costs"].text == " ".join(found["tradeoff"])


def test_a_pair_that_was_not_declared_is_marked(root: Path) -> None:
    found = pages(root)
    assert [page.context["planned"] for page in found.values()] == [True, False, False]
    links = found["compare-current--cheap.html"].context["others"]
    assert [link[0] for link in links] == ["third against current", "third against cheap"]


def test_an_open_run_has_counts_and_no_difference(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    record(root, drop=4, names=("current", "cheap"))
    found = pages(root)["compare-current--cheap.html"].context["found"]
    assert found["answer"] in words(trialbook(root, "compare", RUN, check=4).stdout)
    assert not found["ready"]
    assert (found["difference"], found["slopes"], found["passes"], found["costs"]) == (None,) * 4
    assert found["evidence"] == []
    build(root, tmp_path / "site")


def test_a_draft_is_refused_with_the_command_s_reasons(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    record(root, status="draft", names=("current", "cheap"))
    context = pages(root)["compare-current--cheap.html"].context
    printed = words(trialbook(root, "compare", RUN, check=4).stdout)
    assert context["found"] is None
    assert all(words(reason) in printed for reason in context["reasons"])
    assert context["counts"][0] == ["current", "24/30", "24/30"]


def test_runs_that_compare_are_compared_together(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    record(root, names=("current", "cheap"))
    view = view_of(root)
    assert across(view, SUITE) == []
    assert list(across_pages(view, SUITE)) == []
    record(root, LATER, names=("current", "cheap"))
    view = view_of(root)
    assert [run.run for run in across(view, SUITE)] == [RUN, LATER]
    [page, *others] = across_pages(view, SUITE)
    assert page.path == f"suites/{SUITE}/compare-current--cheap.html"
    assert others == []
    printed = words(trialbook(root, "compare", RUN, LATER).stdout)
    for sentence in sentences(page.context["found"]):
        assert words(sentence) in printed


def test_another_protocol_number_is_not_compared_with(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    record(root, names=("current", "cheap"))
    record(root, LATER, protocol=8, names=("current", "cheap"))
    assert across(view_of(root), SUITE) == []


def test_costs_are_told_by_basis_with_their_prices(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    table = PriceTable(
        path="prices/2026-11.yaml",
        sha256="a" * 64,
        date="2026-11-01",
        models={"m": Price(input="1", output="2")},
    )
    record(root, prices=table)
    [page] = costs_page(view_of(root), None)
    assert page.context["spend"] == [
        ["priced", "$45.00", "60 trials"],
        ["unknown", "unknown", "30 trials"],
    ]
    [suite] = page.context["suites"]
    rows = {row["configuration"]: row["cells"] for row in suite["runs"][0]["rows"]}
    assert rows["current"][:2] == ["priced", "$12.00"]
    assert rows["current"][2].startswith("$0.50 (24 accepted; ")
    assert rows["third"][:3] == ["unknown", "unknown", "unknown"]
    assert "third" in suite["plot"].note
    assert page.context["prices"][0]["date"] == "2026-11-01"
    assert page.context["prices"][0]["models"] == [["m", "1", "2", "none", "none"]]
    build(root, tmp_path / "site")
    assert "2026-11-01" in (tmp_path / "site" / "costs.html").read_text()
