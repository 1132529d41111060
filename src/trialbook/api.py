"""Everything a plugin may import: the seams, and the values that cross them.

A plugin is a class that an entry point names. It is made without arguments, holds no state between
calls, and never starts a process by itself: it is handed a function that does, inside the sandbox
and the limits of the trial.

Groups: ``trialbook.agents``, ``trialbook.graders``, ``trialbook.sandboxes``,
``trialbook.executors``, ``trialbook.pages``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from trialbook.errors import EnvironmentProblem, Problem, TrialbookError, UserError
from trialbook.formats.authored import parse_document, read_document
from trialbook.formats.document import Document
from trialbook.formats.patch_folder import apply_patch_to_folder
from trialbook.formats.schema import check_schema, load_schema
from trialbook.model.agent import AgentEnd, AgentResult, JudgeReply
from trialbook.model.client import (
    Claim,
    ClaimKind,
    Client,
    Denial,
    Trouble,
    claims_of,
    trouble_of_status,
)
from trialbook.model.grade import Check, Finding, Grade, GradeStatus, Severity
from trialbook.model.page import Page
from trialbook.model.paths import path_to_text, text_to_path
from trialbook.model.prices import Price, PriceTable, cost_of
from trialbook.model.process import Command, Ended, ProcessResult, StopWhen
from trialbook.model.sandbox import Availability, Policy
from trialbook.model.suite import Limits, Network
from trialbook.model.toolchain import ImageSource, ReadyImage
from trialbook.model.trajectory import CallUsage, Event, EventKind, Trajectory
from trialbook.model.tree_view import TreeView
from trialbook.model.trial import TrialBundle, TrialSpec
from trialbook.model.usage import PRICED, REPORTED, UNKNOWN, Usage, added, money
from trialbook.system import install_command, operator_environment, plugin_folder

__all__ = [
    "PRICED",
    "REPORTED",
    "UNKNOWN",
    "Agent",
    "AgentEnd",
    "AgentResult",
    "Assignment",
    "Availability",
    "CallUsage",
    "ChangedFile",
    "Check",
    "Claim",
    "ClaimKind",
    "Client",
    "Command",
    "Denial",
    "Document",
    "Ended",
    "EnvironmentProblem",
    "Event",
    "EventKind",
    "Evidence",
    "Executor",
    "Finding",
    "Grade",
    "GradeStatus",
    "Grader",
    "GraderStart",
    "ImageSource",
    "JudgeReply",
    "Limits",
    "Network",
    "Page",
    "Pages",
    "Policy",
    "Pool",
    "Price",
    "PriceTable",
    "Problem",
    "ProcessResult",
    "ReadyImage",
    "Sandbox",
    "Severity",
    "Spawn",
    "Start",
    "StopWhen",
    "Trajectory",
    "TreeView",
    "TrialBundle",
    "TrialSpec",
    "TrialbookError",
    "Trouble",
    "Usage",
    "UserError",
    "Worker",
    "added",
    "apply_patch_to_folder",
    "check_schema",
    "claims_of",
    "cost_of",
    "install_command",
    "load_schema",
    "money",
    "operator_environment",
    "parse_document",
    "path_to_text",
    "plugin_folder",
    "read_document",
    "text_to_path",
    "trouble_of_status",
]


# --- processes -------------------------------------------------------------------------------


Spawn = Callable[[Command, Limits], ProcessResult]
"""The core's way to run a process on the host to its end. Sandboxes wrap what they hand to it."""


# --- sandboxes -------------------------------------------------------------------------------


