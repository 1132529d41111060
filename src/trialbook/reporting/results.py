"""A run's results as tidy rows: one row a trial, reruns included, and one a slot that never ran.

``results.csv`` is computed from the plan and the trials' records alone, in the order of the
schedule, and is the same byte for byte whenever it is made again.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import repeat
from typing import TypeVar, cast

from trialbook.formats.visible import visible_line
from trialbook.model.deciding import is_judge
from trialbook.model.grade import Grade, GradeStatus
from trialbook.model.incident import Incident
from trialbook.model.outcome import NOT_RUN
from trialbook.model.plan import Plan, PlannedConfiguration, PlannedTask, SlotKey
from trialbook.model.regrade import Regrade
from trialbook.model.standing import Standing, standing_of
from trialbook.model.trial import Trial
from trialbook.model.usage import Usage
from trialbook.reporting.opinions import TESTS, has_opinions, opinions_of
from trialbook.reporting.series import SeriesView, series_views
from trialbook.reporting.summary import AMOUNT, Cell, Summary, summarise
from trialbook.reporting.wording import NOT_RUN_MEANING, nature_label
from trialbook.storage.corrections import grades as standing_grades
from trialbook.storage.corrections import incidents, regrades, reviews_of, standings
from trialbook.storage.reader import Reader, RunRef

T = TypeVar("T")

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
    "recorded_outcome",
    "corrected_by",
    "incident",
    "interventions",
    "intervention_minutes",
    "rescued",
)
"""The columns of ``results.csv``, in order. An empty cell is *not known* or *not applicable*."""

OPINION_COLUMNS = (
    "tests_pass",
    "would_merge",
    "would_merge_by",
    "judges",
    "review_verdict",
    "review_minutes",
)
"""More columns, at the end, of a run that somebody judges or was meant to; others keep theirs."""

_UNPLANNED = ""
# What a spreadsheet takes for a formula when a cell begins with it.
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResults:
    """Everything that a report of one run is made from; ``grades`` by the trial's path.

    ``trials`` are as they count: amendments and later grades are in their outcomes. ``standings``
    (by the trial's path) know what was recorded, and what changed it. ``elsewhere_minutes`` went
    into reviews of controls and repeats. ``series`` has, by the trial's path, what is said of those
    that have several sessions.
    """

    plan: Plan
    trials: tuple[Trial, ...]
    grades: Mapping[str, tuple[Grade, ...]] = field(default_factory=dict)
    standings: Mapping[str, Standing] = field(default_factory=dict)
    incidents: tuple[Incident, ...] = ()
    regrades: tuple[Regrade, ...] = ()
    elsewhere_minutes: float = 0.0
    series: Mapping[str, SeriesView] = field(default_factory=dict)
    _known: dict[str, object] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def summary(self) -> Summary:
        """The run in numbers."""
        return self.once("summary", self._summarised)

    def once(self, name: str, compute: Callable[[], T]) -> T:
        """What follows from these results, worked out at the first question only."""
        if name not in self._known:
            self._known[name] = compute()
        return cast("T", self._known[name])

    def _summarised(self) -> Summary:
        changed = {path for path, standing in self.standings.items() if standing.changed}
        return summarise(self.plan, self.trials, changed)

    def standing(self, trial: Trial) -> Standing:
        """What was recorded of a trial, and what changed it."""
        found = self.standings.get(trial.path)
        return standing_of(trial) if found is None else found


class _Grades(Mapping[str, tuple[Grade, ...]]):
    """The grades of a run's trials by path, each read at the first question."""

    def __init__(self, reader: Reader, run: RunRef, standings: Mapping[str, Standing]) -> None:
        self._reader = reader
        self._run = run
        self._standings = standings
        self._known: dict[str, tuple[Grade, ...]] = {}

    def __getitem__(self, path: str) -> tuple[Grade, ...]:
        if path not in self._known:
            standing = self._standings[path]
            self._known[path] = standing_grades(self._reader, self._run, standing)
        return self._known[path]

    def __iter__(self) -> Iterator[str]:
        return iter(self._standings)

    def __len__(self) -> int:
        return len(self._standings)


def load_results(reader: Reader, run: RunRef) -> RunResults:
    """A run's plan, trials and grades as they stand in the ledger, corrections included.

    Grades are read when somebody asks for them, so the reader has to stay open until then.

    Raises:
        RecordError: a record that cannot be read.
    """
    found = {one.record.path: one for one in standings(reader, run)}
    people = reviews_of(reader, run)
    return RunResults(
        plan=reader.plan(run),
        trials=tuple(one.trial for one in found.values()),
        grades=_Grades(reader, run, found),
        standings=found,
        incidents=incidents(reader, run),
        regrades=regrades(reader, run),
        elsewhere_minutes=0.0 if people is None else people.minutes_elsewhere(),
        series=series_views(reader, run, (one.record for one in found.values())),
    )


def results_csv(
    plan: Plan, trials: Iterable[Trial | Standing], summary: Summary | None = None
) -> bytes:
    """The bytes of ``results.csv``: RFC 4180 with LF line ends, UTF-8, one header line.

    Text that is not the program's own has its control characters escaped, and an apostrophe before
    it where a spreadsheet would take it for a formula. ``summary`` is that of the same trials, if
    it is at hand.
    """
    given = [one if isinstance(one, Standing) else standing_of(one) for one in trials]
    columns = COLUMNS + (OPINION_COLUMNS if has_opinions(plan, given) else ())
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(map(row.get, columns, repeat("")) for row in rows(plan, given, summary))
    return out.getvalue().encode()


def rows(
    plan: Plan, trials: Iterable[Trial | Standing], summary: Summary | None = None
) -> list[dict[str, str]]:
    """The rows in the order of the schedule, reruns after what they replace.

    Trials on record outside the plan come last and have no position. A trial that is given as a
    plain record has no corrections.
    """
    given = [one if isinstance(one, Standing) else standing_of(one) for one in trials]
    known = {one.record.path: one for one in given}
    summary = summary or summarise(plan, (one.trial for one in given))
    found: list[dict[str, str]] = []
    for number, slot in enumerate(plan.schedule, start=1):
        cell = summary.cells[slot.key]
        found += _slot_rows(plan, str(number), cell, known)
    for trial in summary.unplanned:
        row = _trial_row(plan, known[trial.path])
        found.append(row | {"counts_all_scheduled": "no", "counts_valid_execution": "no"})
    return found


def _slot_rows(
    plan: Plan, position: str, cell: Cell, known: Mapping[str, Standing]
) -> Iterable[dict[str, str]]:
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
        yield _trial_row(plan, known[trial.path]) | {
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


def _trial_row(plan: Plan, standing: Standing) -> dict[str, str]:
    trial = standing.trial
    change = trial.change
    graded = [
        grade
        for grade in trial.grades
        if grade.status == GradeStatus.GRADED and not is_judge(grade.grader)
    ]
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
            "changed_files": str(change.by_agent.files) if change else "",
            "insertions": str(change.by_agent.insertions) if change else "",
            "deletions": str(change.by_agent.deletions) if change else "",
            "started": trial.started,
            "finished": trial.finished,
            "isolated": _yes(trial.isolation.isolated) if trial.isolation else "",
            "patch_sha256": change.patch_sha256 if change else "",
        }
        | _usage(trial.usage)
        | _corrections(standing)
        | _opinions(standing)
    )


