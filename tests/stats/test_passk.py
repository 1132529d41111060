from __future__ import annotations

from fractions import Fraction
from math import comb

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.vectors import VECTORS, A, fraction, trials

from trialbook.stats.passk import (
    TaskTrials,
    flakiness_gap,
    pass_at,
    pass_hat,
    projection,
    suite_pass_at,
    suite_pass_hat,
)

TASKS = st.integers(1, 12).flatmap(lambda n: st.tuples(st.just(n), st.integers(0, n)))


@pytest.mark.parametrize("case", VECTORS["pass"])
def test_each_worked_number_of_one_task(case: dict[str, object]) -> None:
    n, c, k = int(str(case["n"])), int(str(case["c"])), int(str(case["k"]))
    assert pass_at(n, c, k) == fraction(case["pass_at_k"])  # type: ignore[arg-type]
    assert pass_hat(n, c, k) == fraction(case["pass_hat_k"])  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["A", "B"])
@pytest.mark.parametrize("k", [1, 2, 3])
def test_each_worked_number_of_a_suite(name: str, k: int) -> None:
    tasks = trials(VECTORS["paired"]["ex1"][name])
    expected = VECTORS["suite_ABx3"][name][f"k{k}"]
    assert suite_pass_hat(tasks, k).value == Fraction(expected["pass_hat"])
    assert suite_pass_at(tasks, k).value == Fraction(expected["pass_at"])


def test_tasks_with_too_few_trials_leave_no_headline_but_bounds() -> None:
    tasks = [
        TaskTrials(task=str(place), counted=n, accepted=c)
        for place, (n, c) in enumerate([(3, 3), (3, 2), (5, 4), (2, 2)])
    ]
    assert suite_pass_hat(tasks, 2).value == Fraction(11, 15)
    three = suite_pass_hat(tasks, 3)
    assert three.value is None
    assert (three.eligible, three.tasks, three.eligible_mean) == (3, 4, Fraction(7, 15))
    assert (three.low, three.high) == (Fraction(35, 100), Fraction(60, 100))


def test_no_trial_at_all_is_unknown_and_not_zero() -> None:
    assert pass_hat(0, 0, 1) is None
    assert pass_at(0, 0, 1) is None
    assert suite_pass_hat([], 1).value is None
    assert suite_pass_hat([], 1).low is None


def test_more_accepted_than_counted_is_refused() -> None:
    with pytest.raises(ValueError, match="4 accepted of 3"):
        TaskTrials(task="t", counted=3, accepted=4)


def test_the_flakiness_gap_and_the_biased_projection() -> None:
    assert flakiness_gap(trials(A), 3) == Fraction(8, 10) - Fraction(6, 10)
    assert flakiness_gap(trials(A), 4) is None
    assert projection(Fraction(8, 10), 3) == Fraction(512, 1000)


def test_the_estimator_is_unbiased_where_the_projection_is_not() -> None:
    p, n, k = Fraction(8, 10), 5, 5
    chances = binomial(n, p)
    unbiased = sum(chance * (pass_hat(n, c, k) or 0) for c, chance in chances.items())
    plugged = sum(chance * projection(Fraction(c, n), k) for c, chance in chances.items())
    assert unbiased == p**k
    assert round(float(plugged), 5) == 0.47835


def binomial(n: int, p: Fraction) -> dict[int, Fraction]:

    return {c: comb(n, c) * p**c * (1 - p) ** (n - c) for c in range(n + 1)}


@given(TASKS)
def test_one_trial_is_the_plain_share_for_both(case: tuple[int, int]) -> None:
    n, c = case
    assert pass_at(n, c, 1) == pass_hat(n, c, 1) == Fraction(c, n)


@given(TASKS, st.integers(1, 12))
def test_one_metric_is_the_other_of_the_failures(case: tuple[int, int], k: int) -> None:
    n, c = case
    failures = pass_hat(n, n - c, k)
    assert pass_at(n, c, k) == (None if failures is None else 1 - failures)


@given(TASKS)
def test_more_trials_raise_one_and_lower_the_other(case: tuple[int, int]) -> None:
    n, c = case
    at = [pass_at(n, c, k) for k in range(1, n + 1)]
    hat = [pass_hat(n, c, k) for k in range(1, n + 1)]
    assert at == sorted(at)  # type: ignore[type-var]
    assert hat == sorted(hat, reverse=True)  # type: ignore[type-var]
    assert at[-1] == (c > 0)
    assert hat[-1] == (c == n)
