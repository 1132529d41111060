from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.stats.vectors import VECTORS

from trialbook.stats.calibration import (
    NO_BETTER_THAN_CHANCE,
    NO_LABELS,
    NOT_DRAWN,
    NOTHING_JUDGED,
    TOO_FEW_LABELS,
    Confusion,
    confusion,
    corrected_rate,
    least_correlation,
    lower_bound,
    prediction_powered_rate,
    upper_bound,
)
from trialbook.stats.interval import wilson

JUDGE = VECTORS["judge"]
CLOSE = 1e-6


def counts(tp: int, fn: int, fp: int, tn: int) -> Confusion:
    return Confusion(true_accepts=tp, false_rejects=fn, false_accepts=fp, true_rejects=tn)


TWENTY = counts(JUDGE["TP"], JUDGE["FN"], JUDGE["FP"], JUDGE["TN"])


def test_the_worked_example_of_twenty_labels() -> None:
    assert (TWENTY.labelled, TWENTY.accepts, TWENTY.rejects) == (20, 12, 8)
    assert TWENTY.agreement == Fraction(85, 100)
    assert TWENTY.kappa == pytest.approx(0.680851, abs=CLOSE)
    assert TWENTY.tpr == pytest.approx(JUDGE["tpr"], abs=CLOSE)
    assert TWENTY.tnr == pytest.approx(JUDGE["tnr"], abs=CLOSE)
    tpr, tnr = TWENTY.tpr_interval(), TWENTY.tnr_interval()
    assert tpr is not None
    assert tnr is not None
    assert [round(one, 4) for one in (tpr.low, tpr.high)] == [0.6152, 0.9979]
    assert [round(one, 4) for one in (tnr.low, tnr.high)] == [0.3491, 0.9681]
    assert tpr.method == "Clopper-Pearson"


def test_answers_are_counted_with_people_first() -> None:
    found = confusion([(True, True), (True, False), (False, True), (False, True), (False, False)])
    assert found == counts(1, 1, 2, 1)
    assert found.table.counts == ((1, 1), (2, 1))


def test_the_corrected_rate_of_seventy_in_a_hundred() -> None:
    found = corrected_rate(TWENTY, 70, 100)
    assert found.rate == Fraction(27, 40)
    assert float(found.rate) == JUDGE["rogan_gladen"]
    assert not found.clipped
    assert found.interval is not None
    assert [found.interval.low, found.interval.high] == pytest.approx(JUDGE["lee_ci"], abs=CLOSE)
    assert found.interval.method == "Lee et al."


@pytest.mark.parametrize(
    ("errors", "expected"),
    [
        (counts(55, 5, 10, 30), JUDGE["lee_ci_100_labels"]),
        (counts(110, 10, 20, 60), JUDGE["lee_ci_200_labels"]),
    ],
)
def test_more_labels_narrow_the_interval_down_to_what_was_judged(
    errors: Confusion, expected: list[float]
) -> None:
    found = corrected_rate(errors, 70, 100)
    assert found.rate == Fraction(27, 40)
    assert found.interval is not None
    assert [found.interval.low, found.interval.high] == pytest.approx(expected, abs=CLOSE)


def test_a_rate_that_the_errors_cannot_explain_is_clipped_and_says_so() -> None:
    low = corrected_rate(TWENTY, 10, 100)
    assert (low.rate, low.clipped) == (0, True)
    high = corrected_rate(TWENTY, 99, 100)
    assert (high.rate, high.clipped) == (1, True)
    assert not corrected_rate(TWENTY, 25, 100).clipped  # exactly what false accepts alone give


