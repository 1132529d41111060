from __future__ import annotations

from fractions import Fraction

import pytest
from tests.stats.vectors import VECTORS

from trialbook.stats.exact import Relabelling
from trialbook.stats.gate import Answer, CheckCounts, TaskScores, decide

F = Fraction
GOOD = (F(1), F(1), F(1))
DRIFT = (F(1, 3), F(2, 4), F(1))
"""The candidate's scores of the three tasks with 3, 4 and 2 checks: 5 of 9 checks."""


def drifted(times: int) -> list[TaskScores]:
    return [
        TaskScores(task=f"t{place}", baseline=(F(1),) * times, candidate=(score,) * times)
        for place, score in enumerate(DRIFT, start=1)
    ]


def relabelled(tasks: list[TaskScores]) -> object:
    return Relabelling([(task.baseline, task.candidate) for task in tasks]).lower()


@pytest.mark.parametrize(("times", "name"), [(1, "one_rep"), (2, "two_reps"), (3, "three_reps")])
def test_the_drift_demonstration_at_each_number_of_repetitions(times: int, name: str) -> None:
    assert relabelled(drifted(times)) == F(VECTORS["gate"][name])


def test_drift_in_some_runs_only() -> None:
    tasks = [
        TaskScores(task="t1", baseline=GOOD, candidate=(F(1, 3), F(1, 3), F(1))),
        TaskScores(task="t2", baseline=GOOD, candidate=(F(1, 2), F(1, 2), F(1))),
        TaskScores(task="t3", baseline=GOOD, candidate=GOOD),
    ]
    assert relabelled(tasks) == F(VECTORS["gate"]["three_reps_two_of_three"])
    one_bad = [
        TaskScores(task="t1", baseline=GOOD, candidate=(F(1, 3), F(1), F(1))),
        TaskScores(task="t2", baseline=GOOD, candidate=GOOD),
        TaskScores(task="t3", baseline=GOOD, candidate=GOOD),
    ]
    assert relabelled(one_bad) == F(VECTORS["gate"]["three_reps_one_bad"])
    assert decide(one_bad, [], stage=1).difference == F(-2, 27)


def test_one_repetition_only_asks_for_more() -> None:
    found = decide(drifted(1), [], stage=1)
    assert found.answer is Answer.GO_ON
    assert found.difference == F(-7, 18)


def test_three_repetitions_fail() -> None:
    found = decide(drifted(3), [], stage=1)
    assert found.answer is Answer.FAIL
    assert found.p == F(1, 400)


def test_no_change_passes_at_once() -> None:
    same = [TaskScores(task="t", baseline=GOOD, candidate=GOOD)]
    assert decide(same, [], stage=1).answer is Answer.PASS


def test_a_destroyed_task_is_found_in_a_large_suite() -> None:
    six = GOOD * 2
    tasks = [TaskScores(task=f"t{n}", baseline=six, candidate=six) for n in range(9)]
    tasks.append(TaskScores(task="gone", baseline=six, candidate=(F(0),) * 6))
    found = decide(tasks, [], stage=2)
    assert found.answer is Answer.FAIL
    assert "gone" in found.reason


def test_what_fell_but_not_significantly_is_inconclusive() -> None:
    six = GOOD * 2
    half = (F(0),) * 3 + GOOD
    tasks = [TaskScores(task=f"t{n}", baseline=six, candidate=six) for n in range(9)]
    tasks.append(TaskScores(task="half", baseline=six, candidate=half))
    found = decide(tasks, [], stage=2)
    assert found.answer is Answer.INCONCLUSIVE
    assert "half" in found.reason


def test_a_small_fall_is_within_the_margin() -> None:
    six = GOOD * 2
    tasks = [TaskScores(task=f"t{n}", baseline=six, candidate=six) for n in range(4)]
    tasks.append(TaskScores(task="t9", baseline=six, candidate=(F(0), *GOOD, F(1), F(1))))
    assert decide(tasks, [], stage=2).answer is Answer.PASS


def check(new: int, of: int = 3, *, must: bool = True, before: int | None = None) -> CheckCounts:
    return CheckCounts(
        task="t",
        check="c",
        must=must,
        baseline=(of if before is None else before, of),
        candidate=(new, of),
    )


def test_a_hard_check_that_broke_twice_fails_whatever_the_score() -> None:
    same = [TaskScores(task="t", baseline=GOOD, candidate=GOOD)]
    found = decide(same, [check(1)], stage=1)
    assert found.answer is Answer.FAIL
    assert [one.check for one in found.broken] == ["c"]


@pytest.mark.parametrize(
    "harmless", [check(2), check(1, must=False), check(0, of=1), check(0, before=2)]
)
def test_what_does_not_break_a_hard_check(harmless: CheckCounts) -> None:
    same = [TaskScores(task="t", baseline=GOOD, candidate=GOOD)]
    assert decide(same, [harmless], stage=1).answer is Answer.PASS


def test_checks_are_adjusted_for_how_many_there_are() -> None:
    same = [TaskScores(task="t", baseline=GOOD, candidate=GOOD)]
    rows = decide(same, [check(0, must=False)] + [check(3, must=False)] * 8, stage=1).checks
    assert rows[0].p == F(1, 20)
    assert rows[0].adjusted == F(9, 20)
