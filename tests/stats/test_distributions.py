from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.stats.distributions import (
    beta_cdf,
    beta_quantile,
    normal_quantile,
    t_cdf,
    t_quantile,
    t_test_power,
)


@pytest.mark.parametrize(
    ("p", "df", "expected"),
    [(0.975, 1, 12.706205), (0.975, 9, 2.262157), (0.95, 2, 2.919986), (0.8, 30, 0.853767)],
)
def test_published_t_quantiles(p: float, df: int, expected: float) -> None:
    assert t_quantile(p, df) == pytest.approx(expected, abs=5e-7)
    assert t_quantile(1 - p, df) == pytest.approx(-expected, abs=5e-7)


def test_the_middle_and_the_limit() -> None:
    assert t_quantile(0.5, 3) == 0
    assert t_quantile(0.975, 10_000_000) == pytest.approx(normal_quantile(0.975), abs=1e-5)


def test_the_ends_of_a_beta_distribution() -> None:
    assert beta_quantile(0, 2, 3) == 0
    assert beta_quantile(1, 2, 3) == 1
    assert beta_cdf(-1, 2, 3) == 0
    assert beta_cdf(2, 2, 3) == 1


@given(st.floats(0.001, 0.999), st.floats(0.5, 300), st.floats(0.5, 300))
def test_a_beta_quantile_inverts_the_distribution(p: float, a: float, b: float) -> None:
    assert beta_cdf(beta_quantile(p, a, b), a, b) == pytest.approx(p, abs=1e-9)


@given(st.floats(0.001, 0.999), st.integers(1, 500))
def test_a_t_quantile_inverts_the_distribution(p: float, df: int) -> None:
    assert t_cdf(t_quantile(p, df), df) == pytest.approx(p, abs=1e-9)


def test_without_an_effect_the_power_is_the_level() -> None:
    assert t_test_power(0.0, 9, 0.05) == pytest.approx(0.05, abs=1e-6)
    assert t_test_power(0.0, 1, 0.05) == pytest.approx(0.05, abs=1e-4)
