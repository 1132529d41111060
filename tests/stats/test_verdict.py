from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.vectors import VECTORS, A, B, pairs

from trialbook.stats.verdict import Rule, Verdict, compare

TEN_POINTS = Rule(margin=Fraction(10, 100))
FIFTEEN_POINTS = Rule(margin=Fraction(15, 100))
MANY = (3,) * 30


def test_24_of_30_against_25_of_30_is_inconclusive() -> None:
    found = compare(pairs(A, B), TEN_POINTS)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.p == 1
    assert [task.task for task in found.up] == ["t07", "t09"]
    assert [task.task for task in found.down] == ["t10"]
    assert found.above_margin is False
    assert not found.testable


def test_a_wider_margin_still_fails_on_what_ten_tasks_cannot_exclude() -> None:
    found = compare(pairs(A, B), FIFTEEN_POINTS)
    assert found.above_margin is True
    assert found.collapse_bound == pytest.approx(0.258866, abs=1e-6)
    assert not found.collapse_allows
    assert found.verdict is Verdict.INCONCLUSIVE


def test_a_real_effect_is_better_and_turned_around_worse() -> None:
    case = VECTORS["paired"]["ex2"]
    assert compare(pairs(case["A"], case["B"]), TEN_POINTS).verdict is Verdict.BETTER
    assert compare(pairs(case["B"], case["A"]), TEN_POINTS).verdict is Verdict.WORSE


def test_many_equal_tasks_are_equivalent_within_the_margin() -> None:
    found = compare(pairs(MANY, MANY), TEN_POINTS)
    assert found.verdict is Verdict.EQUIVALENT
    assert found.collapse_bound == pytest.approx(0.095034, abs=1e-6)


def test_without_a_margin_nothing_is_called_equivalent() -> None:
    found = compare(pairs(MANY, MANY), Rule())
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.within_margin is None


def test_clearly_above_the_margin_below_is_no_regression() -> None:
    one = [1] * 6 + [3] * 24
    other = [2] * 5 + [1] + [3] * 24
    found = compare(pairs(one, other), Rule(margin=Fraction(8, 100)))
    assert found.verdict is Verdict.NO_REGRESSION
    assert found.within_margin is False


def test_several_looks_share_the_level() -> None:
    rule = Rule(margin=Fraction(1, 10), looks=2)
    found = compare(pairs(A, B), rule)
    assert found.difference is not None
    assert found.difference.interval.confidence == pytest.approx(0.975)


def test_nothing_in_common_is_no_evidence() -> None:
    found = compare((), TEN_POINTS)
    assert found.verdict is Verdict.INCONCLUSIVE
    assert found.difference is None
    assert found.p is None


@given(
    st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), min_size=2, max_size=20), st.randoms()
)
def test_the_order_of_tasks_and_the_names_of_sides_do_not_matter(
    counts: list[tuple[int, int]], chance: object
) -> None:
    mixed = list(counts)
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    first = compare(pairs(*zip(*counts, strict=True)), TEN_POINTS)
    second = compare(pairs(*zip(*mixed, strict=True)), TEN_POINTS)
    turned = compare(pairs(*[list(side) for side in zip(*counts, strict=True)][::-1]), TEN_POINTS)
    assert first.verdict == second.verdict
    mirror = {Verdict.BETTER: Verdict.WORSE, Verdict.WORSE: Verdict.BETTER}
    if first.verdict in mirror:
        assert turned.verdict is mirror[first.verdict]
