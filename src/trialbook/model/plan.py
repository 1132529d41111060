"""What is fixed before the first trial: the schedule of slots and digests of everything.

The schedule is a randomised complete block design whose order keys are hashes, so that any
language can check it: ``sha256("eval-schedule/v1" 0x1F seed 0x1F suite@protocol 0x1F parts...)``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from trialbook.model.credentials import CredentialFile
from trialbook.model.escalation import Condition
from trialbook.model.outcome import Outcome
from trialbook.model.planned_session import PlannedSession
from trialbook.model.prices import PriceTable
from trialbook.model.series import CONTINUE
from trialbook.model.suite import ArtifactPolicy, Comparison, Limits, Network, OutagePolicy
from trialbook.model.toolchain import PlannedToolchain

SCHEDULE_METHOD = "eval-schedule/v1"

DEVELOPMENT = "development"
DECISION = "decision"
"""What a plan is for: only a decision may run held-out tasks."""

DRAFT = "draft"
LOCKED = "locked"
"""What a plan and its trials may be: see `Plan`."""


def trial_folder(task: str, configuration: str, repetition: int, rerun: int = 0) -> str:
    """The folder of a trial in its run; ``rerun`` is 0 for a slot's first one."""
    first = f"{task}/{configuration}/r{repetition}"
    return first if rerun == 0 else f"{first}.rerun{rerun}"


class SlotKey(NamedTuple):
    """One cell of a plan: task, configuration and repetition (counted from 1)."""

    task: str
    configuration: str
    repetition: int

    @property
    def path(self) -> str:
        """The slot's folder inside a run."""
        return trial_folder(*self)

    def trial_path(self, rerun: int = 0) -> str:
        """The folder of the slot's first trial, or of its ``rerun``-th replacement."""
        return trial_folder(*self, rerun)


def order_key(seed: str, suite: str, *parts: str) -> str:
    """The hash that a schedule is sorted by. ``suite`` is ``name@protocol``."""
    joined = "\x1f".join((SCHEDULE_METHOD, seed, suite, *parts))
    return hashlib.sha256(joined.encode()).hexdigest()


