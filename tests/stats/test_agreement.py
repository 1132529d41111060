from __future__ import annotations

from fractions import Fraction
from itertools import permutations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.vectors import VECTORS

from trialbook.stats.agreement import (
    ALL_IDENTICAL,
    AgreementTable,
    Scale,
    agreement,
    agreement_table,
    cohen_kappa,
    gwet_ac1,
    kappa_interval,
    krippendorff_alpha,
    needs_rewording,
    repeats,
)
from trialbook.stats.resample import kappa_bootstrap

VERDICTS = ("MERGE", "FIX", "REJECT")
TABLES = {name: one["table"] for name, one in VECTORS["agreement"].items() if "table" in one}
CLOSE = 1e-6


def table(counts: list[list[int]], categories: tuple[str, ...] = ()) -> AgreementTable:
    return AgreementTable(
        categories=categories or VERDICTS[: len(counts)], counts=tuple(map(tuple, counts))
    )


def pairs_of(found: AgreementTable) -> list[tuple[str, str]]:
    return [
        (row, column)
        for row, counts in zip(found.categories, found.counts, strict=True)
        for column, often in zip(found.categories, counts, strict=True)
        for _ in range(often)
    ]


@pytest.mark.parametrize("name", TABLES)
def test_every_measure_of_the_worked_tables(name: str) -> None:
    expected, found = VECTORS["agreement"][name], agreement(table(TABLES[name]), ordered=True)
    interval = krippendorff_alpha(pairs_of(found.table), found.table.categories, Scale.INTERVAL)
    assert {
        "po": found.raw,
        "kappa": found.kappa,
        "kappa_linear": found.kappa_linear,
        "kappa_quadratic": found.kappa_quadratic,
        "ac1": found.ac1,
        "alpha_nominal": found.alpha,
        "alpha_interval": interval,
    } == {key: pytest.approx(expected[key], abs=CLOSE) for key in expected if key != "table"}


def test_alpha_of_ordered_verdicts() -> None:
    found = agreement(table(TABLES["three"]), ordered=True)
    assert found.alpha_ordinal == pytest.approx(0.787525, abs=CLOSE)


def test_alpha_with_missing_answers_and_three_raters() -> None:
    units = [[str(one) for one in unit] for unit in VECTORS["agreement"]["missing"]["units"]]
    assert krippendorff_alpha(units, ("0", "1")) == Fraction(1, 5)
    apart = [[*unit, None] for unit in units]
    assert krippendorff_alpha(apart, ("0", "1")) == Fraction(1, 5)


def test_the_interval_of_kappa_over_twenty_units_is_enormous() -> None:
    found = kappa_interval(table(TABLES["balanced"]))
    assert found is not None
    assert (round(found.low, 2), round(found.high, 2)) == (0.07, 0.91)


def test_the_bootstrap_of_kappa_says_the_same_and_can_be_drawn_again() -> None:
    found = kappa_bootstrap(table(TABLES["balanced"]), "a plan's digest")
    assert found is not None
    # Few values are possible with 20 units; the published draw ended on the neighbour of ours.
    assert found.low == pytest.approx(0.08, abs=0.03)
    assert found.high == pytest.approx(0.86, abs=0.06)
    assert found == kappa_bootstrap(table(TABLES["balanced"]), "a plan's digest")
    assert found.method == "bootstrap, 2000 draws"
    other = kappa_bootstrap(table(TABLES["gwet200"]), "one", draws=300)
    assert other is not None
    assert other != kappa_bootstrap(table(TABLES["gwet200"]), "two", draws=300)
    assert other.low == pytest.approx(-0.074, abs=0.03)


def test_answers_that_are_all_identical_have_no_kappa_and_no_alpha() -> None:
    found = agreement(table([[20, 0], [0, 0]]), ordered=True)
    assert (found.raw, found.kappa, found.alpha) == (1, None, None)
    assert (found.kappa_linear, found.kappa_quadratic, found.alpha_ordinal) == (None, None, None)
    assert found.kappa_interval is None
    assert kappa_bootstrap(found.table, "seed") is None
    assert found.because == ALL_IDENTICAL
    assert found.ac1 == 1
    assert needs_rewording(found) is False


