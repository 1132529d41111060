from __future__ import annotations

from dataclasses import replace

from tests.recorded import a_bundle, a_configuration, a_plan, a_task, a_trial, results_of

from trialbook.model.outcome import Outcome
from trialbook.reporting.breakdown import breakdown
from trialbook.reporting.report import render_report
from trialbook.reporting.results import RunResults


def a_run(**second: str) -> RunResults:
    plan = a_plan({"current": a_configuration()}, ["one", "two"], repetitions=2)
    plan = replace(plan, tasks={"one": a_task(), "two": a_task(**second)})
    bundles = [
        a_bundle(
            a_trial(
                plan,
                slot.key,
                Outcome.ACCEPTED if slot.task == "one" else Outcome.REJECTED,
            )
        )
        for slot in plan.schedule
    ]
    return results_of(plan, bundles)


def test_what_divides_the_tasks_is_counted_apart() -> None:
    parts = breakdown(a_run(contamination="public_before_cutoff"))
    assert [part.kind for part in parts] == ["contamination", "contamination"]
    counted = {part.name: part.counts["current"].valid_execution for part in parts}
    assert (counted["public_before_cutoff"].accepted, counted["public_before_cutoff"].slots) == (
        0,
        2,
    )


def test_what_all_tasks_share_is_left_out() -> None:
    assert breakdown(a_run()) == ()
    assert "## By kind of task" not in render_report(a_run()).decode()


def test_the_report_has_a_row_for_each_kind() -> None:
    text = render_report(a_run(category="docs", split="held-out")).decode()
    assert "| category `docs` | 1 | 0/2 (0.0 %) |" in text
    assert "| split `held-out` | 1 | 0/2 (0.0 %) |" in text
