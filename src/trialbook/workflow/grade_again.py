"""Runs graders on the stored artifacts of trials, many at once, each as it was graded before."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from trialbook.execution.classify import LIMIT_OUTCOMES
from trialbook.execution.launch import Launcher
from trialbook.grading.grade import grade_artifacts
from trialbook.model.digest import sha256
from trialbook.model.grade import Grade
from trialbook.model.outcome import Outcome
from trialbook.model.runfiles import PATCH
from trialbook.model.standing import Standing
from trialbook.model.trial import TrialSpec
from trialbook.registry import Registry
from trialbook.storage.corrections import grades as standing_grades
from trialbook.storage.files import fresh_folder
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.repository import Store
from trialbook.system import System
from trialbook.workflow.grade_differences import Again, PlacedGrade, answer_said, settled
from trialbook.workflow.specs import PlanInUse
from trialbook.workflow.stored_artifacts import NotGradable, StoredArtifacts
from trialbook.workflow.worker import keeper_for

JUDGED = frozenset(
    {
        Outcome.ACCEPTED,
        Outcome.REJECTED,
        Outcome.NEEDS_REVIEW,
        Outcome.POLICY_VIOLATION,
        Outcome.GRADER_FAILURE,
        *LIMIT_OUTCOMES,
    }
)
"""Recorded outcomes that graders have a say in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GradingBench:
    """What grading again needs: the ledger's place, plugins, the outside world, a listener."""

    root: Path
    registry: Registry
    system: System
    tell: Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Stored:
    """A trial as it lies in the ledger."""

    standing: Standing
    spec: TrialSpec
    patch: bytes | None
    old: tuple[PlacedGrade, ...]


class GradeAgain:
    """Judges trials of one run again, with the graders named."""

    def __init__(self, bench: GradingBench, use: PlanInUse, graders: frozenset[str]) -> None:
        self._bench = bench
        self._use = use
        self._graders = graders
        self._cancel = threading.Event()
        self._launcher = Launcher(registry=bench.registry, cancel=self._cancel)
        self._artifacts = StoredArtifacts(bench.system, bench.registry)

    def all(self, reader: Reader, run: RunRef, todo: Sequence[Standing], jobs: int) -> list[Again]:
        """Judge these trials, ``jobs`` at once; somebody is told after each.

        Raises:
            EnvironmentProblem: a sandbox or a toolchain does not work here.
        """
        stored = [self._stored(reader, run, one) for one in todo]
        for sandbox in sorted({one.spec.sandbox for one in stored}):
            self._launcher.isolation(next(s.spec for s in stored if s.spec.sandbox == sandbox))
        found: list[Again] = []
        pool = ThreadPoolExecutor(jobs)
        try:
            for number, one in enumerate(pool.map(self._one, stored), 1):
                found.append(one)
                self._bench.tell(f"[{number}/{len(stored)}] {one.path}: {_summed_up(one)}")
        except BaseException:
            self._cancel.set()
            raise
        finally:
            pool.shutdown(cancel_futures=True)
        return found

    def _stored(self, reader: Reader, run: RunRef, standing: Standing) -> _Stored:
        folder = standing.record.path
        grades = standing_grades(reader, run, standing)
        return _Stored(
            standing=standing,
            spec=self._use.spec(standing.record.slot),
            patch=reader.file(run, f"{folder}/{PATCH}"),
            old=tuple(
                PlacedGrade(
                    grade=grade,
                    file=file,
                    sha256=sha256(reader.file(run, f"{folder}/{file}") or b""),
                )
                for grade, file in zip(grades, standing.grade_files, strict=True)
            ),
        )

    def _one(self, stored: _Stored) -> Again:
        again = Again(standing=stored.standing, old=stored.old)
        try:
            return settled(replace(again, new=self._grades(stored)))
        except NotGradable as error:
            return replace(again, because=str(error))

    def _grades(self, stored: _Stored) -> tuple[Grade, ...]:
        record, spec = stored.standing.record, stored.spec
        if record.outcome not in JUDGED:
            raise NotGradable(f"it ended as {record.outcome.value}, whatever graders say")
        mine = {one.grade.grader for one in stored.old} & self._graders
        uses = tuple(use for use in spec.task.graders if use.grader in mine)
        if not uses:
            raise NotGradable("none of these graders judged it before")
        spec = replace(spec, task=replace(spec.task, graders=uses))
        subject = self._artifacts.subject(spec, record, stored.patch)
        store = Store.at(Path(spec.cache) / "objects")
        try:
            with fresh_folder(Path(spec.work)) as work:
                grades = grade_artifacts(
                    subject,
                    store=store,
                    registry=self._bench.registry,
                    start=lambda command, policy: self._launcher.in_sandbox(spec, command, policy),
                    work=work,
                )
        finally:
            store.close()
        kept = keeper_for(spec, self._bench.system).keep({}, None, grades)
        if kept.problems:
            raise NotGradable("; ".join(kept.problems))
        return tuple(kept.grades)


def _summed_up(again: Again) -> str:
    if again.because:
        return f"left out: {again.because}"
    changed = [
        f"{new.grader} {answer_said(old)}, now {answer_said(new)}"
        for old, new in again.pairs
        if answer_said(old) != answer_said(new)
    ]
    return ", ".join(changed) or "as before"
