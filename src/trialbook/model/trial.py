"""One trial on record: identity, outcome and its evidence, what was enforced, what it used."""

from __future__ import annotations

from dataclasses import dataclass, field

from trialbook.model.change import AttemptChange, ChangeRecord
from trialbook.model.client import Claim, Denial, Trouble
from trialbook.model.escalation import Condition
from trialbook.model.evidence import Sighting, SightingSeverity
from trialbook.model.grade import GradeSummary
from trialbook.model.outcome import Outcome
from trialbook.model.plan import SlotKey, trial_folder
from trialbook.model.prices import PriceTable
from trialbook.model.session import SessionRecord
from trialbook.model.suite import OPEN, ArtifactPolicy, Configuration, Limits, Task
from trialbook.model.toolchain import ToolchainUse
from trialbook.model.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEvidence:
    """How an agent's process ended, as the runner saw it. None means not known."""

    ended: str
    exit_code: int | None
    signal: int | None
    seconds: float
    leftover_processes: int | None
    stdout_bytes: int
    stderr_bytes: int
    output_cut: bool
    max_rss_bytes: int | None = None
    memory_killed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """One stage of a trial: when it began and how long it took."""

    name: str
    started: str
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRow:
    """One rule of the workspace's structural audit."""

    rule: str
    ok: bool
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkspaceRecord:
    """What the agent was given: source, tree ids, and the audit of the folder."""

    source: str
    snapshot_tree: str
    baseline_tree: str
    baseline_commit: str
    files: int
    audit: tuple[AuditRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Isolation:
    """What was enforced, and only that. ``detail`` says how, in the sandbox's own words."""

    sandbox: str
    isolated: bool
    network_declared: str
    network_enforced: bool
    limits_enforced: tuple[str, ...]
    limits_not_enforced: tuple[str, ...]
    detail: str = ""

    @property
    def network_open(self) -> bool:
        """Whether the agent was to have the host's own network."""
        return self.network_declared == OPEN

    @property
    def network_loose(self) -> bool:
        """Whether the network was to be held back, and was not."""
        return not self.network_open and not self.network_enforced


@dataclass(frozen=True, slots=True, kw_only=True)
class EgressRecord:
    """What the proxy saw of the agent's network, whatever was declared; the rest is in ``log``.

    ``allowed``, ``refused`` and ``failed`` count requests: let through, against the policy, and
    allowed but not to be had. ``hosts`` are those that were reached, ``hosts_refused`` those that
    were not to be, each with its port; long lists are cut. ``sent`` and ``received`` are bytes.
    ``log`` is a file in the trial's folder, or None if nothing was asked for.
    """

    allowed: int
    refused: int
    failed: int
    sent: int
    received: int
    hosts: tuple[str, ...]
    hosts_refused: tuple[str, ...]
    log: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentRecord:
    """Which agent ran, and what it said about itself."""

    name: str
    distribution: str
    version: str
    reported_version: str | None
    model: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class AfterAttempt:
    """Whether a second attempt followed a first one, and why.

    ``held`` are the declared conditions that held, ``reason`` says it in a sentence. ``checks``
    are the grades that the visible checks gave; each is ``checks-<grader>.json`` with the
    attempt's files.
    """

    escalated: bool
    held: tuple[Condition, ...]
    reason: str
    checks: tuple[GradeSummary, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One attempt of one session; its files are in ``sessions/<session>/attempt-<attempt>/``.

    ``end`` and ``message`` are how the adapter says that it ended, ``trouble`` what kept the model
    from answering. ``session_id`` is the client's own. ``denied`` lists what was not permitted,
    ``claims`` what the agent says about tests, ``usage`` what this attempt used; null or empty
    where the adapter tells nothing. ``outcome`` is what this evidence alone makes of the attempt;
    null if graders decide. ``seconds`` is how long its agent had.

    In a configuration that may escalate, ``configuration`` and ``agent`` say what the attempt ran
    with, ``workspace`` what a second one began with, ``change`` what a first one left, and
    ``after`` whether another followed; null where it does not apply.
    """

    session: int
    attempt: int
    process: ProcessEvidence | None
    end: str | None = None
    message: str = ""
    trouble: Trouble | None = None
    session_id: str | None = None
    denied: tuple[Denial, ...] = ()
    claims: tuple[Claim, ...] = ()
    usage: Usage | None = None
    outcome: Outcome | None = None
    started: str | None = None
    seconds: float | None = None
    configuration: str | None = None
    agent: AgentRecord | None = None
    workspace: str | None = None
    change: AttemptChange | None = None
    after: AfterAttempt | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CutFile:
    """A log of which the trial's folder holds only the beginning and the end.

    ``path`` is the file in the trial's folder, ``bytes`` and ``sha256`` are those of the whole
    content (after redaction). ``full`` is the Git LFS pointer to it, as a path in the trial's
    folder; None if only the digest was kept.
    """

    path: str
    bytes: int
    sha256: str
    full: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """The record of one trial, as in ``trial.json``.

    ``incident`` is the closed incident that a rerun was made for, where the plan's policy alone did
    not allow it. ``plan_commit`` is the commit that added the plan; ``redactions`` counts the
    places where something secret was taken out, by the secret's name or the kind of credential;
    ``cut`` lists the logs that were too large to be kept whole; ``artifacts`` maps each other file
    of the trial's folder to its sha256. ``sightings`` is what was seen of broken rules; null means
    that nothing looked. ``egress`` is what a proxy saw of the network; null where none was there.
    ``usage`` is the sum over all ``attempts``, ``agent`` that of the last one. ``sessions`` are
    those of a task that has several. Parts that the trial did not get to are null.
    """

    schema: str = "trialbook/trial/1"
    run: str
    suite: str
    protocol: int
    status: str
    task: str
    configuration: str
    repetition: int
    rerun: int = 0
    replaces: str | None = None
    rerun_reason: str | None = None
    incident: str | None = None
    outcome: Outcome
    reason: str
    graded_anyway: bool = False
    plan_commit: str
    plan_sha256: str
    started: str
    finished: str
    agent: AgentRecord | None = None
    isolation: Isolation | None = None
    egress: EgressRecord | None = None
    workspace: WorkspaceRecord | None = None
    toolchain: ToolchainUse | None = None
    attempts: tuple[Attempt, ...] = ()
    usage: Usage = field(default_factory=Usage)
    change: ChangeRecord | None = None
    grades: tuple[GradeSummary, ...] = ()
    stages: tuple[Stage, ...] = ()
    sightings: tuple[Sighting, ...] | None = None
    redactions: dict[str, int] = field(default_factory=dict)
    cut: tuple[CutFile, ...] = ()
    artifacts: dict[str, str] = field(default_factory=dict)
    sessions: tuple[SessionRecord, ...] = ()

    @property
    def slot(self) -> SlotKey:
        """The slot that the trial belongs to."""
        return SlotKey(self.task, self.configuration, self.repetition)

    @property
    def path(self) -> str:
        """The trial's folder inside its run."""
        return trial_folder(self.task, self.configuration, self.repetition, self.rerun)


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialBundle:
    """A finished trial: its record, and every other file of its folder as bytes.

    ``large`` holds what goes to Git LFS, by sha256. ``withheld`` says why the trial may not be
    committed; empty if it may.
    """

    record: Trial
    files: dict[str, bytes]
    large: dict[str, bytes] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialSpec:
    """All that a worker needs for one trial; paths are absolute, everything else is data.

    ``suite_folder`` holds the frozen files; ``cache`` the templates, downloads and toolchains;
    ``work`` is where fresh folders are made. The tree ids are those that the plan names.
    ``severities`` are those that the suite declares for what may be seen, by kind.
    ``leaks_allowed`` says why an answer that the agent could read does not keep it from being
    started; empty if it does.
    """

    run: str
    suite: str
    protocol: int
    status: str
    repetition: int
    rerun: int
    replaces: str | None
    rerun_reason: str | None
    incident: str | None = None
    plan_commit: str
    plan_sha256: str
    task: Task
    configuration: Configuration
    limits: Limits
    sandbox: str
    accept: str
    limits_are_failures: bool
    artifacts: ArtifactPolicy = field(default_factory=ArtifactPolicy)
    prices: PriceTable | None = None
    severities: dict[str, SightingSeverity] = field(default_factory=dict)
    leaks_allowed: str = ""
    source: str
    snapshot_tree: str
    workspace_tree: str
    suite_folder: str
    cache: str
    work: str

    @property
    def slot(self) -> SlotKey:
        """The slot that the trial belongs to."""
        return SlotKey(self.task.name, self.configuration.name, self.repetition)

    def record(self, outcome: Outcome, reason: str, *, started: str, finished: str) -> Trial:
        """The record of a trial of which nothing is known but how it ended."""
        return Trial(
            run=self.run,
            suite=self.suite,
            protocol=self.protocol,
            status=self.status,
            task=self.task.name,
            configuration=self.configuration.name,
            repetition=self.repetition,
            rerun=self.rerun,
            replaces=self.replaces,
            rerun_reason=self.rerun_reason,
            incident=self.incident,
            outcome=outcome,
            reason=reason,
            plan_commit=self.plan_commit,
            plan_sha256=self.plan_sha256,
            started=started,
            finished=finished,
        )
