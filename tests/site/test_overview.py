"""The first page: what it says of suites, decisions, changes and what waits."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.recorded import (
    a_bundle,
    a_configuration,
    a_plan,
    a_trial,
    drift_run,
    new_ledger,
    record_run,
)

from trialbook.model.outcome import Outcome
from trialbook.registry import Registry
from trialbook.site.ledger_view import LedgerView
from trialbook.site.overview import overview_page
from trialbook.storage.reader import Reader


def context_of(root: Path) -> dict[str, Any]:
    view = LedgerView(root, Reader.open(root), Registry())
    return dict(overview_page(view).context)


def test_suites_with_runs_come_before_those_without(recorded_ledger: Path) -> None:
    (recorded_ledger / "suites/empty").mkdir()
    (recorded_ledger / "suites/empty/suite.yaml").write_text("suite: empty\n")
    context = context_of(recorded_ledger)
    assert "empty" in [suite["name"] for suite in context["unrun"]]
    assert "instruction-drift" in [suite["name"] for suite in context["suites"]]
    assert all(suite["latest"] for suite in context["suites"])
    newest = [(run["created"], run["run"]) for run in context["runs"]]
    assert newest == sorted(newest, key=lambda pair: pair[1], reverse=True)


def test_what_is_not_well_is_listed_with_its_runs(recorded_ledger: Path) -> None:
    lines = {line["name"]: line for line in context_of(recorded_ledger)["health"]}
    assert "runs/refunds/" in lines["Incomplete"]["places"][0]["page"]
    assert lines["Incomplete"]["count"] == "1 run"
    assert "Faulty suites" in lines


def test_a_ledger_that_is_well_says_so(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    (root / "suites/instruction-drift/suite.yaml").unlink()
    (root / "suites/instruction-drift").rmdir()
    record_run(root, *drift_run())
    assert context_of(root)["health"] == []


def test_a_suite_without_a_comparison_is_told_in_counts(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    record_run(root, *drift_run())
    [suite] = context_of(root)["suites"]
    assert suite["answer"]["said"].endswith("no comparison was declared.")
    assert " of 18 scheduled slots accepted;" in suite["answer"]["said"]


def test_what_moved_since_the_run_before_is_told(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    for run, outcome in (
        ("20261201T120000Z-000001", Outcome.ACCEPTED),
        ("20261202T120000Z-000002", Outcome.REJECTED),
    ):
        plan = a_plan({"current": a_configuration()}, ["task"], repetitions=2, run=run)
        ended = [a_trial(plan, slot.key, outcome) for slot in plan.schedule]
        record_run(root, plan, [a_bundle(trial) for trial in ended])
    [one] = context_of(root)["since"]
    assert one["said"] == "1 went down of 1 result."
    assert one["changed"] == "No configuration changed in between."
    assert [(row["task"], row["said"], row["up"]) for row in one["moved"]] == [
        ("task", "2/2 to 0/2", False)
    ]


def test_an_empty_ledger_has_a_first_page(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    (root / "suites/instruction-drift/suite.yaml").unlink()
    (root / "suites/instruction-drift").rmdir()
    context = context_of(root)
    assert (context["suites"], context["runs"], context["decisions"]) == ([], [], [])
