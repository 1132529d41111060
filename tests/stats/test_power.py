from __future__ import annotations

import pytest
from tests.stats.vectors import A, B, pairs, trials

from trialbook.stats.power import (
    ASSUMED,
    Variation,
    best_repetitions,
    detectable,
    power_of,
    tasks_needed,
    variation,
    within_task,
)

TABLE = {
    10: (0.467, 0.293, 0.244, 0.199),
    15: (0.365, 0.229, 0.191, 0.156),
    20: (0.310, 0.194, 0.162, 0.132),
    30: (0.248, 0.156, 0.130, 0.106),
    50: (0.190, 0.119, 0.099, 0.081),
}


@pytest.mark.parametrize("tasks", TABLE)
def test_the_detectable_differences_of_the_published_table(tasks: int) -> None:
    found = [detectable(tasks, ASSUMED.of_difference(r)) for r in (1, 3, 5, 10)]
    assert found == pytest.approx(TABLE[tasks], abs=6e-4)


@pytest.mark.parametrize(
    ("difference", "tasks"), [(1 / 30, 255), (0.05, 115), (0.10, 31), (0.15, 15)]
)
def test_the_tasks_that_the_first_example_would_have_needed(difference: float, tasks: int) -> None:
    assert tasks_needed(difference, 0.0358025) == tasks


def test_a_pilot_tells_where_differences_vary() -> None:
    found = variation(pairs(A, B))
    assert found is not None
    assert found.baseline == pytest.approx(0.1333, abs=5e-5)
    assert found.candidate == pytest.approx(0.0667, abs=5e-5)
    assert found.effect == 0


def test_single_trials_tell_nothing_about_their_own_variation() -> None:
    assert within_task(trials([1, 0], counted=1)) is None
    assert variation(pairs([1, 0], [0, 1], counted=1)) is None


def test_what_no_number_of_tasks_can_show() -> None:
    assert tasks_needed(0.0, 0.1) is None
    assert detectable(1, 0.1) is None
    assert detectable(3, 4.0) is None
    assert power_of(0.1, 10, 0.0) == 1


@pytest.mark.parametrize(("task", "pair", "best"), [(60, 4, 12.2), (5, 4, 3.5)])
def test_the_repetitions_that_pay(task: float, pair: float, best: float) -> None:
    assert best_repetitions(task, pair) == pytest.approx(best, abs=0.06)
    assert best_repetitions(task, pair, Variation(effect=0, baseline=0.1, candidate=0.1)) is None
