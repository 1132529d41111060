"""A run's results as tidy rows: one row a trial, reruns included, and one a slot that never ran.

``results.csv`` is computed from the plan and the trials' records alone, in the order of the
schedule, and is the same byte for byte whenever it is made again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from trialbook.formats.visible import visible_line
from trialbook.model.grade import Grade, GradeStatus
from trialbook.model.outcome import NOT_RUN
from trialbook.model.plan import Plan, PlannedConfiguration, PlannedTask, SlotKey
from trialbook.model.trial import Trial, Usage
from trialbook.reporting.summary import AMOUNT, Cell, Summary, summarise
from trialbook.reporting.wording import NOT_RUN_MEANING, nature_label
from trialbook.storage.reader import Reader, RunRef

COLUMNS = (
    "suite",
    "protocol",
    "status",
    "run",
    "position",
    "task",
    "category",
    "split",
    "configuration",
    "nature",
    "agent",
    "model",
    "repetition",
    "rerun",
    "trial",
    "outcome",
    "valid",
    "accepted",
    "counts_all_scheduled",
    "counts_valid_execution",
    "graded_anyway",
    "reason",
    "rerun_reason",
    "checks_passed",
    "checks_total",
    "grades",
    "changed_files",
    "insertions",
    "deletions",
    "started",
    "finished",
    "input_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "output_tokens",
    "reasoning_tokens",
    "model_calls",
    "turns",
    "cost_usd",
    "cost_basis",
    "isolated",
    "patch_sha256",
)
"""The columns of ``results.csv``, in order. An empty cell is *not known* or *not applicable*."""

_UNPLANNED = ""
# What a spreadsheet takes for a formula when a cell begins with it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResults:
    """Everything that a report of one run is made from; ``grades`` by the trial's path."""

    plan: Plan
    trials: tuple[Trial, ...]
    grades: Mapping[str, tuple[Grade, ...]] = field(default_factory=dict)

    @property
    def summary(self) -> Summary:
        """The run in numbers."""
        return summarise(self.plan, self.trials)


def load_results(reader: Reader, run: RunRef) -> RunResults:
    """A run's plan, trials and grades as they are in the ledger.

    Raises:
        RecordError: a record that cannot be read.
    """
    trials = tuple(reader.trials(run))
    grades = {
        trial.path: tuple(reader.grade(run, trial.path, use.grader) for use in trial.grades)
        for trial in trials
    }
    return RunResults(plan=reader.plan(run), trials=trials, grades=grades)


def results_csv(plan: Plan, trials: Iterable[Trial]) -> bytes:
    """The bytes of ``results.csv``: RFC 4180 with LF line ends, UTF-8, one header line.

    Text that is not the program's own has its control characters escaped, and an apostrophe before
    it where a spreadsheet would take it for a formula.
    """
    out = io.StringIO()
    writer = csv.DictWriter(out, COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows(plan, trials))
    return out.getvalue().encode()


def rows(plan: Plan, trials: Iterable[Trial]) -> list[dict[str, str]]:
    """The rows in the order of the schedule, reruns after what they replace.

    Trials on record outside the plan come last and have no position.
    """
    summary = summarise(plan, trials)
    found: list[dict[str, str]] = []
    for number, slot in enumerate(plan.schedule, start=1):
        cell = summary.cells[slot.key]
        found += _slot_rows(plan, str(number), cell)
    for trial in summary.unplanned:
        row = _trial_row(plan, trial)
        found.append(row | {"counts_all_scheduled": "no", "counts_valid_execution": "no"})
    return found


def _slot_rows(plan: Plan, position: str, cell: Cell) -> Iterable[dict[str, str]]:
    if not cell.trials:
        yield _identity(plan, cell.slot) | {
            "position": position,
            "outcome": NOT_RUN,
            "valid": "no",
            "accepted": "no",
            "counts_all_scheduled": "yes",
            "counts_valid_execution": "no",
            "reason": NOT_RUN_MEANING,
        }
    for trial in cell.trials:
        last = trial is cell.last
        yield _trial_row(plan, trial) | {
            "position": position,
            "counts_all_scheduled": _yes(trial is cell.trials[0]),
            "counts_valid_execution": _yes(last and trial.outcome.valid),
        }


def _identity(plan: Plan, slot: SlotKey) -> dict[str, str]:
    task: PlannedTask | None = plan.tasks.get(slot.task)
    configuration: PlannedConfiguration | None = plan.configurations.get(slot.configuration)
    return {
        "suite": plan.suite,
        "protocol": str(plan.protocol),
        "status": plan.status,
        "run": plan.run,
        "position": _UNPLANNED,
        "task": _text(slot.task),
        "category": _text(task.category) if task else "",
        "split": task.split if task else "",
        "configuration": _text(slot.configuration),
        "nature": nature_label(configuration) if configuration else "",
        "agent": _text(configuration.agent) if configuration else "",
        "model": _text(configuration.model) if configuration else "",
        "repetition": str(slot.repetition),
    }


def _trial_row(plan: Plan, trial: Trial) -> dict[str, str]:
    change = trial.change
    graded = [grade for grade in trial.grades if grade.status == GradeStatus.GRADED]
    return (
        _identity(plan, trial.slot)
        | {
            "rerun": str(trial.rerun),
            "trial": _text(trial.path),
            "outcome": trial.outcome,
            "valid": _yes(trial.outcome.valid),
            "accepted": _yes(trial.outcome == "accepted"),
            "graded_anyway": _yes(trial.graded_anyway),
            "reason": _text(trial.reason),
            "rerun_reason": _text(trial.rerun_reason),
            "checks_passed": str(sum(g.passed for g in graded)) if graded else "",
            "checks_total": str(sum(g.total for g in graded)) if graded else "",
            "grades": grades_line(trial),
            "changed_files": str(change.files) if change else "",
            "insertions": str(change.insertions) if change else "",
            "deletions": str(change.deletions) if change else "",
            "started": trial.started,
            "finished": trial.finished,
            "isolated": _yes(trial.isolation.isolated) if trial.isolation else "",
            "patch_sha256": change.patch_sha256 if change else "",
        }
        | _usage(trial.usage)
    )


def grades_line(trial: Trial) -> str:
    """A trial's grades on one line: ``acceptance rejected 4/5; checks accepted 3/3``."""
    said: Sequence[str] = [
        f"{visible_line(grade.grader)} {_said(grade.status, grade.accepted)} "
        f"{grade.passed}/{grade.total}"
        for grade in trial.grades
    ]
    return "; ".join(said)


def _said(status: str, accepted: bool | None) -> str:  # noqa: FBT001 - a grade's own answer
    if status != GradeStatus.GRADED:
        return status
    return "accepted" if accepted else "rejected"


def _usage(usage: Usage) -> dict[str, str]:
    counts = {
        name: _number(getattr(usage, name))
        for name in (
            "input_tokens",
            "cache_read_tokens",
            "cache_write_tokens",
            "output_tokens",
            "reasoning_tokens",
            "model_calls",
            "turns",
        )
    }
    amount = usage.cost_usd or ""
    known = amount if AMOUNT.fullmatch(amount) else ""
    return counts | {"cost_usd": known, "cost_basis": _text(usage.basis) if known else "unknown"}


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


def _yes(value: bool) -> str:  # noqa: FBT001 - a truth value to its word
    return "yes" if value else "no"


def _text(value: str | None) -> str:
    shown = visible_line(value or "")
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
