"""The regression gate: two stages, exact tests, a third answer when the data do not decide.

The target is within suite: did behaviour change on these very tasks? An improvement is never
claimed here; a comparison does that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import ceil

from trialbook.stats.exact import Relabelling, fisher_worse, holm

STAGE_REPETITIONS = 3
"""Trials of each configuration and task that one stage adds."""

FIRST_LEVEL = Fraction(1, 100)
SECOND_LEVEL = Fraction(2, 100)
FIRST_DROP = Fraction(2, 3)
SECOND_DROP = Fraction(1, 2)
MARGIN = Fraction(1, 10)
_HARD_SHARE = Fraction(2, 3)
_HARD_LEAST = 2
_NAMED = 5


class Answer(StrEnum):
    """What the gate says; :attr:`GO_ON` asks for the second stage."""

    PASS = "pass"  # noqa: S105 - no password
    FAIL = "fail"
    INCONCLUSIVE = "inconclusive"
    GO_ON = "go_on"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskScores:
    """The scores (0 to 1) of one task's counted trials in each configuration."""

    task: str
    baseline: tuple[Fraction, ...]
    candidate: tuple[Fraction, ...]

    @property
    def difference(self) -> Fraction:
        """Mean candidate score minus mean baseline score."""
        return _mean(self.candidate) - _mean(self.baseline)


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCounts:
    """One check over its trials: (passes, applicable) in each configuration."""

    task: str
    check: str
    must: bool
    baseline: tuple[int, int]
    candidate: tuple[int, int]

    @property
    def broken(self) -> bool:
        """A check that always passed in the baseline fails in two thirds of the candidate's trials.

        And in two trials at least: a single failure is a reason to run again, not evidence.
        """
        passed, of = self.baseline
        new, new_of = self.candidate
        failures = new_of - new
        enough = max(_HARD_LEAST, ceil(_HARD_SHARE * new_of))
        return of > 0 and passed == of and failures >= enough


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckRow:
    """A check with Fisher's one-sided p and the same after Holm over all checks: a diagnosis."""

    counts: CheckCounts
    p: Fraction
    adjusted: Fraction | float


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskRow:
    """A task with its one-sided relabelling p and the same after Holm over all tasks."""

    scores: TaskScores
    p: Fraction | float
    adjusted: Fraction | float


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one stage of the gate found; ``reason`` is a sentence, ``p`` one-sided, of all tasks."""

    stage: int
    answer: Answer
    reason: str
    difference: Fraction
    p: Fraction | float
    tasks: tuple[TaskRow, ...]
    checks: tuple[CheckRow, ...]

    @property
    def broken(self) -> tuple[CheckCounts, ...]:
        """The hard checks that broke."""
        return tuple(row.counts for row in self.checks if row.counts.must and row.counts.broken)


def decide(
    tasks: Sequence[TaskScores],
    checks: Sequence[CheckCounts],
    *,
    stage: int,
    margin: Fraction = MARGIN,
) -> Decision:
    """The gate's answer at a stage, from all trials up to it. Every task has scores in both arms.

    Raises:
        TooManySplits: a task has too many trials to enumerate.
    """
    test = Relabelling([(task.baseline, task.candidate) for task in tasks])
    p, difference = test.lower(), test.observed / len(tasks)
    rows = _task_rows(tasks)
    check_rows = _check_rows(checks)
    broken = [row.counts for row in check_rows if row.counts.must and row.counts.broken]
    if broken:
        names = ", ".join(f"{one.task}/{one.check}" for one in broken)
        answer, reason = Answer.FAIL, f"hard checks broke: {names}"
    elif stage == 1:
        answer, reason = _first(tasks, difference, p)
    else:
        answer, reason = _second(rows, difference, p, margin)
    return Decision(
        stage=stage,
        answer=answer,
        reason=reason,
        difference=difference,
        p=p,
        tasks=rows,
        checks=check_rows,
    )


def _first(
    tasks: Sequence[TaskScores], difference: Fraction, p: Fraction | float
) -> tuple[Answer, str]:
    if p <= FIRST_LEVEL:
        return Answer.FAIL, _fell(tasks)
    dropped = _dropped(tasks, FIRST_DROP)
    if difference >= 0 and not dropped:
        return Answer.PASS, "the score did not fall, and no task dropped by two thirds"
    if dropped:
        return Answer.GO_ON, f"dropped by two thirds or more: {', '.join(dropped)}"
    return Answer.GO_ON, "the score fell, and so few trials cannot say by chance or not"


def _second(
    rows: Sequence[TaskRow], difference: Fraction, p: Fraction | float, margin: Fraction
) -> tuple[Answer, str]:
    if p <= SECOND_LEVEL:
        return Answer.FAIL, _fell([row.scores for row in rows])
    worst = [row.scores.task for row in rows if row.adjusted <= SECOND_LEVEL]
    if worst:
        return Answer.FAIL, f"the score fell in: {', '.join(worst)}"
    dropped = _dropped([row.scores for row in rows], SECOND_DROP)
    if difference >= -margin and not dropped:
        return Answer.PASS, "the fall is within the margin, and no task dropped by half"
    if dropped:
        return (
            Answer.INCONCLUSIVE,
            f"dropped by half or more, not significantly: {', '.join(dropped)}",
        )
    return Answer.INCONCLUSIVE, "the score fell by more than the margin, not significantly"


def _fell(tasks: Sequence[TaskScores]) -> str:
    down = sorted((one for one in tasks if one.difference < 0), key=lambda one: one.difference)
    return f"the score fell, most in: {', '.join(one.task for one in down[:_NAMED])}"


def _mean(scores: Sequence[Fraction]) -> Fraction:
    return sum(scores, Fraction(0)) / len(scores)


def _dropped(tasks: Sequence[TaskScores], by: Fraction) -> list[str]:
    return [task.task for task in tasks if task.difference <= -by]


def _task_rows(tasks: Sequence[TaskScores]) -> tuple[TaskRow, ...]:
    values = [Relabelling([(task.baseline, task.candidate)]).lower() for task in tasks]
    return tuple(
        TaskRow(scores=task, p=p, adjusted=adjusted)
        for task, p, adjusted in zip(tasks, values, holm(values), strict=True)
    )


def _check_rows(checks: Sequence[CheckCounts]) -> tuple[CheckRow, ...]:
    counted = [one for one in checks if one.baseline[1] and one.candidate[1]]
    values = [fisher_worse(one.baseline, one.candidate) for one in counted]
    return tuple(
        CheckRow(counts=one, p=p, adjusted=adjusted)
        for one, p, adjusted in zip(counted, values, holm(values), strict=True)
    )


FALSE_ALARM_SHARE = 0.024
"""How often, at most, an unchanged configuration fails without hard checks, by simulation."""
