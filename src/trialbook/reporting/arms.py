"""One configuration's side of a comparison: its slots over all runs that have it, task by task."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from trialbook.model.outcome import Outcome
from trialbook.model.plan import PlannedConfiguration
from trialbook.reporting.attempts import attempts_difference
from trialbook.reporting.results import RunResults
from trialbook.reporting.summary import Cell
from trialbook.stats.passk import TaskTrials
from trialbook.stats.views import Counts, SlotChain, count

_NEW_NAME = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSlots:
    """One task's slots in one arm, each with how its trials ended."""

    task: str
    chains: tuple[SlotChain, ...]

    def scheduled(self) -> TaskTrials:
        """Among all scheduled slots: each by its first trial, slots that never ran included."""
        accepted = sum(one.scheduled_outcome is Outcome.ACCEPTED for one in self.chains)
        return TaskTrials(task=self.task, counted=len(self.chains), accepted=accepted)

    def valid(self) -> TaskTrials:
        """Among valid executions: each by its last trial, if that is valid."""
        known = [one.valid_outcome for one in self.chains if one.valid_outcome is not None]
        accepted = sum(one is Outcome.ACCEPTED for one in known)
        return TaskTrials(task=self.task, counted=len(known), accepted=accepted)

    def filled(self, *, accepted: bool) -> TaskTrials:
        """Valid executions, with each missing slot taken to be accepted, or not to be."""
        found = self.valid()
        missing = len(self.chains) - found.counted
        return TaskTrials(
            task=self.task,
            counted=len(self.chains),
            accepted=found.accepted + (missing if accepted else 0),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Arm:
    """A configuration over the runs that have it (``results``)."""

    name: str
    planned: PlannedConfiguration
    results: tuple[RunResults, ...]
    tasks: tuple[TaskSlots, ...]

    @property
    def runs(self) -> tuple[str, ...]:
        """The runs' names."""
        return tuple(one.plan.run for one in self.results)

    @property
    def counts(self) -> Counts:
        """Both views of all its slots."""
        return count([chain for task in self.tasks for chain in task.chains])

    def trials(self, of: Callable[[TaskSlots], TaskTrials]) -> tuple[TaskTrials, ...]:
        """Every task's counts by one view."""
        return tuple(of(task) for task in self.tasks)

    def up_to(self, rounds: int) -> Arm:
        """The same with its first rounds only."""
        return replace(
            self,
            tasks=tuple(
                replace(
                    task,
                    chains=tuple(one for one in task.chains if one.slot.repetition <= rounds),
                )
                for task in self.tasks
            ),
        )

    @property
    def whole_rounds(self) -> int:
        """How many rounds are over: every slot of them has ended, and none waits for a person."""
        chains = [chain for task in self.tasks for chain in task.chains]
        undone = [one.slot.repetition for one in chains if not one.outcomes or one.pending]
        last = max((one.slot.repetition for one in chains), default=0)
        return min(undone) - 1 if undone else last

    @property
    def invalid_share(self) -> Fraction:
        """The share of slots without a valid trial at their end, also those that wait for one."""
        counts = self.counts
        slots = counts.all_scheduled.slots
        return Fraction(slots - counts.valid_execution.slots, slots) if slots else Fraction(1)


def arm(results: Sequence[RunResults], name: str) -> Arm | None:
    """The side of the configuration of this name; None when no run has it."""
    holders = [one for one in results if name in one.plan.configurations]
    if not holders:
        return None
    by_task: dict[str, list[SlotChain]] = {task: [] for one in holders for task in one.plan.tasks}
    for one in holders:
        for slot, cell in one.summary.cells.items():
            if slot.configuration == name:
                by_task[slot.task].append(_chain(cell))
    return Arm(
        name=name,
        planned=holders[-1].plan.configurations[name],
        results=tuple(holders),
        tasks=tuple(TaskSlots(task=task, chains=tuple(chains)) for task, chains in by_task.items()),
    )


def _chain(cell: Cell) -> SlotChain:
    return SlotChain(slot=cell.slot, outcomes=tuple(trial.outcome for trial in cell.trials))


def changed_between_runs(results: Sequence[RunResults], names: Iterable[str]) -> list[str]:
    """The configurations whose files are not the same in all runs, one sentence each."""
    found = []
    for name in names:
        digests: dict[str, list[str]] = {}
        for one in results:
            if name in one.plan.configurations:
                digest = one.plan.configurations[name].digest
                digests.setdefault(digest, []).append(one.plan.run)
        if len(digests) > 1:
            told = "; ".join(f"{d[:_NEW_NAME]} in {', '.join(runs)}" for d, runs in digests.items())
            found.append(f"the configuration {name} is not the same in all runs: {told}")
    return found


FIELDS: Mapping[str, Callable[[PlannedConfiguration], object]] = {
    "agent": lambda one: one.agent,
    "agent's version": lambda one: (one.agent_version, one.client_version),
    "model": lambda one: one.model,
    "reasoning setting": lambda one: one.reasoning,
    "approval policy": lambda one: one.approval,
    "sandbox": lambda one: one.sandbox,
    "network policy": lambda one: one.network,
    "environment": lambda one: (one.environment, one.pass_environment, one.secrets, one.readable),
    "credential files": lambda one: one.credential_files,
    "limits": lambda one: one.limits,
    "agent's parameters": lambda one: one.parameters,
    "known answer handed over": lambda one: one.gives_reference,
}


def what_differs(baseline: PlannedConfiguration, candidate: PlannedConfiguration) -> list[str]:
    """What is not the same in two configurations, from what their plans fixed."""
    found = [name for name, of in FIELDS.items() if of(baseline) != of(candidate)]
    found += filter(None, [attempts_difference(baseline, candidate)])
    one, other = _instructions(baseline), _instructions(candidate)
    files = sorted(path for path in one.keys() | other.keys() if one.get(path) != other.get(path))
    if files:
        found.append(f"instruction files ({', '.join(files)})")
    if _handed_over(baseline) != _handed_over(candidate):
        found.append("files that the agent is given")
    return found


def _handed_over(planned: PlannedConfiguration) -> list[str]:
    """The digests of what lies in folders of its ``files``: their names may say whose they are."""
    own = ("/configurations/", f"/instructions/{planned.instructions}/")
    return sorted(
        digest
        for path, digest in planned.files.items()
        if not any(folder in path for folder in own)
    )


def _instructions(planned: PlannedConfiguration) -> dict[str, str]:
    """The files laid over the workspace, by their place in it."""
    if planned.taken is not None:
        return planned.taken.files
    if planned.instructions is None:
        return {}
    inside = f"/instructions/{planned.instructions}/"
    return {
        path.split(inside, 1)[1]: digest for path, digest in planned.files.items() if inside in path
    }