class Sandbox(Protocol):
    """Runs a command so that it sees and reaches only what its policy allows.

    A sandbox of containers may also have ``ready_image(image: ImageSource, spawn, log: Path) ->
    ReadyImage``: it fetches or loads an image, with network and whatever is printed added to
    ``log``, so that a policy may name it. Without the method, no policy ever names an image.

    One whose commands may outlive a runner that is killed may have ``sweep(spawn)``: it ends what
    dead runners left. It is called at the start of every run, whatever sandbox that takes, so it
    has to be quick where nothing was left.
    """

    name: str

    def available(self, spawn: Spawn) -> Availability:
        """Whether it works on this host; must try, never guess from a program's presence."""
        ...

    def start(self, command: Command, policy: Policy, spawn: Spawn) -> ProcessResult:
        """Run ``command`` to its end by way of ``spawn`` and leave nothing behind.

        What keeps the sandbox itself from working is an `EnvironmentProblem`, or a result that is
        ``not_started``; never the command's own failure.
        """
        ...


# --- agents ----------------------------------------------------------------------------------


class Start(Protocol):
    """Runs a command in the trial's sandbox, within its limits, with its environment."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        stdin: Path | None = None,
        environment: Mapping[str, str] | None = None,
        name: str = "",
        stop_when: StopWhen | None = None,
    ) -> ProcessResult:
        """Run ``argv`` in the workspace.

        ``environment`` adds to the trial's own. Output goes to ``stdout.txt`` and ``stderr.txt`` of
        the attempt (``<name>.stdout.txt`` ... where a name is given), while the command runs.
        ``stop_when`` looks at it meanwhile and may end it: then the result is ``stopped``, with
        what it said as the message. So limits hold that the client does not keep by itself.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What an agent is given for one attempt.

    ``workspace`` is the folder to work in. ``prompt`` is the brief; ``prompt_file`` holds the same
    and lies outside the workspace. ``files`` is the agent's own read-only folder (configuration key
    ``files``, or the reference where the configuration hands it over), or None. ``output`` is where
    extra artifacts go. ``home`` is fresh and empty. ``python`` is the interpreter of the task's
    toolchain, or a bare one without packages; a command in the sandbox can run it. ``prices`` is
    the table that the run counts with, if it has one.
    """

    task: str
    repetition: int
    workspace: Path
    prompt: str
    prompt_file: Path
    home: Path
    output: Path
    files: Path | None
    model: str | None
    reasoning: str | None
    approval: str | None
    parameters: Mapping[str, Any]
    limits: Limits
    start: Start
    python: str = sys.executable
    prices: PriceTable | None = None


class Agent(Protocol):
    """An adapter for one kind of agent.

    ``parameters`` is a JSON Schema for the configuration's ``with`` mapping. An adapter may also
    have ``longest_prompt(parameters) -> int | None``: how many bytes of a prompt it can take, if
    that is limited. A longer brief is then a mistake in the suite, told before any trial.
    And it may have ``readable(parameters) -> Iterable[Path]``: the files and folders of the host,
    beside ``/usr``, that its client is installed in. Sandboxes show them, to be read.

    ``settings`` maps keys of a configuration that every client takes in words of its own
    (``model``, ``reasoning``, ``approval``) to a JSON Schema for them.

    An adapter of a client that is installed apart may have
    ``client(parameters, spawn) -> Client``: it finds the program and asks it for its version. A run
    whose client is missing, or is not the one that the configuration pins, is then refused before
    it starts. And ``enforces(model, prices) -> Iterable[str]``: the names of the `Limits` that it
    keeps with a model, by the client's own means or by `Start`'s ``stop_when``.

    One that can also judge has ``judge(assignment, schema) -> JudgeReply``: the prompt holds all
    there is, the workspace is empty, and the answer is one JSON value, meant to fit a JSON Schema.
    The adapter gives the model no tools, never asks twice, and passes the answer on unchecked.
    """

    name: str
    parameters: Mapping[str, Any]

    def version(self) -> str:
        """The adapter's version (not the client's: that one is reported per trial)."""
        ...

    def run(self, assignment: Assignment) -> AgentResult:
        """Do one attempt. Exceptions other than `TrialbookError` count as the agent's error."""
        ...


