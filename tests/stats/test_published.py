"""Published results, computed again from their per-trial data."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from trialbook.stats.passk import TaskTrials, pass_at, suite_pass_at, suite_pass_hat

PUBLISHED = Path(__file__).parent / "published"


@pytest.fixture(scope="module")
def airline() -> list[TaskTrials]:
    """tau-bench, airline domain, tool calling with gpt-4o: fifty tasks, four trials each."""
    passed: dict[str, list[bool]] = {}
    with (PUBLISHED / "tau_bench_airline_gpt4o_trials.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            passed.setdefault(row["task_id"], []).append(row["passed"] == "1")
    return [
        TaskTrials(task=task, counted=len(trials), accepted=sum(trials))
        for task, trials in passed.items()
    ]


@pytest.mark.parametrize("k", [1, 2, 3, 4])
def test_the_reliability_table_of_tau_bench(airline: list[TaskTrials], k: int) -> None:
    published = json.loads((PUBLISHED / "tau_bench_published.json").read_text())
    found = suite_pass_hat(airline, k).value
    assert found is not None
    printed = published["published_pass_hat_k_airline_gpt4o"][str(k)]
    assert round(float(found), 3) == printed
    at = suite_pass_at(airline, k).value
    assert at is not None
    assert float(at) == pytest.approx(published["computed_pass_at_k"][str(k)])


def test_more_than_the_trials_there_are_is_not_estimated(airline: list[TaskTrials]) -> None:
    assert suite_pass_hat(airline, 5).value is None


def test_the_sanity_check_of_human_eval() -> None:
    """Six samples of one problem, three of which pass: pass@1 is printed, pass@10 is not."""
    assert float(pass_at(6, 3, 1) or 0) == pytest.approx(0.4999999999999999)
    assert pass_at(6, 3, 10) is None