def test_without_units_nothing_is_known() -> None:
    found = agreement(agreement_table([], VERDICTS), ordered=True)
    assert (found.units, found.raw, found.kappa, found.ac1, found.alpha) == (
        0,
        None,
        None,
        None,
        None,
    )
    assert found.because == "nobody answered the same unit twice"
    assert needs_rewording(found) is None


def test_chance_is_taken_over_the_categories_of_the_rubric_not_over_those_that_occurred() -> None:
    two = gwet_ac1(table([[9, 3], [2, 6]]))
    three = gwet_ac1(table([[9, 3, 0], [2, 6, 0], [0, 0, 0]]))
    assert two is not None
    assert three is not None
    assert three > two
    assert gwet_ac1(table([[4]])) is None


def test_only_the_measures_of_ordered_categories_need_an_order() -> None:
    found = agreement(table(TABLES["three"]))
    assert (found.kappa_linear, found.kappa_quadratic, found.alpha_ordinal) == (None, None, None)
    assert found.kappa is not None


def test_a_table_counts_pairs_and_refuses_what_the_rubric_does_not_have() -> None:
    counted = agreement_table([("MERGE", "FIX"), ("FIX", "FIX"), ("MERGE", "FIX")], VERDICTS)
    assert counted.counts == ((0, 2, 0), (0, 1, 0), (0, 0, 0))
    assert (counted.units, counted.agreeing, counted.raw) == (3, 1, Fraction(1, 3))
    with pytest.raises(ValueError, match="no category of this question: MAYBE"):
        agreement_table([("MERGE", "MAYBE")], VERDICTS)
    with pytest.raises(ValueError, match="MAYBE"):
        krippendorff_alpha([["MAYBE", "FIX"]], VERDICTS)


def test_a_measure_refuses_a_scale_that_it_has_not() -> None:
    with pytest.raises(ValueError, match="kappa has no ordinal weights"):
        cohen_kappa(table(TABLES["three"]), Scale.ORDINAL)
    with pytest.raises(ValueError, match="alpha has no linear distances"):
        krippendorff_alpha([["FIX", "FIX"]], VERDICTS, Scale.LINEAR)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([[9, 3], [2, 6]], True),  # raw 0.75
        ([[8, 2], [2, 8]], False),  # raw 0.80 and AC1 0.60, exactly at both bounds
        ([[8, 3], [1, 8]], False),
        ([[7, 2], [2, 9]], False),
        ([[17, 1], [2, 0]], False),  # kappa is negative and says nothing here
        ([[9, 0], [0, 10]], None),  # 19 units
        ([[130, 56], [9, 5]], True),
    ],
)
def test_a_question_on_which_people_differ_needs_rewording(
    counts: list[list[int]], expected: bool | None
) -> None:
    assert needs_rewording(agreement(table(counts))) is expected


def test_repeats_count_whether_the_same_was_said_again() -> None:
    found = repeats([("MERGE", "MERGE"), ("FIX", "MERGE"), ("FIX",), ("FIX", "FIX", "FIX")])
    assert (found.units, found.identical, found.runs) == (3, 2, 2)
    assert found.rate == Fraction(2, 3)
    assert repeats([]).rate is None


@pytest.mark.parametrize("size", [2, 3])
def test_raw_agreement_of_four_fifths_is_never_overruled_by_ac1(size: int) -> None:
    # Chance is at most one half, so the second bound only ever speaks where the first has spoken.
    even = [[8 if i == j else 0 for j in range(size)] for i in range(size)]
    even[0][1] = 2 * size
    found = agreement(table(even))
    assert found.raw == Fraction(4, 5)
    assert found.ac1 is not None
    assert found.ac1 >= Fraction(3, 5)


# --- properties -----------------------------------------------------------------------------------

counts = st.integers(0, 40)
tables = st.integers(2, 3).flatmap(
    lambda size: st.lists(
        st.lists(counts, min_size=size, max_size=size), min_size=size, max_size=size
    ).map(table)
)
answers = st.sampled_from(VERDICTS)
ratings = st.lists(st.lists(st.none() | answers, max_size=4), max_size=25)
KAPPA = (Scale.NOMINAL, Scale.LINEAR, Scale.QUADRATIC)
ALPHA = (Scale.NOMINAL, Scale.ORDINAL, Scale.INTERVAL)


