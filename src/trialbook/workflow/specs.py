"""From a plan and its suite to the specs of trials: which are due, and what each needs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from trialbook.errors import Refused
from trialbook.model.outcome import Outcome
from trialbook.model.plan import LOCKED, Plan, SlotKey
from trialbook.model.runfiles import rerun_of
from trialbook.model.suite import Suite, Task, merge_limits
from trialbook.model.trial import Trial, TrialSpec
from trialbook.model.validation import Row
from trialbook.storage.lock import read_lock


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanInUse:
    """A committed plan with what is needed to carry it out."""

    plan: Plan
    suite: Suite
    commit: str
    sha256: str
    root: Path
    cache: Path
    work: Path

    def spec(
        self, slot: SlotKey, replaced: Trial | None = None, incident: str | None = None
    ) -> TrialSpec:
        """The spec of a slot's first trial, or of the one that replaces ``replaced``.

        ``incident`` is the closed one that the replacement is made for, if any.
        """
        task = next(task for task in self.suite.tasks if task.name == slot.task)
        configuration = next(
            item for item in self.suite.configurations if item.name == slot.configuration
        )
        planned = self.plan.configurations[slot.configuration]
        return TrialSpec(
            run=self.plan.run,
            suite=self.plan.suite,
            protocol=self.plan.protocol,
            status=self.plan.status,
            repetition=slot.repetition,
            rerun=replaced.rerun + 1 if replaced else 0,
            replaces=replaced.path if replaced else None,
            rerun_reason=replaced.outcome.value if replaced else None,
            incident=incident,
            plan_commit=self.commit,
            plan_sha256=self.sha256,
            task=task,
            configuration=configuration,
            limits=merge_limits(self.suite.limits, task.limits, configuration.limits),
            sandbox=planned.sandbox,
            accept=self.plan.accept,
            limits_are_failures=self.plan.limits_are_failures,
            artifacts=self.plan.artifacts,
            prices=self.plan.prices,
            severities=self.suite.severities,
            leaks_allowed=leaks_allowed(self, task),
            source=self.plan.tasks[slot.task].source,
            snapshot_tree=self.plan.tasks[slot.task].tree,
            workspace_tree=planned.workspaces[slot.task],
            suite_folder=str(self.root / self.suite.folder),
            cache=str(self.cache),
            work=str(self.work),
        )

    def place(self, path: str) -> tuple[SlotKey, int]:
        """Slot and rerun of a trial, by its folder in the run.

        Raises:
            Refused: it is none of the plan's.
        """
        turn = rerun_of(path.rpartition("/")[2])
        slots = {slot.key.path: slot.key for slot in self.plan.schedule}
        slot = slots.get(path.rpartition(".rerun")[0] if turn and turn[1] else path)
        if turn is None or slot is None:
            raise Refused(f"the journal of {self.plan.path} names no trial of its plan: {path}")
        return slot, turn[1]

    def due(self, trials: Iterable[Trial]) -> list[TrialSpec]:
        """What is still to be done, in the schedule's order: open slots, and allowed reruns."""
        chains: dict[SlotKey, list[Trial]] = {}
        for trial in sorted(trials, key=lambda trial: trial.rerun):
            chains.setdefault(trial.slot, []).append(trial)
        specs = []
        for planned in self.plan.schedule:
            chain = chains.get(planned.key, [])
            if not chain:
                specs.append(self.spec(planned.key))
            elif may_rerun(self.plan, chain):
                specs.append(self.spec(planned.key, chain[-1]))
        return specs


def leaks_allowed(use: PlanInUse, task: Task) -> str:
    """Why an answer that can be read does not keep a trial from running; empty if it does.

    The suite may waive it in writing; and under a protocol that was locked before anybody looked,
    nothing changes: it is only told.
    """
    for waiver in use.suite.waivers:
        if (waiver.task, waiver.row) == (task.name, Row.LEAK):
            return f"waived: {waiver.reason}"
    locked = use.plan.lock
    if use.plan.status != LOCKED or locked is None:
        return ""
    looked = _looked_at(use.root, use.suite.name, use.suite.protocol, locked.sha256)
    return "" if looked else "the lock is from before suites were looked at for this"


@lru_cache(maxsize=16)
def _looked_at(root: Path, suite: str, protocol: int, sha256: str) -> bool:
    """Whether the matrix of a lock has rows about leaks at all. The digest is for the cache."""
    del sha256
    stored = read_lock(root, suite, protocol)
    return stored is not None and any(row.row is Row.LEAK for row in stored.lock.matrix)


def may_rerun(plan: Plan, chain: Sequence[Trial]) -> bool:
    """Whether the plan's policy allows one more trial after the last one of a slot's chain."""
    return plan.allows_rerun([trial.outcome for trial in chain])


def reruns_at_once(outcome: Outcome) -> bool:
    """Whether a rerun happens within the same run; a cancelled trial waits for `resume`."""
    return outcome is not Outcome.CANCELLED
