"""Where the content of packets comes from: a trial's record, or an answer of known worth."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from trialbook.api import Command, Policy, ProcessResult
from trialbook.errors import UserError
from trialbook.execution.candidate import answer_tree
from trialbook.execution.change import difference_of
from trialbook.execution.prepare import Supplies
from trialbook.execution.snapshot import resolve
from trialbook.execution.toolchain import in_image
from trialbook.grading.grade import Subject, grade_artifacts
from trialbook.model.digest import sha256
from trialbook.model.grade import Grade
from trialbook.model.packets import NEAR_MISS, REFERENCE, Item
from trialbook.model.plan import Plan
from trialbook.model.suite import Limits, Reference, Suite, Task, merge_limits
from trialbook.process import run
from trialbook.registry import Registry
from trialbook.review.blinding import private_paths, secrets_of
from trialbook.review.packet import Hidden, Material, blinded
from trialbook.storage.corrections import grades as standing_grades
from trialbook.storage.corrections import standing
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.repository import Store
from trialbook.storage.rooms import rooms
from trialbook.storage.suites import load_suite
from trialbook.system import System
from trialbook.workflow.sandboxes import sandbox_for_grading
from trialbook.workflow.toolchains import toolchains_of

_PROMPT = "sessions/1/attempt-1/prompt.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Makes the content of packets of one run. ``people`` are names to take out, one a line."""

    root: Path
    system: System
    registry: Registry
    reader: Reader
    run: RunRef
    people: str = ""

    @property
    def plan(self) -> Plan:
        """The run's plan."""
        return self.reader.plan(self.run)

    def material(self, item: Item, *, checks: bool = True) -> Material:
        """What a packet about this item shows.

        Args:
            item: What it is about.
            checks: Whether to have the checks as well, which may take long for a control.

        Raises:
            UserError: the suite is not as the plan froze it, and the item is one of its own.
            Refused, EnvironmentProblem: it cannot be made here.
        """
        judgement = self.plan.judgement
        shown = judgement.shown if judgement is not None and checks else ()
        if item.trial:
            patch = self.reader.file(self.run, f"{item.trial}/change.patch") or b""
            now = standing(self.reader, self.run, item.trial)
            grades = standing_grades(self.reader, self.run, now) if shown else ()
        else:
            patch, grades = self._control(item, shown)
        return blinded(self._brief(item.task), patch, grades, shown, self._hidden())

    def _hidden(self) -> Hidden:
        places = (str(self.root.resolve()), str(self.system.cache_folder()))
        trials = self.reader.trials(self.run)
        secrets = secrets_of(self.plan, trials, places, self.people)
        return Hidden(secrets=tuple(secrets), paths=private_paths(self.plan))

    def _brief(self, task: str) -> str:
        """The brief as every configuration was told it."""
        wanted = self.plan.tasks[task].brief_sha256
        found = b""
        for trial in self.reader.trials(self.run):
            if trial.task == task:
                data = self.reader.file(self.run, f"{trial.path}/{_PROMPT}")
                found = data or found
                if data is not None and sha256(data) == wanted:
                    break
        return found.decode("utf-8", "replace")

    # --- answers of known worth --------------------------------------------------------------

    def _control(self, item: Item, shown: tuple[str, ...]) -> tuple[bytes, tuple[Grade, ...]]:
        suite, task = self._task(item.task)
        answer = _answer(task, item.control)
        cache = self.system.cache_folder()
        store = Store.at(cache / "objects")
        supplies = Supplies(suite_folder=self.root / suite.folder, store=store, cache=cache)
        folder = supplies.task_folder(task)
        base = resolve(task.snapshot, folder=folder, store=store, cache=cache).tree
        tree = answer_tree(task, answer, base, supplies)
        with rooms(self.system) as work:
            patch, changed = difference_of(store, base, tree, work=work)
            if not shown:
                return patch, ()
            limits = merge_limits(suite.limits, task.limits)
            used = tuple(use for use in task.graders if use.grader in shown)
            grading = sandbox_for_grading(self.registry, task.toolchain)
            toolchains = toolchains_of(suite, self.root, self.registry, self.system)
            subject = Subject(
                task=replace(task, graders=used),
                task_folder=folder,
                baseline_tree=base,
                candidate_tree=tree,
                patch=patch,
                changed=changed,
                python=toolchains.python(task.toolchain, grading),
                limits=limits,
            )
            start = self._starter(task, grading)
            grades = grade_artifacts(
                subject, store=store, registry=self.registry, start=start, work=work
            )
        return patch, grades

    def _starter(self, task: Task, name: str) -> Callable[[Command, Policy], ProcessResult]:
        sandbox = self.registry.sandbox(name)

        def spawn(command: Command, limits: Limits) -> ProcessResult:
            return run(command, limits)

        def start(command: Command, policy: Policy) -> ProcessResult:
            return sandbox.start(command, in_image(policy, command, task.toolchain), spawn)

        return start

    def _task(self, name: str) -> tuple[Suite, Task]:
        suite = load_suite(self.root, self.plan.suite, self.registry)
        task = next((one for one in suite.tasks if one.name == name), None)
        if task is None or dict(sorted(task.files.items())) != self.plan.tasks[name].files:
            raise UserError(
                f"the task {name} is not as the plan of {self.run.path} froze it",
                hint="review from a commit whose suite is that of the plan: the one that added the "
                "plan, or a later one",
            )
        return suite, task


def _answer(task: Task, control: str) -> Reference:
    named = {NEAR_MISS + one.name: one.answer for one in task.near_misses}
    found = task.reference if control == REFERENCE else named.get(control)
    if found is None:
        raise UserError(f"the task {task.name} has no {control}")
    return found
