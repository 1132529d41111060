from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.vectors import VECTORS, pairs

from trialbook.stats import lattice
from trialbook.stats.exact import (
    Relabelling,
    TooManySplits,
    fisher_worse,
    holm,
    least_sign_flip,
    mcnemar,
    sign_flip,
    sign_flip_greater,
    splits,
)
from trialbook.stats.lattice import sum_of
from trialbook.stats.paired import differences

F = Fraction
DIFFERENCES = st.lists(st.sampled_from([F(n, 3) for n in range(-3, 4)]), max_size=9)
SCORES = st.lists(st.sampled_from([F(0), F(1, 4), F(1, 3), F(1)]), min_size=1, max_size=4)


def binary(accepted: int, of: int = 3) -> list[Fraction]:
    return [F(1)] * accepted + [F(0)] * (of - accepted)


@pytest.mark.parametrize("name", ["ex1", "ex2", "zero"])
def test_the_worked_examples(name: str) -> None:
    case = VECTORS["paired"][name]
    values = list(differences(pairs(case["A"], case["B"])).values())
    assert sign_flip(values) == F(case["sign_flip_two"])
    assert sign_flip_greater(values) == F(case["sign_flip_greater"])
    test = Relabelling([(binary(a), binary(b)) for a, b in zip(case["A"], case["B"], strict=True)])
    assert test.two_sided() == F(case["within_two"])
    assert test.greater() == F(case["within_greater"])


@pytest.mark.parametrize("case", VECTORS["mcnemar"])
def test_mcnemar(case: dict[str, Any]) -> None:
    assert mcnemar(case["b"], case["c"]) == F(case["p"])


@pytest.mark.parametrize(("case", "p"), VECTORS["gate"]["fisher"].items())
def test_fisher(case: str, p: str) -> None:
    one, other = [tuple(map(int, part.split("/"))) for part in case.split("v")]
    assert fisher_worse(one, other) == F(p)  # type: ignore[arg-type]


def test_holm() -> None:
    assert holm(VECTORS["holm"]["p"]) == pytest.approx(VECTORS["holm"]["adj"])
    assert holm([F(1, 2), F(3, 4)]) == [F(1), F(1)]
    assert holm([]) == []


def test_few_moved_tasks_cannot_reach_five_per_cent() -> None:
    assert least_sign_flip(0) == 1
    assert least_sign_flip(5) == F(1, 16)
    assert least_sign_flip(6) == F(1, 32)
    assert sign_flip([F(1)] * 5) == least_sign_flip(5)


@given(DIFFERENCES)
def test_sign_flips_agree_with_every_pattern_counted_one_by_one(values: list[Fraction]) -> None:
    moved = [value for value in values if value]
    seen = abs(sum(moved, F(0)))
    sums = [
        abs(sum((sign * one for sign, one in zip(signs, moved, strict=True)), F(0)))
        for signs in product((1, -1), repeat=len(moved))
    ]
    assert sign_flip(values) == F(sum(one >= seen for one in sums), len(sums))


@given(DIFFERENCES)
def test_swapping_the_configurations_does_not_change_the_two_sided_p(
    values: list[Fraction],
) -> None:
    assert sign_flip(values) == sign_flip([-value for value in values])


@given(DIFFERENCES, st.integers(1, 5))
def test_tasks_that_did_not_move_never_add_significance(values: list[Fraction], more: int) -> None:
    assert sign_flip([*values, *[F(0)] * more]) == sign_flip(values)


@given(st.lists(st.tuples(SCORES, SCORES), min_size=1, max_size=4))
def test_relabelling_is_a_distribution_and_symmetric(
    tasks: list[tuple[list[Fraction], list[Fraction]]],
) -> None:
    test, turned = Relabelling(tasks), Relabelling([(b, a) for a, b in tasks])
    assert 0 < test.lower() <= 1
    assert test.two_sided() == turned.two_sided()
    assert test.lower() == turned.greater()


def test_the_shortcut_for_zeros_and_ones_counts_the_same_splits() -> None:
    close = F(999_999, 1_000_000)
    plain = splits(binary(2), binary(1))
    slow = splits([close, close, F(0)], [close, F(0), F(0)])
    assert sorted(plain.values()) == sorted(slow.values())


def test_too_many_relabellings_are_refused_and_not_guessed() -> None:
    with pytest.raises(TooManySplits, match="ways to relabel"):
        splits([F(n, 20) for n in range(12)], [F(n, 21) for n in range(12)])


def test_a_large_sum_in_doubles_agrees_with_the_exact_one(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [F(n % 7 - 3, 3) for n in range(120)]
    parts: list[lattice.Weights] = [{value: 1, -value: 1} for value in values if value > 0]
    exact = sum_of(parts)
    monkeypatch.setattr(lattice, "EXACT_COST", 0)
    rough = sum_of(parts)
    assert exact.exact
    assert not rough.exact
    for place in (F(0), F(5), F(14)):
        assert rough.as_far_as(place) == pytest.approx(float(exact.as_far_as(place)), abs=1e-12)
        assert rough.at_least(place) == pytest.approx(float(exact.at_least(place)), abs=1e-12)
        assert rough.at_most(place) == pytest.approx(float(exact.at_most(place)), abs=1e-12)


def test_thousands_of_trials_of_one_task_agree_with_the_counted_ones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    tasks = [(binary(170, 200), binary(150, 200)), (binary(120, 200), binary(125, 200))]
    counted = Relabelling(tasks)
    monkeypatch.setattr("trialbook.stats.exact.MOST_COUNTED", 0)
    shares = Relabelling(tasks)
    assert shares.lower() == pytest.approx(float(counted.lower()), rel=1e-9)
    assert shares.two_sided() == pytest.approx(float(counted.two_sided()), rel=1e-9)


def test_sums_far_apart_are_kept_sparsely(monkeypatch: pytest.MonkeyPatch) -> None:
    values = [F(1, prime) for prime in (2, 3, 5, 7, 11, 13, 17, 19, 23)]
    parts: list[lattice.Weights] = [{value: 1, -value: 1} for value in values]
    exact = sum_of(parts)
    monkeypatch.setattr(lattice, "EXACT_COST", 0)
    rough = sum_of(parts)
    for place in (F(0), F(1, 2), F(1)):
        assert rough.as_far_as(place) == pytest.approx(float(exact.as_far_as(place)), abs=1e-12)
