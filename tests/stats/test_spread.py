from __future__ import annotations

from statistics import quantiles

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.stats.spread import Value, spread


def test_nothing_known_has_no_spread() -> None:
    assert spread([]) is None
    assert spread([None, None]) is None


def test_unknown_values_are_counted_and_not_taken_for_zero() -> None:
    found = spread([Value(4), None, Value(6)])
    assert found is not None
    assert (found.median.amount, found.count, found.unknown) == (5, 2, 1)


def test_a_median_is_known_while_less_than_half_was_cut_short() -> None:
    found = spread([Value(1), Value(2), Value(3), Value(20, censored=True)])
    assert found is not None
    assert found.median == Value(2.5)
    assert found.high.censored
    assert found.largest == Value(20, censored=True)


def test_a_median_among_values_cut_short_is_only_a_lower_bound() -> None:
    found = spread([Value(1), Value(20, censored=True), Value(20, censored=True)])
    assert found is not None
    assert found.median == Value(20, censored=True)


@given(st.lists(st.floats(0, 1e6), min_size=2, max_size=40))
def test_quartiles_agree_with_the_standard_library(amounts: list[float]) -> None:
    found = spread(map(Value, amounts))
    assert found is not None
    expected = quantiles(amounts, n=4, method="inclusive")
    assert [found.low.amount, found.median.amount, found.high.amount] == pytest.approx(expected)