@pytest.mark.parametrize(
    ("errors", "judged", "because"),
    [
        (counts(5, 5, 5, 5), 100, NO_BETTER_THAN_CHANCE),
        (counts(2, 8, 8, 2), 100, NO_BETTER_THAN_CHANCE),
        (counts(0, 0, 3, 9), 100, NO_LABELS),
        (counts(9, 3, 0, 0), 100, NO_LABELS),
        (counts(0, 0, 0, 0), 100, NO_LABELS),
        (TWENTY, 0, NOTHING_JUDGED),
    ],
)
def test_a_judge_that_says_nothing_gives_no_corrected_rate(
    errors: Confusion, judged: int, because: str
) -> None:
    found = corrected_rate(errors, judged // 2, judged)
    assert (found.rate, found.interval, found.because) == (None, None, because)


def test_an_estimate_without_an_interval_says_why() -> None:
    found = corrected_rate(counts(1, 0, 99, 1), 60, 100)
    assert found.rate is not None
    assert (found.interval, found.because) == (None, TOO_FEW_LABELS)


def test_prediction_powered_inference_on_the_worked_example() -> None:
    found = prediction_powered_rate(TWENTY, 70, 100, drawn_at_random=True)
    expected = JUDGE["ppi"]
    assert found.rate == Fraction(13, 20)
    assert float(found.rate) == expected["est"]
    assert found.standard_error == pytest.approx(expected["se"], abs=1e-5)
    assert found.interval is not None
    assert [found.interval.low, found.interval.high] == pytest.approx(expected["ci"], abs=CLOSE)


def test_prediction_powered_inference_refuses_labels_that_were_picked() -> None:
    found = prediction_powered_rate(TWENTY, 70, 100, drawn_at_random=False)
    assert (found.rate, found.because) == (None, NOT_DRAWN)
    none = prediction_powered_rate(counts(0, 0, 0, 0), 70, 100, drawn_at_random=True)
    assert none.because == NO_LABELS
    nothing = prediction_powered_rate(TWENTY, 0, 0, drawn_at_random=True)
    assert nothing.because == NOTHING_JUDGED
    clipped = prediction_powered_rate(counts(2, 8, 0, 10), 95, 100, drawn_at_random=True)
    assert (clipped.rate, clipped.clipped) == (1, True)


def test_labels_alone_and_when_a_judge_adds_to_them() -> None:
    alone = wilson(12, 20)
    assert [round(alone.low, 4), round(alone.high, 4)] == [0.3866, 0.7812]
    least = least_correlation(20)
    assert least is not None
    assert round(least, 2) == 0.24
    assert TWENTY.correlation is not None
    assert TWENTY.correlation > least
    assert least_correlation(2) is None
    assert counts(3, 0, 2, 0).correlation is None


@pytest.mark.parametrize(("said", "expected"), JUDGE["lower95_onesided"].items())
def test_one_sided_lower_bounds(said: str, expected: float) -> None:
    right, counted = map(int, said.split("/"))
    assert lower_bound(right, counted) == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize(
    ("right", "counted", "expected"),
    [(8, 8, 0.688), (14, 14, 0.807), (29, 29, 0.902), (59, 59, 0.950), (27, 30, 0.761)],
)
def test_what_it_proves_that_a_judge_caught_them_all(
    right: int, counted: int, expected: float
) -> None:
    found = lower_bound(right, counted)
    assert found is not None
    assert round(found, 3) == expected


def test_without_counts_there_is_no_bound() -> None:
    assert lower_bound(0, 0) is None
    assert upper_bound(0, 0) is None
    assert upper_bound(0, 30) == pytest.approx(0.095034, abs=CLOSE)
    empty = counts(0, 0, 0, 0)
    assert (empty.agreement, empty.tpr, empty.tnr, empty.kappa) == (None, None, None, None)
    assert (empty.tpr_interval(), empty.tnr_interval()) == (None, None)


# --- properties -----------------------------------------------------------------------------------

some = st.integers(0, 60)
matrices = st.builds(counts, some, some, some, some)


@given(matrices, st.integers(0, 200), st.integers(1, 200))
def test_a_corrected_rate_is_a_rate(errors: Confusion, accepted: int, more: int) -> None:
    judged = accepted + more
    for found in (
        corrected_rate(errors, accepted, judged),
        prediction_powered_rate(errors, accepted, judged, drawn_at_random=True),
    ):
        assert (found.rate is None) == (found.interval is None) or found.because == TOO_FEW_LABELS
        assert found.rate is None or 0 <= found.rate <= 1
        assert found.interval is None or 0 <= found.interval.low <= found.interval.high <= 1
        assert found.rate is not None or found.because


@given(matrices, st.integers(0, 200), st.integers(1, 200))
def test_accept_and_reject_may_change_places(errors: Confusion, accepted: int, more: int) -> None:
    judged = accepted + more
    turned = counts(
        errors.true_rejects, errors.false_accepts, errors.false_rejects, errors.true_accepts
    )
    one = corrected_rate(errors, accepted, judged)
    other = corrected_rate(turned, judged - accepted, judged)
    assert one.because == other.because
    if one.rate is not None and other.rate is not None:
        assert one.rate == 1 - other.rate
    if one.interval is not None and other.interval is not None:
        assert one.interval.low == pytest.approx(1 - other.interval.high, abs=1e-9)


@given(st.integers(1, 60), st.integers(1, 60), st.integers(0, 100))
def test_a_judge_without_errors_needs_no_correction(
    accepts: int, rejects: int, accepted: int
) -> None:
    found = corrected_rate(counts(accepts, 0, 0, rejects), accepted, 100)
    assert found.rate == Fraction(accepted, 100)
    assert not found.clipped


@given(st.lists(st.tuples(st.booleans(), st.booleans())))
def test_the_order_of_labels_does_not_matter(answers: list[tuple[bool, bool]]) -> None:
    assert confusion(answers) == confusion(sorted(answers))
    assert confusion(answers).labelled == len(answers)