# --- graders ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """One path that differs between the baseline and the candidate.

    ``status`` is one of added, deleted, modified, renamed, and omitted for what stands in the final
    state but not in the patch (too large, or nothing that git can store). ``path`` is in text form
    (see `trialbook.model.paths`); ``old_path`` only for renames. ``insertions`` and ``deletions``
    are None for binary files.
    """

    status: str
    path: str
    old_path: str | None = None
    insertions: int | None = None
    deletions: int | None = None


class GraderStart(Protocol):
    """Runs a command in a sandbox without network, to its end."""

    def __call__(
        self,
        command: Command,
        *,
        minutes: float | None = None,
        writable: Sequence[Path] = (),
        readable: Sequence[Path] = (),
    ) -> ProcessResult:
        """Run ``command``.

        ``minutes`` is its wall-clock limit (None: the trial's own). It may write below
        ``writable`` and read below ``readable``; where a sandbox can enforce it, nothing else of
        the trial is there, so name no more than it needs.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """What a grader sees: artifacts only, in fresh copies of its own.

    ``candidate`` and ``baseline`` are folders with the final and the starting tree (no ``.git``);
    whatever is in ``candidate`` was left by an agent and is hostile. ``baseline`` is None where a
    folder is graded as it is: ``candidate`` is then that very folder, so copy it before anything
    might write to it. ``task_folder`` is the task's folder with its private parts. ``scratch`` is
    an empty folder for the grader, outside all of them. ``python`` is the interpreter of the task's
    toolchain (or the runner's own). ``start`` runs a command in a sandbox. ``view`` looks into the
    final tree without a folder, or is None where a folder is graded as it is: a grader that makes
    do with it is quicker, since ``candidate`` is written out when it is first asked for.
    """

    task: str
    brief: str
    candidate: Path
    baseline: Path | None
    changed: tuple[ChangedFile, ...]
    patch: bytes
    task_folder: Path
    scratch: Path
    python: str
    limits: Limits
    start: GraderStart
    view: TreeView | None = None


class Grader(Protocol):
    """Judges artifacts. Same evidence, same grade.

    ``parameters`` is a JSON Schema for the grader's entry in a task; a string written there means
    the mapping ``{shorthand: <string>}``.

    A grader may also have ``visible = True``: agents may know its questions and answers, so that
    they may decide whether a workflow makes a second attempt. None of its files may be private.
    """

    name: str
    version: str
    parameters: Mapping[str, Any]
    shorthand: str

    def problems(self, parameters: Mapping[str, Any], task_folder: Path) -> Iterable[Problem]:
        """Mistakes in the files that the parameters name, with paths relative to the folder."""
        ...

    def files(self, parameters: Mapping[str, Any], task_folder: Path) -> Iterable[Path]:
        """Every file or folder that takes part in grading, below the task's folder."""
        ...

    def grade(self, evidence: Evidence, parameters: Mapping[str, Any]) -> Grade:
        """Judge. Any exception makes the trial a *grader failure*, never a failed trial."""
        ...


# --- executors -------------------------------------------------------------------------------

Worker = Callable[[TrialSpec], TrialBundle]
"""Does one whole trial. Knows no ledger; may run in any thread, process or machine."""


class Pool(Protocol):
    """Where the trials of one run are worked on."""

    def submit(self, spec: TrialSpec) -> Future[TrialBundle]:
        """Start a trial, or queue it."""
        ...

    def close(self) -> None:
        """Wait for what was started and free everything."""
        ...


class Executor(Protocol):
    """A way to run workers."""

    name: str

    def open(self, worker: Worker, jobs: int) -> Pool:
        """A pool that works on at most ``jobs`` trials at once."""
        ...


# --- pages -----------------------------------------------------------------------------------


class Pages(Protocol):
    """Adds pages to the site.

    ``templates`` is a folder with the templates it brings, or None. They may extend the theme's
    ``base.html``; one that has the name of a template of the theme is never used.
    """

    name: str
    templates: Path | None

    def pages(self, ledger_folder: Path) -> Iterable[Page]:
        """The pages, computed from the ledger's folder."""
        ...
