"""The tasks of a suite as a table: what they are, how healthy they are, how they last came out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from trialbook.model.lock import Lock
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan
from trialbook.model.suite import Suite
from trialbook.model.validation import MatrixRow, RowStatus
from trialbook.site.addresses import run_page, task_page, trial_page
from trialbook.site.figures import outcome_figure
from trialbook.site.ledger_view import LedgerView
from trialbook.storage.reader import RunRef
from trialbook.storage.rows import TrialRow

_CELLS = 12
_COLUMNS = 6


def task_table(view: LedgerView, suite: str, locks: Sequence[Lock]) -> dict[str, Any]:
    """Every task of the suite, those of older versions marked as gone.

    ``columns`` are the configurations of the newest runs, each a column of marks.
    """
    authored = view.authored(suite)
    runs = view.runs_of(suite)
    plans = [view.plan(run) for run in runs[-1:]] if authored is None else []
    declared = _declared(authored, plans)
    lock = locks[-1] if locks else None
    health = _health(lock.matrix if lock else ())
    tried = _tried(view, runs)
    found = []
    for _, name in view.tasks(suite):
        seen = tried.get(name, _Tried())
        found.append(
            {
                "name": name,
                "page": task_page(suite, name),
                "gone": authored is not None and name not in declared,
                **declared.get(name, _UNKNOWN),
                "health": health.get(name, _NO_MATRIX if lock is None else _NO_ROWS),
                "varied": f"{seen.varied}/{seen.repeated}" if seen.repeated else "",
                "varied_any": bool(seen.varied),
                "trials": seen.trials,
                "last": _last(seen),
            }
        )
    ran = {name for row in found if row["last"] for name in row["last"]["groups"]}
    columns = [one.configuration for one in view.configurations(suite) if one.configuration in ran]
    return {"rows": found, "columns": columns[:_COLUMNS], "hidden": columns[_COLUMNS:]}


_UNKNOWN = {"category": "", "split": "", "contamination": "", "graders": "", "chips": []}
_NO_MATRIX = {"said": "not locked", "bad": False, "title": "", "rows": 0}
_NO_ROWS = {"said": "no rows", "bad": False, "title": "", "rows": 0}


def _declared(authored: Suite | None, plans: Sequence[Plan]) -> dict[str, dict[str, Any]]:
    """What the suite's files say of each task; the newest plan where they cannot be read."""
    if authored is not None:
        return {
            task.name: {
                "category": task.category,
                "split": task.split.value,
                "contamination": task.contamination.value.replace("_", " "),
                "graders": ", ".join(use.grader for use in task.graders),
                "chips": _chips(task.no_change_expected, task.must_escalate, len(task.sessions)),
            }
            for task in authored.tasks
        }
    return {
        name: {
            "category": task.category,
            "split": task.split,
            "contamination": task.contamination.replace("_", " "),
            "graders": ", ".join(str(grader.get("grader", "")) for grader in task.graders),
            "chips": _chips(task.no_change_expected, task.must_escalate, len(task.sessions)),
        }
        for plan in plans
        for name, task in plan.tasks.items()
    }


def _chips(no_change: bool, escalate: bool, sessions: int) -> list[str]:  # noqa: FBT001 - facts
    return [
        *(["no change expected"] if no_change else []),
        *(["must hand back"] if escalate else []),
        *([f"{sessions} sessions"] if sessions > 1 else []),
    ]


def _health(rows: Iterable[MatrixRow]) -> dict[str, dict[str, Any]]:
    """What the validation matrix of the lock found for each task."""
    by_task: dict[str, list[MatrixRow]] = {}
    for row in rows:
        by_task.setdefault(row.task, []).append(row)
    found = {}
    for task, own in by_task.items():
        asked = [row for row in own if row.status is not RowStatus.NOT_GIVEN]
        passed = sum(row.status is RowStatus.PASSED for row in asked)
        others = [row for row in asked if row.status is not RowStatus.PASSED]
        missing = [row.row.value for row in own if row.status is RowStatus.NOT_GIVEN]
        told = [f"{row.row} {row.case}: {row.status}".replace(" :", ":") for row in others]
        found[task] = {
            "said": f"{passed}/{len(asked)}",
            "bad": any(row.blocks for row in own),
            "title": "; ".join([*told, *([f"not given: {', '.join(missing)}"] if missing else [])]),
            "rows": len(asked),
        }
    return found


@dataclass(slots=True)
class _Tried:
    """What trials say of a task: in how many slot groups repetitions disagree, and the last run."""

    trials: int = 0
    repeated: int = 0
    varied: int = 0
    run: RunRef | None = None
    rows: list[TrialRow] = field(default_factory=list)


def _tried(view: LedgerView, runs: Sequence[RunRef]) -> dict[str, _Tried]:
    found: dict[str, _Tried] = {}
    for run in runs:
        by_task: dict[str, list[TrialRow]] = {}
        for row in view.rows(run):
            by_task.setdefault(row.task, []).append(row)
        for task, own in by_task.items():
            seen = found.setdefault(task, _Tried())
            seen.trials += len(own)
            seen.run, seen.rows = run, own
            for answers in _repetitions(own):
                seen.repeated += 1
                seen.varied += len(set(answers)) > 1
    return found


def _repetitions(rows: Iterable[TrialRow]) -> list[list[bool]]:
    """Whether accepted, by valid repetition, of each configuration that has two or more."""
    last = {row.slot: row for row in rows}
    found: dict[str, list[bool]] = {}
    for row in last.values():
        if row.outcome.valid:
            found.setdefault(row.configuration, []).append(row.outcome is Outcome.ACCEPTED)
    return [answers for answers in found.values() if len(answers) > 1]


def _last(seen: _Tried) -> dict[str, Any] | None:
    """How the task came out in the newest run that has it, configuration by configuration."""
    if seen.run is None:
        return None
    last = {row.slot: row for row in seen.rows}
    by_name: dict[str, list[TrialRow]] = {}
    for row in last.values():
        by_name.setdefault(row.configuration, []).append(row)
    return {
        "run": seen.run.run,
        "page": run_page(seen.run),
        "groups": {
            name: [row_cell(seen.run, row) for row in own[:_CELLS]] for name, own in by_name.items()
        },
        "more": {name: len(own) - _CELLS for name, own in by_name.items() if len(own) > _CELLS},
    }


def row_cell(run: RunRef, row: TrialRow) -> dict[str, Any]:
    """A trial's mark that leads to its page."""
    figure = outcome_figure(row.outcome)
    return {
        **figure,
        "changed": row.corrected,
        "repetition": row.repetition,
        "said": f"{row.configuration}, {figure['words']}",
        "reason": figure["meaning"],
        "rerun": row.rerun > 0,
        "page": trial_page(run, row.slot.trial_path(row.rerun)),
        "here": False,
    }
