"""Prepares what the rules of fair planting are tried on: a task, and work to plant on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from trialbook.api import Command, Policy, ProcessResult
from trialbook.errors import Refused, TrialbookError, UserError
from trialbook.execution.candidate import answer_tree
from trialbook.execution.prepare import Supplies
from trialbook.execution.snapshot import resolve
from trialbook.execution.toolchain import in_image
from trialbook.formats.nearest import nearest
from trialbook.model.planting import PlantResult, RuleStatus
from trialbook.model.runfiles import session_patch
from trialbook.model.suite import Limits, Suite, Task, merge_limits
from trialbook.model.trial import Trial
from trialbook.model.validation import MatrixRow, Row, RowStatus
from trialbook.process import run
from trialbook.registry import Registry
from trialbook.storage.patching import apply_to_tree
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.repository import Store
from trialbook.storage.rooms import rooms
from trialbook.storage.suites import load_suite
from trialbook.system import System
from trialbook.workflow.bench import Bench
from trialbook.workflow.plant_check import Ground, check_plants
from trialbook.workflow.sandboxes import sandbox_for_grading
from trialbook.workflow.toolchains import toolchains_of


@dataclass(frozen=True, slots=True, kw_only=True)
class OnTrial:
    """A trial whose sessions made the work that is planted on."""

    reader: Reader
    run: RunRef
    trial: Trial


@dataclass(frozen=True, slots=True, kw_only=True)
class PlantCheck:
    """Tries the regressions of a suite's tasks. ``on`` is None to plant on the task's own answer.

    Where a task has no reference, it is planted on the starting tree. ``cancel`` ends every command
    that runs.
    """

    root: Path
    registry: Registry
    system: System
    on: OnTrial | None = None
    cancel: threading.Event | None = None

    def results(self, name: str) -> list[PlantResult]:
        """What came of every rule.

        Args:
            name: A suite, or ``<suite>/<task>``.

        Raises:
            UserError: there is no such task, it has mistakes, or no regression.
            Refused, EnvironmentProblem: it cannot be tried here.
        """
        suite, tasks = self._chosen(name)
        return [result for task in tasks for result in self.of_task(suite, task)]

    def of_task(self, suite: Suite, task: Task) -> list[PlantResult]:
        """What came of every rule for the regressions of one task.

        Raises:
            Refused, EnvironmentProblem: it cannot be tried here.
        """
        cache = self.system.cache_folder()
        store = Store.at(cache / "objects")
        supplies = Supplies(suite_folder=self.root / suite.folder, store=store, cache=cache)
        folder = supplies.task_folder(task)
        base = resolve(task.snapshot, folder=folder, store=store, cache=cache).tree
        grounds = dict(self._grounds(task, base, supplies))
        toolchains = toolchains_of(suite, self.root, self.registry, self.system)
        grading = sandbox_for_grading(self.registry, task.toolchain)
        with rooms(self.system) as work:
            bench = Bench(
                task=task,
                task_folder=folder,
                baseline=self._base(base, store),
                store=store,
                registry=self.registry,
                start=self._starter(task, grading),
                work=work,
                python=toolchains.python(task.toolchain, grading),
                limits=merge_limits(suite.limits, task.limits),
            )
            return list(check_plants(bench, grounds))

    def _chosen(self, name: str) -> tuple[Suite, list[Task]]:
        suite_name, _, task_name = name.partition("/")
        suite = load_suite(self.root, suite_name, self.registry)
        known = {task.name: task for task in suite.tasks}
        if task_name and task_name not in known:
            hint = nearest(task_name, known) or f"its tasks: {', '.join(known)}"
            raise UserError(f"the suite {suite_name} has no task {task_name}", hint=hint)
        tasks = [known[task_name]] if task_name else list(known.values())
        if self.on is not None:
            tasks = [task for task in tasks if task.name == self.on.trial.task]
        found = [task for task in tasks if any(one.regressions for one in task.sessions)]
        if not found:
            raise UserError(
                f"{name} has no task with a regression",
                hint="declare one under `regression` of a session in task.yaml",
            )
        return suite, found

    # --- what is planted on ------------------------------------------------------------------

    def _base(self, snapshot: str, store: Store) -> str:
        """The starting tree; that of a trial has the files that its configuration laid in."""
        if self.on is None or self.on.trial.workspace is None:
            return snapshot
        tree = self.on.trial.workspace.baseline_tree
        if tree not in store:
            raise Refused(
                f"the cache has not what {self.on.trial.path} began with ({tree[:12]})",
                hint="name a trial that was run on this machine",
            )
        return tree

    def _grounds(self, task: Task, base: str, supplies: Supplies) -> Iterator[tuple[int, Ground]]:
        for number, plan in enumerate(task.sessions, 1):
            if not plan.regressions:
                continue
            if self.on is not None:
                yield number, self._of_trial(self.on, number, supplies.store, base)
            elif task.reference is not None:
                answer = answer_tree(task, task.reference, base, supplies)
                yield number, Ground(steps=(base, answer), said="the reference")
            else:
                yield number, Ground(steps=(base,), said="the starting tree")

    def _of_trial(self, on: OnTrial, number: int, store: Store, base: str) -> Ground:
        """The trees that the sessions before left, made from their patches in the ledger."""
        steps = [self._base(base, store)]
        for one in on.trial.sessions:
            if one.session >= number or one.outcome is None:
                continue
            patch = on.reader.file(on.run, f"{on.trial.path}/{session_patch(one.session)}")
            if patch is None or (one.change is not None and one.change.redacted):
                raise Refused(
                    f"what session {one.session} of {on.trial.path} changed is not whole",
                    hint="name another trial",
                )
            steps.append(apply_to_tree(store, steps[-1], patch))
        return Ground(steps=tuple(steps), said=f"what {on.trial.path} left before session {number}")

    def _starter(self, task: Task, name: str) -> Callable[[Command, Policy], ProcessResult]:
        sandbox = self.registry.sandbox(name)

        def spawn(command: Command, limits: Limits) -> ProcessResult:
            return run(command, limits, cancel=self.cancel)

        def start(command: Command, policy: Policy) -> ProcessResult:
            seeded = {**command.environment, "PYTHONHASHSEED": "0"}
            policy = in_image(policy, command, task.toolchain)
            return sandbox.start(replace(command, environment=seeded), policy, spawn)

        return start


def plant_rows(suite: Suite, task: Task, check: PlantCheck) -> list[MatrixRow]:
    """The rows of a suite's matrix about the regressions of a task that something is laid in for.

    A regression that is the agent's own has none: it is not there before an agent made it.
    """
    wanted = [
        f"{plan.name} {place}"
        for plan in task.sessions
        for place, one in enumerate(plan.regressions, 1)
        if one.laid_in is not None
    ]
    if not wanted:
        return []
    try:
        results = {f"{one.session} {one.number}": one for one in check.of_task(suite, task)}
    except TrialbookError as error:
        return [_row(task, name, RowStatus.BROKEN, error.message) for name in wanted]
    return [_row_of(task, name, results[name]) for name in wanted]


def _row_of(task: Task, name: str, result: PlantResult) -> MatrixRow:
    status = {True: RowStatus.PASSED, False: RowStatus.FAILED, None: RowStatus.BROKEN}[result.fair]
    named = RuleStatus.BROKEN if result.fair is False else RuleStatus.UNKNOWN
    wrong = [f"{one.rule.value}: {one.reason}" for one in result.rules if one.status is named]
    return _row(task, name, status, "; ".join(wrong) or f"planted on {result.state}")


def _row(task: Task, name: str, status: RowStatus, reason: str) -> MatrixRow:
    return MatrixRow(
        task=task.name,
        row=Row.PLANT,
        case=name,
        status=status,
        repeats=1,
        outcome=None,
        reason=reason,
    )
