"""A suite as its authors wrote it: tasks, their snapshots, graders and limits, all frozen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from trialbook.model.credentials import CredentialFile
from trialbook.model.escalation import Condition
from trialbook.model.evidence import SightingSeverity
from trialbook.model.grader_use import GraderUse
from trialbook.model.instructions import InstructionsFrom
from trialbook.model.series import CONTINUE, DEFAULT_NOTES, SessionPlan
from trialbook.model.toolchain import Toolchain
from trialbook.model.validation import Waiver

DEFAULT_SANDBOX = "strongest"
"""How a lock writes the sandbox of a configuration that names none: what is best on each host."""

OPEN = "open"
"""The network mode that holds nothing back: the host's own network."""

ALLOW = "allow"
"""The network mode that lets a list of hosts through."""

NO_SANDBOX = "none"
"""The sandbox that isolates nothing."""


class Split(StrEnum):
    """Which half of a suite a task belongs to. Held-out tasks wait for a plan that opens them."""

    DEVELOPMENT = "development"
    HELD_OUT = "held-out"


class Contamination(StrEnum):
    """How likely it is that a model has seen the task's solution."""

    PUBLIC_BEFORE_CUTOFF = "public_before_cutoff"
    PUBLIC_AFTER_CUTOFF = "public_after_cutoff"
    PRIVATE = "private"
    CONSTRUCTED = "constructed"
    UNKNOWN = "unknown"


class SnapshotKind(StrEnum):
    """Where a starting tree comes from."""

    GIT = "git"
    FOLDER = "folder"
    ARCHIVE = "archive"
    PACKAGE = "package"


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Ceilings for one trial. ``None`` means that there is none.

    Times are in minutes, sizes in megabytes (1 MB = 1,000,000 bytes), money in US dollars.
    """

    minutes: float | None = 20.0
    grace_seconds: float = 3.0
    output_mb: float | None = 10.0
    file_mb: float | None = 20.0
    usd: float | None = None
    turns: int | None = None
    tokens: int | None = None
    memory_mb: float | None = None
    processes: int | None = None
    workspace_mb: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ArtifactPolicy:
    """How much of an agent's logs is kept in git.

    Of a log with more than ``keep_kb`` kilobytes (1 kB = 1,000 bytes; None: no ceiling), the
    beginning and the end. ``full`` says what becomes of the whole: ``lfs`` (a Git LFS object) or
    ``digest`` (only its size and sha256 are recorded).
    """

    keep_kb: float | None = 256.0
    full: str = "lfs"


WAIT, STOP = "wait", "stop"
"""What a run does when the provider is in trouble: wait and try again, or end at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OutagePolicy:
    """When a run starts no more trials because of the model's provider, and what it does then.

    After ``in_a_row`` trials that ended as provider outages, with none between that shows it at
    work (None: never), it waits ``wait_minutes`` and then tries one trial, up to ``probes`` times,
    each wait twice as long as the one before, up to ``longest_wait_minutes``. After the last, or at
    once where ``then`` is `STOP`, it ends and can be resumed.
    """

    in_a_row: int | None = 3
    then: str = WAIT
    wait_minutes: float = 1.0
    longest_wait_minutes: float = 30.0
    probes: int = 6


GivenLimits = dict[str, float | None]
"""The limits that one file names, by the names of `Limits`; the others fall through."""

WHOLE_LIMITS = frozenset({"turns", "tokens", "processes"})
"""The limits that count things."""


