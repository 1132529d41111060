from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.stats.vectors import VECTORS, A, B, pairs, trials

from trialbook.stats.exact import moved_for, sign_flip
from trialbook.stats.paired import (
    collapse_bound,
    differences,
    mean_difference,
    mean_of_tasks,
    paired,
)
from trialbook.stats.passk import TaskTrials, pass_hat

LEVEL = 0.05
COUNTS = st.lists(st.integers(0, 3), min_size=2, max_size=25)


@pytest.mark.parametrize("name", ["ex1", "ex2", "zero"])
def test_the_guarded_interval_has_its_worked_numbers(name: str) -> None:
    case = VECTORS["paired"][name]
    found = mean_difference(list(differences(pairs(case["A"], case["B"])).values()))
    assert found is not None
    guarded = case["guard95"]
    assert float(found.mean) == pytest.approx(guarded["mean"], abs=1e-6)
    assert found.standard_error == pytest.approx(guarded["se"], abs=1e-6)
    assert found.moved == guarded["nz"]
    assert found.interval.low == pytest.approx(guarded["lo"], abs=1e-6)
    assert found.interval.high == pytest.approx(guarded["hi"], abs=1e-6)
    assert found.interval.method == ("t" if guarded["method"] == "t" else "t, guarded")
    assert found.bounds.low == pytest.approx(case["guard90"][0], abs=1e-6)
    assert found.bounds.high == pytest.approx(case["guard90"][1], abs=1e-6)


def test_one_task_has_no_interval() -> None:
    assert mean_difference([Fraction(1, 3)]) is None
    assert mean_difference([]) is None


def test_tasks_of_one_cluster_count_once() -> None:
    found = differences(
        paired(trials([3, 3, 0]), trials([0, 3, 0]), clusters={"t01": "one", "t02": "one"})
    )
    assert found == {"one": Fraction(-1, 2), "t03": Fraction(0)}


def test_a_task_without_counted_trials_has_no_difference() -> None:
    nothing = TaskTrials(task="t01", counted=0, accepted=0)
    tasks = paired([nothing], trials([3]))
    assert tasks[0].difference is None
    assert differences(tasks) == {}
    assert collapse_bound(tasks) is None


def test_only_tasks_that_both_have_are_paired() -> None:
    assert [task.task for task in paired(trials([1, 2, 3]), trials([1, 2]))] == ["t01", "t02"]


def test_a_collapse_is_a_majority_that_became_a_minority() -> None:
    tasks = pairs([3, 2, 1, 3], [0, 1, 0, 2])
    assert [task.collapsed for task in tasks] == [True, True, False, False]
    assert collapse_bound(pairs([3] * 10, [0, *[3] * 9])) == pytest.approx(0.394163, abs=1e-6)


def test_reliability_in_between_has_a_guarded_interval() -> None:
    values = [pass_hat(3, accepted, 2) or Fraction(0) for accepted in A]
    found = mean_of_tasks(values)
    assert found is not None
    assert 0 <= found.low < float(sum(values) / len(values)) < found.high <= 1
    flat = mean_of_tasks([Fraction(1)] * 10)
    assert flat is not None
    assert flat.low < 0.9, "ten tasks that all pass are no certainty"


@given(COUNTS, COUNTS)
def test_swapping_the_configurations_turns_the_sign(one: list[int], other: list[int]) -> None:
    length = min(len(one), len(other))
    forth = mean_difference(list(differences(pairs(one[:length], other[:length])).values()))
    back = mean_difference(list(differences(pairs(other[:length], one[:length])).values()))
    assert forth is not None
    assert back is not None
    assert forth.mean == -back.mean
    assert forth.interval.low == pytest.approx(-back.interval.high, abs=1e-12)


def significant(values: list[Fraction]) -> bool:
    """What a verdict asks for: an interval beyond zero, and an exact test that agrees."""
    found = mean_difference(values)
    assert found is not None
    return found.interval.low > 0 and sign_flip(values) <= LEVEL


# The interval alone may leave zero behind by one more task, since its quantile falls.
@example([1, 1, 1, 2])
@given(COUNTS)
def test_a_saturated_task_never_creates_significance(more: list[int]) -> None:
    length = len(more)
    before = list(differences(pairs(more, [3] * length)).values())
    after = list(differences(pairs([*more, 3], [3] * (length + 1))).values())
    if not significant(before) and sum(map(bool, before)) < moved_for(LEVEL):
        assert not significant(after)


def test_the_first_example_moves_three_tasks() -> None:
    values = differences(pairs(A, B))
    assert {name: value for name, value in values.items() if value} == {
        "t07": Fraction(1, 3),
        "t09": Fraction(1, 3),
        "t10": Fraction(-1, 3),
    }
