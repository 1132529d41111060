"""A whole trial: what execution found and what grading says become one record and its files."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trialbook.api import ChangedFile, Grade, GradeStatus
from trialbook.execution.change import Change
from trialbook.execution.classify import LIMIT_OUTCOMES, class_of
from trialbook.execution.credentials import known_credentials, with_values
from trialbook.execution.findings import Findings, Subject
from trialbook.execution.launch import Launcher
from trialbook.execution.room import secrets_of
from trialbook.execution.session_done import NoProgress, Progress
from trialbook.execution.trial import TrialRunner
from trialbook.formats.records import to_json
from trialbook.grading.accept import Limit, decide_after, violation_reason
from trialbook.grading.grade import Subject as Artifacts
from trialbook.grading.grade import grade_artifacts
from trialbook.grading.visible import grade_visible
from trialbook.model.acceptance import parse_policy
from trialbook.model.change import ChangeRecord, OwnChange
from trialbook.model.digest import sha256
from trialbook.model.evidence import violations
from trialbook.model.outcome import GOES_BEFORE_VIOLATIONS, Outcome
from trialbook.model.runfiles import PATCH, SERIES, attempt_folder, visible_grade
from trialbook.model.series_record import SeriesRecord
from trialbook.model.session import SessionRecord
from trialbook.model.trial import Attempt, TrialBundle, TrialSpec
from trialbook.registry import Registry
from trialbook.storage.repository import Store
from trialbook.storage.scanner import Scanner, installed_scanner
from trialbook.system import System, timestamp
from trialbook.workflow.bench import Bench
from trialbook.workflow.grade_lines import grade_line
from trialbook.workflow.inspection import inspect_change
from trialbook.workflow.keeping import Keeper, Kept
from trialbook.workflow.series_trying import try_series
from trialbook.workflow.session_files import keep_own, keep_session


class TrialWorker:
    """Does whole trials: a `Worker` for executors. Many threads may share one."""

    def __init__(
        self,
        *,
        registry: Registry,
        system: System,
        cancel: threading.Event,
        progress: Callable[[TrialSpec], Progress] = lambda _: NoProgress(),
    ) -> None:
        self._progress = progress
        self._registry = registry
        self._system = system
        launcher = Launcher(registry=registry, cancel=cancel)
        self._runner = TrialRunner(
            launcher=launcher,
            system=system,
            grade=self._grade,
            check=self._check,
            try_series=self._try_series,
        )
        self._cancel = cancel

    def __call__(self, spec: TrialSpec) -> TrialBundle:
        """Do one trial and give its record and files."""
        found = self._runner.findings(spec, self._progress(spec))
        inspect_change(spec, found)
        if found.trouble is not None:
            found.grades = ()  # Trouble came after them: the trial is no result, whatever they say.
        outcome, reason, anyway = self._outcome(spec, found)
        return self._bundle(spec, found, outcome, reason, graded_anyway=anyway)

    def _grade(self, subject: Subject) -> tuple[Grade, ...]:
        return grade_artifacts(
            _artifacts(subject),
            store=subject.objects,
            registry=self._registry,
            start=subject.start,
            work=subject.work,
        )

    def _check(self, subject: Subject) -> tuple[Grade, ...]:
        return grade_visible(
            _artifacts(subject),
            store=subject.objects,
            registry=self._registry,
            start=subject.start,
            work=subject.work,
        )

    def _try_series(self, subject: Subject, records: Sequence[SessionRecord]) -> SeriesRecord:
        spec = subject.spec
        bench = Bench(
            task=spec.task,
            task_folder=Path(spec.suite_folder) / "tasks" / spec.task.name,
            baseline=spec.workspace_tree,
            store=Store.at(Path(spec.cache) / "objects"),
            registry=self._registry,
            start=subject.start,
            work=subject.work,
            python=subject.python,
            limits=spec.limits,
        )
        return try_series(bench, records)

    def _outcome(self, spec: TrialSpec, found: Findings) -> tuple[Outcome, str, bool]:
        """Outcome, the sentence that says why, and whether it was graded after a limit."""
        result, change = found.result, found.change
        if found.trouble is not None or result is None or change is None:
            if self._cancel.is_set():
                return Outcome.CANCELLED, "the run was stopped", False
            return Outcome.ENVIRONMENT_FAILURE, found.trouble or "nothing is known", False
        fixed = class_of(result, spec.task, changed=found.anything)
        ungraded = fixed is None and self._cancel.is_set() and not _all_graded(found.grades)
        if found.cut_short or ungraded:
            when = "between two attempts" if found.cut_short else "before grading was done"
            return Outcome.CANCELLED, f"the run was stopped {when}", False
        broken = violations(found.sightings)
        if broken and fixed not in GOES_BEFORE_VIOLATIONS:
            return Outcome.POLICY_VIOLATION, violation_reason(broken), False
        if fixed is not None and (fixed not in LIMIT_OUTCOMES or not found.grades):
            return fixed, _reason(fixed, result.message), False
        limit = None
        if fixed is not None:
            limit = Limit(outcome=fixed, message=result.message, fails=spec.limits_are_failures)
        return decide_after(parse_policy(spec.accept), found.grades, limit)

    def _bundle(
        self,
        spec: TrialSpec,
        found: Findings,
        outcome: Outcome,
        reason: str,
        *,
        graded_anyway: bool,
    ) -> TrialBundle:
        keeper = keeper_for(spec, self._system, found.secrets)
        patch = None if found.change is None else found.change.patch
        kept = keeper.keep(found.files, patch, found.grades)
        own = keep_own(keeper, kept, found)
        attempts = tuple(_attempt(one, found, keeper, kept) for one in found.attempts)
        sessions = tuple(keep_session(keeper, kept, one) for one in found.sessions)
        if found.series is not None:
            keeper.keep_record(kept, found.series, SERIES)
        finished = timestamp(self._system.now())
        record = replace(
            spec.record(outcome, reason, started=found.started, finished=finished),
            graded_anyway=graded_anyway,
            agent=found.agent,
            isolation=found.isolation,
            egress=found.egress,
            workspace=found.workspace,
            toolchain=found.toolchain,
            attempts=attempts,
            usage=found.usage,
            change=_change(found, kept, own),
            grades=tuple(
                grade_line(grade, sha256(kept.files[f"grades/{grade.grader}.json"]))
                for grade in kept.grades
            ),
            stages=tuple(found.stages),
            sightings=None if found.sightings is None else tuple(found.sightings),
            cut=tuple(kept.cut),
            artifacts={name: sha256(kept.files[name]) for name in sorted(kept.files)},
            sessions=sessions,
        )
        return keeper.bundle(record, kept)


def keeper_for(spec: TrialSpec, system: System, laid: Iterable[Mapping[str, str]] = ()) -> Keeper:
    """Takes out of a trial's files what is secret, and cuts what is too long.

    ``laid`` are values from credential files as they were when attempts got them: a client of the
    operator's may write such a file anew at any time.
    """
    secrets: dict[str, str] = {}
    for stage in spec.configuration.stages:
        secrets |= secrets_of(stage, system.environ)
        secrets = with_values(secrets, known_credentials(stage, system))
    for values in laid:
        secrets = with_values(secrets, values)
    scan = Scanner(Path(spec.cache) / "scanner") if installed_scanner() else None
    return Keeper(secrets, spec.artifacts, scan)


def cut_off(spec: TrialSpec, *, started: str, finished: str, reason: str) -> TrialBundle:
    """The record of a trial that ended with its runner: cancelled, nothing else known of it."""
    record = spec.record(Outcome.CANCELLED, reason, started=started, finished=finished)
    return TrialBundle(record=record, files={})


def bundle_files(bundle: TrialBundle, folder: str) -> dict[str, bytes]:
    """Every file of a trial as the ledger gets it, with paths relative to the ledger's root."""
    record = bundle.record
    base = f"{folder}/{record.path}"
    files = {f"{base}/{name}": data for name, data in bundle.files.items()}
    return files | {f"{base}/trial.json": to_json(record)}


