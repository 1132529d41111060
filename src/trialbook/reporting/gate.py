"""The regression gate over recorded runs: scores and checks of two arms, and the answer.

A trial's score is the share of its task's checks that passed, over all graders; a trial that was
not graded, though its execution was valid, scores zero. Invalid trials count nowhere.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from trialbook.model.deciding import is_judge
from trialbook.model.grade import Grade, GradeStatus, Severity
from trialbook.reporting.arms import Arm
from trialbook.reporting.comparison import not_ready
from trialbook.stats.gate import (
    MARGIN,
    STAGE_REPETITIONS,
    Answer,
    CheckCounts,
    Decision,
    TaskScores,
    decide,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Gated:
    """What the gate says of two arms. ``decision`` is None while the data are not valid.

    ``repetitions`` is how many trials of each arm and task there are. ``answer`` is the decision's
    own, except that a wish for more trials is *inconclusive* here; ``more`` says how many are
    missing to the second stage.
    """

    baseline: Arm
    candidate: Arm
    repetitions: int
    decision: Decision | None
    because: tuple[str, ...]

    @property
    def answer(self) -> Answer | None:
        """Pass, fail or inconclusive; None if it is not valid."""
        if self.decision is None:
            return None
        found = self.decision.answer
        return Answer.INCONCLUSIVE if found is Answer.GO_ON else found

    @property
    def more(self) -> int:
        """How many trials more of each arm and task the second stage takes; 0 if it is over."""
        if self.decision is None or self.decision.answer is not Answer.GO_ON:
            return 0
        return max(0, 2 * STAGE_REPETITIONS - self.repetitions)


def gate(baseline: Arm, candidate: Arm, margin: Fraction | None) -> Gated:
    """The gate's answer for two arms of runs that may be compared.

    From six repetitions on it is the second stage, before that the first.

    Raises:
        TooManySplits: a task has too many trials for an exact test.
    """
    because = not_ready(baseline, candidate)
    sizes = [len(task.chains) for arm in (baseline, candidate) for task in arm.tasks]
    repetitions = min(sizes, default=0)
    decision = None
    if not because:
        decision = decide(
            _scores(baseline, candidate),
            _checks(baseline, candidate),
            stage=2 if repetitions >= 2 * STAGE_REPETITIONS else 1,
            margin=MARGIN if margin is None else margin,
        )
        decision = _with_enough(decision, repetitions)
    return Gated(
        baseline=baseline,
        candidate=candidate,
        repetitions=repetitions,
        decision=decision,
        because=tuple(because),
    )


def _with_enough(found: Decision, repetitions: int) -> Decision:
    """The same; a pass rests on the trials of a whole stage, and with fewer there is none."""
    if found.answer is not Answer.PASS or repetitions >= STAGE_REPETITIONS:
        return found
    reason = f"nothing fell, but a pass takes {STAGE_REPETITIONS} trials of each task"
    return replace(found, answer=Answer.GO_ON, reason=reason)


def _scores(baseline: Arm, candidate: Arm) -> list[TaskScores]:
    found: list[dict[str, list[Fraction]]] = []
    for arm in (baseline, candidate):
        by_task: dict[str, list[Fraction]] = {}
        for task, grades in _trials(arm):
            by_task.setdefault(task, []).append(_score(grades))
        found.append(by_task)
    one, other = found
    return [
        TaskScores(task=task, baseline=tuple(one[task]), candidate=tuple(other[task]))
        for task in sorted(one.keys() & other.keys())
    ]


def _trials(arm: Arm) -> Iterator[tuple[str, tuple[Grade, ...]]]:
    """Every valid trial at the end of its slot's chain: its task and its grades."""
    for run in arm.results:
        for slot, cell in run.summary.cells.items():
            last = cell.last
            if slot.configuration == arm.name and last is not None and last.outcome.valid:
                grades = run.grades.get(last.path, ())
                yield slot.task, tuple(one for one in grades if not is_judge(one.grader))


def _score(grades: Sequence[Grade]) -> Fraction:
    known = [grade for grade in grades if grade.status is GradeStatus.GRADED]
    total = sum(grade.total for grade in known)
    return Fraction(sum(grade.passed for grade in known), total) if total else Fraction(0)


def _checks(baseline: Arm, candidate: Arm) -> list[CheckCounts]:
    """Passes of answers of every check, in both arms, by task and as asked."""
    counted: dict[tuple[str, str], tuple[list[int], list[int]]] = {}
    hard: set[tuple[str, str]] = set()
    for side, arm in enumerate((baseline, candidate)):
        for task, grades in _trials(arm):
            for check in (check for grade in grades for check in grade.checks):
                if check.passed is None:
                    continue
                tally = counted.setdefault((task, check.id), ([0, 0], [0, 0]))[side]
                tally[0] += check.passed
                tally[1] += 1
                if check.severity is Severity.MUST:
                    hard.add((task, check.id))
    return [
        CheckCounts(
            task=task,
            check=check,
            must=(task, check) in hard,
            baseline=(one[0], one[1]),
            candidate=(other[0], other[1]),
        )
        for (task, check), (one, other) in counted.items()
    ]