def merge_limits(base: Limits, *given: Mapping[str, float | None] | None) -> Limits:
    """``base`` with what each file gives laid over it, key by key; the last one to speak wins."""
    values: dict[str, Any] = {}
    for limits in given:
        for name, value in (limits or {}).items():
            whole = name in WHOLE_LIMITS
            values[name] = None if value is None else int(value) if whole else float(value)
    return replace(base, **values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Snapshot:
    """A starting tree by its source; exactly what the source's kind needs is set.

    ``location`` is a repository's path or URL (git), a folder or an archive relative to the task's
    folder, or a package's name. ``revision`` is a full commit id (git) or a version (package).
    ``path`` picks a folder inside the source. ``into`` says where it goes (references only).
    ``remove`` lists declared removals. ``submodules``, ``lfs``, ``links`` and ``case`` are the
    declared exceptions to what is refused otherwise.
    """

    kind: SnapshotKind
    location: str
    revision: str | None = None
    sha256: str | None = None
    path: str = "."
    into: str = "."
    remove: tuple[str, ...] = ()
    submodules: bool = False
    lfs: bool = False
    links: bool = False
    case: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Reference:
    """The known right answer: a patch, a folder laid over the snapshot, or another snapshot's tree.

    Exactly one of the three is set. Paths are relative to the task's folder.
    """

    patch: str | None = None
    overlay: str | None = None
    snapshot: Snapshot | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """An answer that the graders are tried on: a near miss or a variant of the reference.

    Either ``answer`` is set, or ``run``: a command that makes it in a copy of the snapshot. The
    folder ``files`` (relative to the suite's) is copied beside that.
    """

    name: str
    answer: Reference | None = None
    run: tuple[str, ...] = ()
    files: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """A fixed problem and its acceptance contract.

    ``folder`` is relative to the ledger's root. ``brief`` is the brief's text. ``limits`` holds
    only what the task itself gives: see `merge_limits`. ``files`` maps every file of the task that
    is frozen (path relative to the ledger's root) to its sha256; the private ones are among them.
    ``expected_outcomes`` says how the trials of a configuration must end, where that is known
    beforehand: in a control, or a demonstration.

    ``scope`` has patterns of the paths that an answer is expected to touch; what a change does
    beyond them is told to reviewers and decides nothing. Empty is not known.

    A task of several ``sessions`` looks for what its agents note down in ``notes`` (files, or
    folders where a name ends in ``/``); ``after_failure`` is `CONTINUE` or `END` of
    `trialbook.model.series`, and ``brief`` holds the briefs of all.

    The rest is for validation: wrong and right answers to try the graders on, ids of checks that
    answer *no* (or *yes*) on the snapshot and *yes* on the reference, and paths that a task which
    ``must_escalate`` reserves to other people.
    """

    name: str
    folder: str
    brief: str
    snapshot: Snapshot
    graders: tuple[GraderUse, ...]
    category: str = ""
    split: Split = Split.DEVELOPMENT
    contamination: Contamination = Contamination.UNKNOWN
    limits: GivenLimits | None = None
    toolchain: Toolchain | None = None
    reference: Reference | None = None
    no_change_expected: bool = False
    must_escalate: bool = False
    protected: tuple[str, ...] = ()
    scope: tuple[str, ...] = ()
    expected_outcomes: dict[str, tuple[str, ...]] = field(default_factory=dict)
    near_misses: tuple[Candidate, ...] = ()
    variants: tuple[Candidate, ...] = ()
    fail_to_pass: tuple[str, ...] = ()
    pass_to_pass: tuple[str, ...] = ()
    sessions: tuple[SessionPlan, ...] = ()
    notes: tuple[str, ...] = DEFAULT_NOTES
    after_failure: str = CONTINUE
    files: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Network:
    """A configuration's network policy as declared; what was enforced is recorded per trial.

    ``allow`` is the list of hosts where the ``mode`` is `ALLOW`. ``refused`` says what it means for
    the trial that the agent asked for another one: ``flag`` or ``violation``.
    """

    mode: str = "open"
    allow: tuple[str, ...] = ()
    refused: str = "flag"


@dataclass(frozen=True, slots=True, kw_only=True)
class Escalation:
    """The one further attempt that a configuration may make in a trial, and when it does.

    ``to`` is what the second attempt runs with; its limits, like ``first_limits``, are an attempt's
    own, within those of the trial. ``workspace`` and ``tell`` are words of
    `trialbook.model.escalation`.
    """

    when: tuple[Condition, ...]
    to: Configuration
    workspace: str
    tell: str | None = None
    first_limits: GivenLimits | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Configuration:
    """The whole workflow under evaluation.

    ``instructions`` names a folder of the suite, ``instructions_from`` a revision to take files
    from. ``template`` is the suite's configuration that this one was made from, to compare
    revisions. ``parameters`` are the agent plugin's own (key ``with``). ``files`` names a folder
    relative to the suite that is copied beside the workspace for the agent; it may contain
    ``{task}``, ``{repetition}`` and ``{session}``. ``gives_reference`` hands the task's reference
    to the agent: only for known-good controls, and said in every report. ``secrets`` are names of
    environment variables; ``credential_files`` are laid into the home of the client, and nowhere
    else. ``readable`` names files and folders of the host that the agent's client needs, to be
    read. ``limits`` holds only what the configuration itself gives: see `merge_limits`.
    ``escalation`` is the second attempt, if it may make one. ``digests`` maps every file that takes
    part (relative to the ledger's root) to its sha256.
    """

    name: str
    agent: str
    version: str | None = None
    model: str | None = None
    reasoning: str | None = None
    instructions: str | None = None
    instructions_from: InstructionsFrom | None = None
    template: str | None = None
    approval: str | None = None
    sandbox: str | None = None
    network: Network = field(default_factory=Network)
    environment: dict[str, str] = field(default_factory=dict)
    pass_environment: tuple[str, ...] = ()
    secrets: tuple[str, ...] = ()
    credential_files: tuple[CredentialFile, ...] = ()
    limits: GivenLimits | None = None
    parameters: dict[str, Any] = field(default_factory=dict)
    files: str | None = None
    readable: tuple[str, ...] = ()
    gives_reference: bool = False
    escalation: Escalation | None = None
    description: str = ""
    digests: dict[str, str] = field(default_factory=dict)

    @property
    def stages(self) -> tuple[Configuration, ...]:
        """What each attempt runs with: the configuration itself, and what it may escalate to."""
        return (self,) if self.escalation is None else (self, self.escalation.to)


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """How results will be compared, fixed beforehand.

    ``margin`` and ``max_collapse_share`` are shares (0.10 = ten points). ``looks`` are the numbers
    of whole rounds after which the results may be compared before all are done; each look, the
    last one included, gets its part of ``alpha``.
    """

    baseline: str
    candidate: str
    margin: float | None = None
    because: str = ""
    alpha: float = 0.05
    max_collapse_share: float = 0.20
    looks: tuple[int, ...] = ()


ACCEPTED_BY_TESTS, ALL = "accepted_by_tests", "all"
"""Which trials people review: those that tests and checks do not rule out, or every one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """How people judge what came out, fixed beforehand.

    ``rubric`` names a version (``merge@1``). ``reviewers`` is how many people answer it for each
    item, each alone; ``third`` may decide where they do not agree. ``controls`` and ``repeats`` are
    shares of the trials: that many packets more hold answers of known worth, and that many come
    twice. ``shown`` are the graders whose checks a packet shows. ``usd_per_hour`` is what an hour
    of a reviewer costs; None where that is not to be put in money.
    """

    rubric: str
    reviewers: int = 2
    third: str | None = None
    controls: float = 0.10
    repeats: float = 0.10
    shown: tuple[str, ...] = ()
    reviewed: str = ACCEPTED_BY_TESTS
    usd_per_hour: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A folder of tasks with one purpose and the one decision its results should answer.

    ``rerun`` maps an outcome to how many replacements a slot may get for it (None: any number).
    ``waivers`` are the rows of the validation matrix that may fail, with reasons. ``severities``
    are of what may be seen of a change or an agent, by kind, where the suite wants others than
    those of `trialbook.model.evidence.KINDS`. ``accept`` is the
    acceptance policy as written: grader names with ``and``, ``or``, ``not``. ``folder`` is relative
    to the ledger's root; ``files`` as in `Task`, without the tasks' own.
    """

    name: str
    folder: str
    protocol: int
    decision: str
    accept: str
    tasks: tuple[Task, ...]
    configurations: tuple[Configuration, ...]
    repetitions: int = 3
    limits: Limits = field(default_factory=Limits)
    limits_are_failures: bool = True
    artifacts: ArtifactPolicy = field(default_factory=ArtifactPolicy)
    rerun: dict[str, int | None] = field(default_factory=dict)
    outages: OutagePolicy = field(default_factory=OutagePolicy)
    compare: Comparison | None = None
    judgement: Judgement | None = None
    waivers: tuple[Waiver, ...] = ()
    severities: dict[str, SightingSeverity] = field(default_factory=dict)
    description: str = ""
    files: dict[str, str] = field(default_factory=dict)

    def every_file(self) -> dict[str, str]:
        """Every file that takes part, by path relative to the ledger's root, with its sha256."""
        files = dict(self.files)
        for configuration in self.configurations:
            files |= configuration.digests
        for task in self.tasks:
            files |= task.files
        return files
