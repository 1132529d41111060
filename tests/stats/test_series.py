from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.model.series import Answer, ConflictOutcome, RepairClass, Said
from trialbook.stats.series import (
    DIMENSIONS,
    LEAST_APPLICABLE,
    Score,
    conflict_outcome,
    first_of,
    mean_share,
    repair_class,
    scores,
    summed,
)

YES, NO, UNKNOWN, NONE = Said.YES, Said.NO, Said.UNKNOWN, Said.NOT_APPLICABLE


def score(yes: int, no: int) -> Score:
    return Score(dimension="repair", yes=yes, no=no)


def test_what_does_not_apply_or_is_open_is_in_no_share() -> None:
    said = [YES, YES, NO, NONE, NONE, UNKNOWN]
    answers = [Answer(question=f"repair/q{n}", answer=one) for n, one in enumerate(said)]
    found = {one.dimension: one for one in scores(answers)}
    assert found["repair"].share == Fraction(2, 3)
    assert (found["repair"].not_applicable, found["repair"].unknown) == (2, 1)
    assert found["outcome"] == Score(dimension="outcome")


def test_fewer_than_three_answers_have_counts_only() -> None:
    assert score(2, 0).share is None
    assert score(2, 1).share == Fraction(2, 3)


@given(st.lists(st.tuples(st.sampled_from(DIMENSIONS), st.sampled_from(list(Said)))))
def test_every_answer_is_counted_once_in_its_own_dimension(given_: list[tuple[str, Said]]) -> None:
    answers = [Answer(question=f"{name}/q", answer=said) for name, said in given_]
    found = scores(answers)
    assert [one.dimension for one in found] == list(DIMENSIONS)
    counted = sum(one.answered + one.not_applicable + one.unknown for one in found)
    assert counted == len(answers)
    assert all(one.share is None for one in found if one.answered < LEAST_APPLICABLE)
    twice = summed([found, found])
    assert [2 * one.yes for one in found] == [one.yes for one in twice]


def test_who_is_first_has_the_largest_share_and_nobody_is_in_a_tie() -> None:
    assert first_of({"a": score(3, 0), "b": score(2, 1)}) == "a"
    assert first_of({"a": score(3, 0), "b": score(6, 0)}) is None
    assert first_of({"a": score(3, 0), "b": score(1, 0)}) is None
    assert first_of({"a": score(3, 0)}) is None


def test_projects_count_alike_in_a_mean_however_much_was_asked() -> None:
    assert mean_share([score(10, 0), score(0, 3)]) == Fraction(1, 2)
    assert mean_share([score(10, 0), score(1, 0)]) is None
    assert mean_share([]) is None


@pytest.mark.parametrize(
    ("holds", "named", "one_path", "expected"),
    [
        (True, NONE, YES, ConflictOutcome.HONOURED),
        (True, UNKNOWN, YES, ConflictOutcome.HONOURED),
        (False, YES, YES, ConflictOutcome.REVISED_EXPLICITLY),
        (False, NO, YES, ConflictOutcome.SILENTLY_CONTRADICTED),
        (False, NO, NO, ConflictOutcome.PARALLEL_PATH),
        (True, YES, NO, ConflictOutcome.PARALLEL_PATH),
        (False, UNKNOWN, YES, None),
        (False, YES, UNKNOWN, None),
        (None, YES, YES, None),
    ],
)
def test_the_conflict_ends_in_one_of_four_ways_or_is_open(
    holds: bool | None, named: Said, one_path: Said, expected: ConflictOutcome | None
) -> None:
    assert conflict_outcome(holds, named, one_path) is expected


@pytest.mark.parametrize(
    ("reported", "siblings", "cause", "expected"),
    [
        (YES, YES, YES, RepairClass.ROOT_CAUSE),
        (YES, YES, NO, RepairClass.PARTIAL),
        (YES, NO, YES, RepairClass.SYMPTOM_ONLY),
        (YES, NO, UNKNOWN, RepairClass.SYMPTOM_ONLY),
        (NO, YES, YES, RepairClass.NOT_FIXED),
        (NO, UNKNOWN, UNKNOWN, RepairClass.NOT_FIXED),
        (YES, YES, UNKNOWN, None),
        (YES, UNKNOWN, YES, None),
        (NONE, NONE, NONE, None),
    ],
)
def test_a_repair_is_of_one_class_or_open(
    reported: Said, siblings: Said, cause: Said, expected: RepairClass | None
) -> None:
    assert repair_class(reported, siblings, cause) is expected