def swapped(found: AgreementTable) -> AgreementTable:
    return AgreementTable(
        categories=found.categories, counts=tuple(zip(*found.counts, strict=True))
    )


@given(tables)
def test_every_measure_stays_within_its_bounds(found: AgreementTable) -> None:
    measures = agreement(found, ordered=True)
    for one in (measures.kappa, measures.kappa_linear, measures.kappa_quadratic, measures.ac1):
        assert one is None or -1 <= one <= 1
    for alpha in (measures.alpha, measures.alpha_ordinal):
        assert alpha is None or alpha <= 1
    interval = measures.kappa_interval
    if interval is not None and measures.kappa is not None:
        assert -1 <= interval.low <= measures.kappa + Fraction(1, 10**9)
        assert measures.kappa - Fraction(1, 10**9) <= interval.high <= 1


@given(tables)
def test_it_does_not_matter_who_is_the_first_reviewer(found: AgreementTable) -> None:
    one, other = agreement(found, ordered=True), agreement(swapped(found), ordered=True)
    for name in (
        "raw",
        "kappa",
        "kappa_linear",
        "kappa_quadratic",
        "ac1",
        "alpha",
        "alpha_ordinal",
    ):
        assert getattr(one, name) == getattr(other, name), name


@pytest.mark.slow
@given(tables)
def test_nominal_measures_do_not_know_the_order_of_categories(found: AgreementTable) -> None:
    size = len(found.categories)
    for order in permutations(range(size)):
        moved = AgreementTable(
            categories=found.categories,
            counts=tuple(tuple(found.counts[i][j] for j in order) for i in order),
        )
        one, other = agreement(found), agreement(moved)
        assert (one.kappa, one.ac1, one.alpha) == (other.kappa, other.ac1, other.alpha)


@pytest.mark.slow
@given(tables)
def test_the_order_from_best_to_worst_may_be_turned_round(found: AgreementTable) -> None:
    turned = AgreementTable(
        categories=found.categories[::-1],
        counts=tuple(row[::-1] for row in found.counts[::-1]),
    )
    one, other = agreement(found, ordered=True), agreement(turned, ordered=True)
    for name in ("kappa_linear", "kappa_quadratic", "alpha_ordinal"):
        assert getattr(one, name) == getattr(other, name), name


@given(ratings, st.randoms(use_true_random=False))
def test_alpha_does_not_know_the_order_of_units_nor_of_raters(
    units: list[list[str | None]], chance: Random
) -> None:
    moved = [list(unit) for unit in units]
    chance.shuffle(moved)
    for unit in moved:
        chance.shuffle(unit)
    for scale in ALPHA:
        one = krippendorff_alpha(units, VERDICTS, scale)
        assert one == krippendorff_alpha(moved, VERDICTS, scale)
        assert one is None or one <= 1


def test_units_that_show_no_variance_give_no_interval() -> None:
    """Four times yes against no: kappa is 0, and how far it may be off is not known."""
    found = agreement_table([("MERGE", "FIX")] * 4, VERDICTS)
    assert cohen_kappa(found) == 0
    assert kappa_interval(found) is None


@given(st.lists(answers, min_size=2, max_size=30))
def test_perfect_agreement_is_one_unless_nothing_varies(said: list[str]) -> None:
    found = agreement(agreement_table(((one, one) for one in said), VERDICTS), ordered=True)
    expected = None if len(set(said)) == 1 else 1
    assert found.kappa == found.kappa_linear == found.kappa_quadratic == expected
    assert found.alpha == found.alpha_ordinal == expected
    assert found.raw == found.ac1 == 1
    for scale in KAPPA:
        interval = kappa_interval(found.table, scale)
        assert interval is None or (interval.low, interval.high) == (
            pytest.approx(1),
            pytest.approx(1),
        )


@given(tables)
def test_weights_do_not_matter_where_there_are_two_categories(found: AgreementTable) -> None:
    if len(found.categories) == 2:
        assert len({cohen_kappa(found, scale) for scale in KAPPA}) == 1
        units = pairs_of(found)
        two = {krippendorff_alpha(units, found.categories, scale) for scale in ALPHA}
        assert len(two) == 1