def _opinions(standing: Standing) -> dict[str, str]:
    """Whether tests pass, and whether somebody would merge: never one number."""
    if not standing.judged and standing.reviewed is None:
        tests = next((one for one in standing.trial.grades if one.grader == TESTS), None)
        return {"tests_pass": _answer(None if tests is None else tests.accepted)}
    found = opinions_of(standing)
    return {
        "tests_pass": _answer(found.tests_pass),
        "would_merge": _answer(found.would_merge),
        "would_merge_by": found.by,
        "judges": "; ".join(one.said for one in found.judges),
    }


def _corrections(standing: Standing) -> dict[str, str]:
    """What was recorded and what changed it; people's part in the trial."""
    minutes = sum(one.minutes for one in standing.interventions)
    return {
        "recorded_outcome": standing.record.outcome,
        "corrected_by": standing.corrected_by,
        "incident": _text(standing.record.incident),
        "interventions": str(len(standing.interventions)),
        "intervention_minutes": f"{minutes:g}",
        "rescued": _yes(standing.rescued),
        **_reviewed(standing),
    }


def _reviewed(standing: Standing) -> dict[str, str]:
    """What people who review came to, and their minutes; empty while that is not known."""
    reviewed = standing.reviewed
    if reviewed is None or not reviewed.reviews:
        return {}
    verdict = reviewed.verdict or reviewed.agreed.value
    return {"review_verdict": verdict, "review_minutes": f"{round(reviewed.minutes, 1):g}"}


def grades_line(trial: Trial) -> str:
    """A trial's grades on one line: ``acceptance rejected 4/5; checks accepted 3/3``."""
    said: Sequence[str] = [
        f"{visible_line(grade.grader)} {_said(grade.status, grade.accepted)} "
        f"{grade.passed}/{grade.total}"
        for grade in trial.grades
        if not is_judge(grade.grader)
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


def _answer(value: bool | None) -> str:  # noqa: FBT001 - as below
    return "" if value is None else _yes(value)


def _yes(value: bool) -> str:  # noqa: FBT001 - a truth value to its word
    return "yes" if value else "no"


@lru_cache(maxsize=4096)
def _text(value: str | None) -> str:
    shown = visible_line(value or "")
    return f"'{shown}" if shown.startswith(_FORMULA) else shown
