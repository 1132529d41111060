"""Every check of a run, counted by configuration: which question is answered *no*, and where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trialbook.model.deciding import is_judge
from trialbook.model.grade import Check, Grade, Severity
from trialbook.model.trial import Trial
from trialbook.reporting.results import RunResults
from trialbook.stats.views import Tally


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckCount:
    """One check of one task. ``passed`` maps each configuration to passed of answered.

    Only the trial at the end of a slot's chain counts; a slot without an answer counts in neither
    number.
    """

    task: str
    grader: str
    id: str
    question: str
    severity: Severity
    passed: Mapping[str, Tally]

    @property
    def always_passed(self) -> bool:
        """Whether no answer was *no*."""
        return all(tally.accepted == tally.slots for tally in self.passed.values())


def check_counts(results: RunResults) -> tuple[CheckCount, ...]:
    """Every check that was answered at least once: by task as planned, then as graded."""
    asked: dict[tuple[str, str], dict[str, tuple[Check, dict[str, list[bool]]]]] = {}
    for trial, grade in _counting(results):
        here = asked.setdefault((trial.task, grade.grader), {})
        for check in grade.checks:
            if check.passed is None:
                continue
            known = here.get(check.id)
            if known is None:
                known = here[check.id] = (check, {})
            known[1].setdefault(trial.configuration, []).append(check.passed)
    order = {task: number for number, task in enumerate(results.plan.tasks)}
    return tuple(
        CheckCount(
            task=task,
            grader=grader,
            id=name,
            question=check.question,
            severity=check.severity,
            passed={
                configuration: _tally(answers.get(configuration, []))
                for configuration in results.plan.configurations
            },
        )
        for (task, grader), here in sorted(
            asked.items(), key=lambda item: (order.get(item[0][0], len(order)), item[0][1])
        )
        for name, (check, answers) in here.items()
    )


def _counting(results: RunResults) -> Iterable[tuple[Trial, Grade]]:
    for cell in results.summary.cells.values():
        if cell.last is not None:
            for grade in results.grades.get(cell.last.path, ()):
                if not is_judge(grade.grader):
                    yield cell.last, grade


def _tally(passed: list[bool]) -> Tally:
    return Tally(accepted=sum(passed), slots=len(passed))
