from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.vectors import VECTORS, trials

from trialbook.stats.interval import (
    clopper_pearson,
    clopper_pearson_lower,
    clopper_pearson_upper,
    clustered_rate,
    jeffreys,
    wilson,
)

CLOSE = 5e-7
RATES = {"A": (3, 3, 3, 3, 3, 3, 2, 2, 1, 1), "B": (3, 3, 3, 3, 3, 3, 3, 2, 2, 0)}
RATES |= {"allpass": (3,) * 10, "allfail": (0,) * 10}


@pytest.mark.parametrize("case", VECTORS["intervals"])
def test_the_binomial_intervals_have_their_published_ends(case: dict[str, Any]) -> None:
    for name, method in (
        ("wilson", wilson),
        ("clopper_pearson", clopper_pearson),
        ("jeffreys", jeffreys),
    ):
        found = method(case["x"], case["n"])
        assert [found.low, found.high] == pytest.approx(case[name], abs=1e-6), name


@pytest.mark.parametrize("name", RATES)
def test_the_rate_over_tasks_has_its_worked_numbers(name: str) -> None:
    expected = VECTORS["cluster_wilson"][name]
    found = clustered_rate(trials(RATES[name]))
    assert found is not None
    assert float(found.rate) == pytest.approx(expected["rate"], abs=1e-6)
    assert found.standard_error == pytest.approx(expected["se"], abs=1e-6)
    assert found.design_effect == pytest.approx(expected["deff"], abs=1e-6)
    assert found.effective_size == pytest.approx(expected["neff"], abs=1e-6)
    assert found.corrected_size == pytest.approx(expected["nstar"], abs=2e-6)
    assert found.interval.low == pytest.approx(expected["lo"], abs=1e-6)
    assert found.interval.high == pytest.approx(expected["hi"], abs=1e-6)


def test_fewer_than_five_tasks_carry_no_interval() -> None:
    assert clustered_rate(trials([3, 2, 1, 0])) is None
    assert clustered_rate(trials([3, 2, 1, 0, 0])) is not None


@pytest.mark.parametrize(("share", "bound"), VECTORS["collapse_upper_one_sided95"].items())
def test_the_upper_bounds_of_a_collapse(share: str, bound: float) -> None:
    hits, of = map(int, share.split("/"))
    assert clopper_pearson_upper(hits, of, 0.05) == pytest.approx(bound, abs=1e-6)


@pytest.mark.parametrize(("share", "bound"), VECTORS["judge"]["lower95_onesided"].items())
def test_the_lower_bounds_of_a_judge(share: str, bound: float) -> None:
    hits, of = map(int, share.split("/"))
    assert clopper_pearson_lower(hits, of, 0.05) == pytest.approx(bound, abs=1e-6)


@given(st.lists(st.integers(0, 3), min_size=5, max_size=40))
def test_an_interval_holds_its_rate_and_stays_between_nothing_and_all(accepted: list[int]) -> None:
    found = clustered_rate(trials(accepted))
    assert found is not None
    assert 0 <= found.interval.low <= float(found.rate) + 1e-12
    assert float(found.rate) - 1e-12 <= found.interval.high <= 1


@given(st.lists(st.integers(0, 3), min_size=5, max_size=40), st.randoms())
def test_the_order_of_tasks_does_not_matter(accepted: list[int], chance: Any) -> None:
    mixed = list(accepted)
    chance.shuffle(mixed)
    one, other = clustered_rate(trials(accepted)), clustered_rate(trials(mixed))
    assert one is not None
    assert other is not None
    assert one.interval.low == pytest.approx(other.interval.low, abs=CLOSE)
