"""Grades a run's stored artifacts again, for every configuration alike; old grades stay.

A generation is committed whole. A trial that cannot be judged as it was keeps its grades and is
listed; outcomes follow from grades, and no record is touched.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from trialbook import __version__
from trialbook.errors import UserError
from trialbook.formats.records import to_json
from trialbook.model.digest import digest_of_files
from trialbook.model.generation import Generation
from trialbook.model.regrade import LeftOut, Regrade, UsedGrader
from trialbook.model.standing import Standing
from trialbook.model.suite import Suite
from trialbook.storage.corrections import before_people, regrades
from trialbook.storage.corrections import grades as standing_grades
from trialbook.storage.ledger import Ledger
from trialbook.storage.locks import exclusive_or_none
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.rooms import rooms
from trialbook.system import timestamp
from trialbook.workflow.authorship import author_of, worded
from trialbook.workflow.grade_again import GradeAgain, GradingBench
from trialbook.workflow.grade_differences import Again, differences
from trialbook.workflow.journal import Journal
from trialbook.workflow.new_grades import Graded, commit_grades, regraded_trial
from trialbook.workflow.planning import differences as file_differences
from trialbook.workflow.results import one_corrects, refresh_results
from trialbook.workflow.specs import PlanInUse


@dataclass(frozen=True, slots=True, kw_only=True)
class RegradeRequest:
    """What to grade again: ``graders`` by name (all by default), ``jobs`` trials at once."""

    graders: tuple[str, ...] = ()
    reason: str | None = None
    author: str | None = None
    jobs: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Regraded:
    """What came of it. ``commit`` is None if nothing was added, since nothing differs.

    ``grades`` is how many were made; ``same_bytes`` how many of them are the old ones to the byte.
    """

    regrade: Regrade
    grades: int
    same_bytes: int
    commit: str | None
    generation: Generation | None
    warnings: tuple[str, ...]


def regrade_run(
    bench: GradingBench, suite: Suite, run: RunRef, request: RegradeRequest
) -> Regraded:
    """Grade a run's artifacts again and commit what differs as a new generation.

    If every grade says what it said before, and by the same versions of the graders, nothing is
    added.

    Raises:
        UserError: the run is being worked on, a grader that it does not have, or a reason is
            missing where the graders' files have changed.
        EnvironmentProblem: a sandbox or toolchain does not work here, or the ledger cannot be
            written.
    """
    ledger = Ledger.open(bench.root, bench.system)
    with exclusive_or_none(Journal(ledger.state_folder(run.suite, run.run)).lock) as held:
        if not held:
            raise UserError(
                f"run {run.run} is being worked on by another process", hint="wait for it"
            )
        return _Regrading(bench, ledger, suite, run, request).go()


class _Regrading:
    """The state of grading one run again."""

    def __init__(
        self,
        bench: GradingBench,
        ledger: Ledger,
        suite: Suite,
        run: RunRef,
        request: RegradeRequest,
    ) -> None:
        self._bench = bench
        self._ledger = ledger
        self._suite = suite
        self._run = run
        self._request = request
        self._reader = Reader.open(bench.root, ledger.ref)
        self._plan = self._reader.plan(run)
        self._generation = Graded(ledger=ledger, reader=self._reader, run=run, plan=self._plan)

    def go(self) -> Regraded:
        author = author_of(self._ledger, self._request.author)
        graders = self._graders()
        changed = self._changed_files()
        reason = self._request.reason
        todo = [one for one in before_people(self._reader, self._run) if one.record.grades]
        if not todo:
            raise UserError(f"no trial of {self._run.path} was graded, so none can be again")
        others = [*changed, *self._other_versions(todo, graders)]
        if others and reason is None:
            raise UserError(
                "the trials would be graded otherwise than before:\n  " + "\n  ".join(others),
                hint="restore what was, or say with --reason why this is right",
            )
        with rooms(self._bench.system) as work:
            judge = GradeAgain(self._bench, self._use(work), graders)
            again = judge.all(self._reader, self._run, todo, self._request.jobs)
        said = "" if reason is None else worded("reason", reason)
        regrade = self._regrade(again, graders, changed, (author, said))
        pairs = [pair for one in again for pair in one.pairs]
        commit = generation = None
        if _anything_new(again, regrade):
            with one_corrects(self._ledger, self._run):
                commit = commit_grades(self._generation, regrade, again)
                generation = refresh_results(
                    self._bench.root,
                    self._ledger,
                    self._run,
                    f"regrade {regrade.id}",
                    self._bench.system,
                )
        return Regraded(
            regrade=regrade,
            grades=len(pairs),
            same_bytes=sum(to_json(old) == to_json(new) for old, new in pairs),
            commit=commit,
            generation=generation,
            warnings=tuple(self._ledger.warnings),
        )

    def _use(self, work: Path) -> PlanInUse:
        return PlanInUse(
            plan=self._plan,
            suite=self._suite,
            commit="",
            sha256="",
            root=self._bench.root,
            cache=self._bench.system.cache_folder(),
            work=work,
        )

    def _graders(self) -> frozenset[str]:
        """The names of the graders to run."""
        known = {use.grader for task in self._suite.tasks for use in task.graders}
        unknown = [name for name in self._request.graders if name not in known]
        if unknown:
            raise UserError(
                f"no task of {self._run.path} is graded by {', '.join(unknown)}",
                hint=f"graders: {', '.join(sorted(known))}",
            )
        return frozenset(self._request.graders or known)

    def _changed_files(self) -> tuple[str, ...]:
        """What graders are given that the plan did not freeze so."""
        folder = self._suite.folder
        toolchains = {
            f"{folder}/{task.toolchain.requirements}"
            for task in self._suite.tasks
            if task.toolchain
        }
        return tuple(
            said
            for said in file_differences(self._plan, self._suite)
            if said.startswith(f"{folder}/tasks/") or said.rpartition(": ")[0] in toolchains
        )

    def _other_versions(self, todo: Sequence[Standing], graders: frozenset[str]) -> list[str]:
        """Graders of another version than the one that judged a trial, one sentence each."""
        versions = {one: str(self._bench.registry.grader(one).version) for one in sorted(graders)}
        before = {
            (grade.grader, grade.version)
            for one in todo
            for grade in standing_grades(self._reader, self._run, one)
        }
        return [
            f"grader {name}: version {version}, now {versions[name]}"
            for name, version in sorted(before)
            if name in versions and version != versions[name]
        ]

    def _regrade(
        self,
        again: Sequence[Again],
        graders: frozenset[str],
        changed: tuple[str, ...],
        signed: tuple[str, str],
    ) -> Regrade:
        registry, system = self._bench.registry, self._bench.system
        name = system.unique_name()
        author, reason = signed
        plugins = [registry.plugin("graders", one) for one in sorted(graders)]
        frozen = {task: planned.digest for task, planned in self._plan.tasks.items()}
        before = {one.id: one.tasks for one in regrades(self._reader, self._run)}
        tasks = {task.name: digest_of_files(task.files) for task in self._suite.tasks}

        def same_files(one: Again) -> bool:
            task = one.standing.record.task
            return before.get(one.standing.regrade or "", frozen).get(task) == tasks[task]

        return Regrade(
            id=name,
            run=self._run.path,
            created=timestamp(system.now()),
            author=author,
            reason=reason,
            trialbook=__version__,
            graders=tuple(
                UsedGrader(
                    grader=plugin.name,
                    version=str(registry.grader(plugin.name).version),
                    distribution=f"{plugin.distribution} {plugin.version}",
                )
                for plugin in plugins
            ),
            tasks=tasks,
            changed_files=changed,
            differences=tuple(
                found for one in again for found in differences(one, same_files=same_files(one))
            ),
            left_out=tuple(
                LeftOut(trial=one.path, because=one.because) for one in again if one.because
            ),
            trials=tuple(
                regraded_trial(self._generation, name, one) for one in again if not one.because
            ),
        )


def _anything_new(again: Sequence[Again], regrade: Regrade) -> bool:
    """Whether a grade says something else, or another version of its grader says it."""
    counted = {trial.trial for trial in regrade.trials}
    other = any(one.trial in counted for one in regrade.differences)
    pairs = (pair for one in again if one.path in counted for pair in one.pairs)
    return other or any(old.version != new.version for old, new in pairs)