def _artifacts(subject: Subject) -> Artifacts:
    spec = subject.spec
    return Artifacts(
        task=spec.task,
        task_folder=Path(spec.suite_folder) / "tasks" / spec.task.name,
        baseline_tree=spec.workspace_tree,
        candidate_tree=subject.change.tree,
        patch=subject.change.patch,
        changed=_all_changed(subject.change),
        python=subject.python,
        limits=spec.limits,
    )


def _attempt(attempt: Attempt, found: Findings, keeper: Keeper, kept: Kept) -> Attempt:
    """The record of an attempt, with what is kept of the change and the checks after it."""
    folder = attempt_folder(attempt.session, attempt.attempt)
    patch, grades = found.patches.get(folder), found.visible.get(folder, ())
    redacted, clean = keeper.keep_attempt(kept, folder, patch, grades)
    change, after = attempt.change, attempt.after
    if change is not None:
        change = replace(change, redacted=redacted)
    if after is not None:
        checks = tuple(
            grade_line(one, sha256(kept.files[visible_grade(folder, one.grader)])) for one in clean
        )
        after = replace(after, checks=checks)
    return replace(attempt, change=change, after=after)


def _all_graded(grades: tuple[Grade, ...]) -> bool:
    return bool(grades) and all(grade.status is not GradeStatus.FAILED for grade in grades)


def _all_changed(change: Change) -> tuple[ChangedFile, ...]:
    """What differs, with what the patch leaves out: a file too large to keep is changed too."""
    omitted = (ChangedFile(status="omitted", path=file.path) for file in change.omitted)
    return (*change.changed, *omitted)


def _reason(outcome: Outcome, message: str) -> str:
    if outcome is Outcome.NO_CHANGE:
        return "the agent finished and changed nothing, but the task asks for a change"
    return message


def _change(found: Findings, kept: Kept, own: OwnChange | None) -> ChangeRecord | None:
    change = found.change
    if change is None:
        return None
    return ChangeRecord(
        tree=change.tree,
        patch_sha256=sha256(kept.files[PATCH]),
        files=len(change.changed),
        insertions=change.insertions,
        deletions=change.deletions,
        omitted=change.omitted,
        redacted=kept.patch_redacted,
        lines_before=dict(change.lines_before),
        own=own,
    )