def schedule(
    seed: str, suite: str, tasks: Sequence[str], configurations: Sequence[str], repetitions: int
) -> tuple[SlotKey, ...]:
    """Randomised complete blocks.

    Each round holds every task once, ordered by ``order_key(seed, suite, round, task)``; inside a
    task all configurations run back to back, ordered by
    ``order_key(seed, suite, round, task, configuration)``.
    """
    slots: list[SlotKey] = []
    for number in range(1, repetitions + 1):
        turn = str(number)
        by_task = sorted(tasks, key=lambda task: order_key(seed, suite, turn, task))
        for task in by_task:
            keys = {name: order_key(seed, suite, turn, task, name) for name in configurations}
            slots += [SlotKey(task, name, number) for name in sorted(keys, key=keys.__getitem__)]
    return tuple(slots)


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedSlot:
    """One line of the schedule as recorded."""

    task: str
    configuration: str
    repetition: int

    @property
    def key(self) -> SlotKey:
        """The same as a key."""
        return SlotKey(self.task, self.configuration, self.repetition)


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginUse:
    """A plugin that takes part, and the distribution it came from."""

    group: str
    name: str
    distribution: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedTask:
    """A task as the plan froze it.

    ``source`` says in words where the snapshot came from, ``tree`` is its git tree id.
    ``digest`` covers ``files`` (path relative to the ledger's root to sha256). ``toolchain`` is
    what it needs to run; None if nothing, or if it was not recorded. ``scope`` has patterns of the
    paths that an answer is expected to touch. ``controls`` are the answers of known worth that may
    be among what people review: ``reference``, or ``near-miss:<name>``. ``visible``
    names the graders whose checks agents may know. ``sessions`` are those of a task that has
    several, and ``after_failure`` is what follows one that failed.
    """

    category: str
    split: str
    contamination: str
    source: str
    tree: str
    brief_sha256: str
    graders: list[dict[str, Any]]
    limits: Limits
    no_change_expected: bool
    must_escalate: bool
    digest: str
    files: dict[str, str]
    expected_outcomes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    toolchain: PlannedToolchain | None = None
    scope: tuple[str, ...] = ()
    controls: tuple[str, ...] = ()
    visible: tuple[str, ...] = ()
    sessions: tuple[PlannedSession, ...] = ()
    after_failure: str = CONTINUE


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedJudgement:
    """How people judge the run's trials, as `trialbook.model.suite.Judgement`.

    ``rubric_sha256`` is the digest of the rubric's file.
    """

    rubric: str
    rubric_sha256: str
    reviewers: int
    third: str | None
    controls: float
    repeats: float
    shown: tuple[str, ...]
    reviewed: str
    usd_per_hour: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenInstructions:
    """Instruction files that were taken from a revision, by their place in the workspace.

    ``commit`` is None where they came from a work tree as it was.
    """

    repository: str
    revision: str
    commit: str | None
    paths: tuple[str, ...]
    files: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedStage:
    """What a second attempt runs with. What is not here, it has of its configuration.

    ``limits`` are its own alone, within those of the trial. ``client_version`` is as in
    `PlannedConfiguration`.
    """

    name: str
    agent: str
    agent_version: str | None
    model: str | None
    reasoning: str | None
    approval: str | None
    environment: dict[str, str]
    pass_environment: tuple[str, ...]
    secrets: tuple[str, ...]
    limits: dict[str, float | None]
    parameters: dict[str, Any]
    readable: tuple[str, ...] = ()
    client_version: str | None = None
    credential_files: tuple[CredentialFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedEscalation:
    """The second attempt that a configuration may make: when, with what, and on what."""

    when: tuple[Condition, ...]
    workspace: str
    tell: str | None
    first_limits: dict[str, float | None]
    to: PlannedStage


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedConfiguration:
    """A configuration as the plan froze it; ``digest`` covers ``files``.

    ``template`` is the suite's configuration that it was made from, where it has another name.

    ``workspaces`` maps each task to the tree id of its workspace: snapshot plus instructions.
    ``readable`` are the files and folders of the host that are shown besides. ``client_version`` is
    what the agent's client said of itself when the run was planned; None where there is none apart.
    ``escalation`` is the second attempt that it may make; None if it makes one only.
    """

    description: str
    agent: str
    agent_version: str | None
    model: str | None
    reasoning: str | None
    instructions: str | None
    approval: str | None
    sandbox: str
    network: Network
    environment: dict[str, str]
    pass_environment: tuple[str, ...]
    secrets: tuple[str, ...]
    limits: Limits
    parameters: dict[str, Any]
    gives_reference: bool
    digest: str
    files: dict[str, str]
    workspaces: dict[str, str]
    readable: tuple[str, ...] = ()
    taken: TakenInstructions | None = None
    template: str | None = None
    client_version: str | None = None
    escalation: PlannedEscalation | None = None
    credential_files: tuple[CredentialFile, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedLock:
    """The lock file that a plan was held against: path from the ledger's root, and digest."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedGate:
    """The gate that a run is made for: the two configurations, and which runs it judges besides.

    ``baseline_from`` is the older run that has the baseline's trials, ``after`` the runs of the
    stages before, in order; both are paths below ``runs/``.
    """

    baseline: str
    candidate: str
    baseline_from: str | None = None
    after: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Runner:
    """The program and the machine that ran it.

    ``scanner`` is the secret scanner that took part in redaction; None without the extra.
    """

    trialbook: str
    python: str
    platform: str
    git: str | None
    cpus: int | None
    scanner: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What one run was going to do, committed before it did anything.

    ``status`` is *draft*, with the reason, unless what measures is as locked and the lock is
    committed; ``lock`` is the lock of the protocol number, if there is one. ``rerun`` maps an
    outcome to the number of replacements that a slot may get for it (None: any number).
    ``kind`` is what the plan is for; ``held_out_opened`` counts the plans that ran held-out tasks
    of the suite, this one included, when it was made, and is 0 in a plan without any.
    ``gate`` says which gate the run belongs to; None if it was not made for one.
    ``suite_tasks`` and ``suite_configurations`` are how many the suite had, of which the plan may
    have fewer; None in plans of older versions.
    """

    schema: str = "trialbook/plan/1"
    run: str
    suite: str
    protocol: int
    status: str
    kind: str = DEVELOPMENT
    held_out_opened: int = 0
    draft_because: str = ""
    lock: PlannedLock | None = None
    decision: str
    created: str
    seed: str
    repetitions: int
    jobs: int
    accept: str
    compare: Comparison | None
    judgement: PlannedJudgement | None = None
    gate: PlannedGate | None = None
    rerun: dict[str, int | None]
    limits_are_failures: bool
    suite_tasks: int | None = None
    suite_configurations: int | None = None
    artifacts: ArtifactPolicy = field(default_factory=ArtifactPolicy)
    prices: PriceTable | None = None
    outages: OutagePolicy | None = None
    runner: Runner
    plugins: tuple[PluginUse, ...]
    suite_digest: str
    files: dict[str, str]
    configurations: dict[str, PlannedConfiguration]
    tasks: dict[str, PlannedTask]
    schedule_method: str = SCHEDULE_METHOD
    schedule: tuple[PlannedSlot, ...] = field(default_factory=tuple)

    @property
    def path(self) -> str:
        """The run's folder below ``runs/``."""
        return f"{self.suite}/{self.run}"

    @property
    def partial(self) -> bool:
        """Whether the plan is known to have less than the whole suite."""
        return len(self.tasks) < (self.suite_tasks or 0) or len(self.configurations) < (
            self.suite_configurations or 0
        )

    def allows_rerun(self, outcomes: Sequence[Outcome]) -> bool:
        """Whether the policy allows one more trial after those of a slot, which ended so, in order.

        It counts per outcome: how many of the slot's trials that ended so may be replaced. Outcomes
        of a valid execution are never replaced, whatever a plan says.
        """
        if not outcomes:
            return False
        last = outcomes[-1]
        if not last.rerunnable or last.value not in self.rerun:
            return False
        allowed = self.rerun[last.value]
        return allowed is None or list(outcomes).count(last) <= allowed
