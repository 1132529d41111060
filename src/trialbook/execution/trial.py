"""One trial, stage by stage: prepare, run the agent, capture the change, have it graded.

The stages are data passed on. Grading comes in as a function, so that this room needs no grader;
nothing here knows the ledger.
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from trialbook.api import (
    AgentEnd,
    AgentResult,
    Assignment,
    Command,
    Grade,
    Policy,
    ProcessResult,
)
from trialbook.errors import EnvironmentProblem, TrialbookError
from trialbook.execution.agent_end import (
    attempt_of,
    files_of,
    sightings_of_denials,
    usage_of,
)
from trialbook.execution.audit import audit
from trialbook.execution.change import Change, capture
from trialbook.execution.classify import with_memory_named
from trialbook.execution.known_answers import KnownAnswers
from trialbook.execution.launch import Launcher
from trialbook.execution.network import Access, access_to, record_of, sightings_of
from trialbook.execution.planted import planted_git
from trialbook.execution.prepare import Supplies, agent_files, starting_point
from trialbook.execution.reachable import package_places, shown_places
from trialbook.execution.room import Room, environment_of
from trialbook.execution.shown import shown_to
from trialbook.execution.toolchain import ToolchainFailure, Toolchains, bare_python
from trialbook.execution.workspace import Template, TemplateObjects, template, unpack
from trialbook.model.evidence import Sighting
from trialbook.model.runfiles import EGRESS_LOG, TOOLCHAIN_LOG
from trialbook.model.suite import Limits
from trialbook.model.toolchain import ToolchainUse
from trialbook.model.trial import (
    AgentRecord,
    Attempt,
    EgressRecord,
    Isolation,
    Stage,
    TrialSpec,
    WorkspaceRecord,
)
from trialbook.model.usage import Usage
from trialbook.storage.files import fresh_folder, read_regular
from trialbook.storage.interpreter import interpreter_folders
from trialbook.storage.ledger import path_problem
from trialbook.storage.repository import Store
from trialbook.storage.trees import Objects
from trialbook.system import System, timestamp

ATTEMPT = "sessions/1/attempt-1"

_GRADABLE = frozenset({AgentEnd.FINISHED, AgentEnd.TIMED_OUT, AgentEnd.BUDGET})
_MEGABYTE = 1_000_000
# Room for the line that says where output was cut.
_MARKER_BYTES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a trial hands to grading: artifacts, never the agent's own words about them.

    ``objects`` is where the change's trees are read from.
    """

    spec: TrialSpec
    change: Change
    python: str
    work: Path
    start: Callable[[Command, Policy], ProcessResult]
    objects: Objects


GradeTrial = Callable[[Subject], tuple[Grade, ...]]


@dataclass(slots=True, kw_only=True)
class Findings:
    """What is known of a trial so far. Filled stage by stage; whatever is missing stays None.

    ``trouble`` is what went wrong on our side, if anything did; ``sightings`` is None until
    something looked for any.
    """

    started: str
    stages: list[Stage] = field(default_factory=list)
    agent: AgentRecord | None = None
    isolation: Isolation | None = None
    egress: EgressRecord | None = None
    workspace: WorkspaceRecord | None = None
    toolchain: ToolchainUse | None = None
    attempts: list[Attempt] = field(default_factory=list)
    result: AgentResult | None = None
    used: Usage | None = None
    change: Change | None = None
    grades: tuple[Grade, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    sightings: list[Sighting] | None = None
    trouble: str | None = None

    def see(self, sightings: Iterable[Sighting]) -> None:
        """Add what a look gave; that something looked is known from here on."""
        self.sightings = [*(self.sightings or ()), *sightings]

    @property
    def usage(self) -> Usage:
        """What the agent used, as far as it is known."""
        return self.used or Usage()


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialRunner:
    """Does trials with one launcher, one system and one way to grade; threads may share it."""

    launcher: Launcher
    system: System
    grade: GradeTrial
    answers: KnownAnswers = field(default_factory=KnownAnswers)

    def findings(self, spec: TrialSpec) -> Findings:
        """Go through the stages as far as they can be gone through.

        Trouble on our side ends the trial and is told in ``trouble``; it never counts as a result.
        """
        found = Findings(started=timestamp(self.system.now()))
        try:
            with fresh_folder(Path(spec.work)) as root:
                self._stages(spec, Room(root=root), found)
        except (TrialbookError, OSError) as error:
            hint = getattr(error, "hint", "")
            found.trouble = f"{error}" + (f" ({hint})" if hint else "")
        except Exception as error:  # noqa: BLE001 - an unknown error is never a valid result
            found.trouble = f"unexpected {type(error).__name__}: {error}"
            found.files["runner-error.txt"] = traceback.format_exc().encode()
        return found

    def _stages(self, spec: TrialSpec, room: Room, found: Findings) -> None:
        cache = Path(spec.cache)
        supplies = Supplies(
            suite_folder=Path(spec.suite_folder), store=Store.at(cache / "objects"), cache=cache
        )
        with self._stage(found, "prepare"):
            made = self._prepare(spec, room, supplies, found)
            python = self._toolchain(spec, supplies, found)
            self._look_for_answer(spec, python, supplies, made, found)
        with self._stage(found, "agent"):
            own = python if spec.task.toolchain else bare_python()
            self._run_agent(spec, room, own, supplies, found)
        with self._stage(found, "capture"):
            found.change = capture(
                room.workspace,
                spec.workspace_tree,
                supplies.store,
                file_limit_bytes=_in_bytes(spec.limits.file_mb),
                work=Path(spec.work),
                there=made.objects,
            )
            found.see(planted_git(room.workspace))
        if self._to_be_graded(spec, found):
            with self._stage(found, "grade"), fresh_folder(Path(spec.work)) as work:
                subject = Subject(
                    spec=spec,
                    change=found.change,
                    python=python,
                    work=work,
                    start=lambda command, policy: self.launcher.in_sandbox(spec, command, policy),
                    objects=TemplateObjects(made, supplies.store),
                )
                found.grades = self.grade(subject)

    def _toolchain(self, spec: TrialSpec, supplies: Supplies, found: Findings) -> str:
        """What the task needs to run is made ready; gives its interpreter."""
        if spec.task.toolchain is None:
            return sys.executable
        toolchains = Toolchains(
            suite_folder=supplies.suite_folder,
            cache=supplies.cache,
            system=self.system,
            registry=self.launcher.registry,
        )
        try:
            made = toolchains.prepared(spec.task.toolchain, spec.sandbox, turn=spec.rerun)
        except ToolchainFailure as failure:
            found.files[TOOLCHAIN_LOG] = failure.log
            raise
        found.toolchain = made.use
        return made.interpreter

    def _to_be_graded(self, spec: TrialSpec, found: Findings) -> bool:
        if found.result is None or found.change is None or self.launcher.cancel.is_set():
            return False
        something = found.change.anything or spec.task.no_change_expected
        return something and found.result.end in _GRADABLE

    def _prepare(
        self, spec: TrialSpec, room: Room, supplies: Supplies, found: Findings
    ) -> Template:
        if spec.workspace_tree not in supplies.store:
            again = starting_point(spec.task, spec.configuration, supplies)
            if again.workspace_tree != spec.workspace_tree:
                raise EnvironmentProblem(
                    f"the snapshot of {spec.task.name} is not what the plan froze: tree "
                    f"{again.workspace_tree}, planned {spec.workspace_tree}",
                    hint="restore the snapshot's source, or start a new run",
                )
        made = template(supplies.store, spec.workspace_tree, supplies.cache)
        written = unpack(made, room.workspace)
        room.make(spec.task.brief)
        found.workspace = WorkspaceRecord(
            source=spec.source,
            snapshot_tree=spec.snapshot_tree,
            baseline_tree=spec.workspace_tree,
            baseline_commit=made.commit,
            files=made.files,
            audit=audit(
                room.workspace,
                made.commit,
                links_declared=spec.task.snapshot.links,
                written=written,
            ),
        )
        broken = [row for row in found.workspace.audit if not row.ok]
        if broken:
            raise EnvironmentProblem(
                "the workspace audit failed: "
                + "; ".join(f"{row.rule}: {row.detail}" for row in broken)
            )
        return made

    def _look_for_answer(
        self, spec: TrialSpec, python: str, supplies: Supplies, made: Template, found: Findings
    ) -> None:
        if spec.task.reference is None:
            return
        toolchain = spec.task.toolchain
        agent = self.launcher.registry.agent(spec.configuration.agent)
        places = shown_places(shown_to(agent, spec, self.system.home()))
        if toolchain is None or toolchain.image is None:
            places += package_places(python if toolchain else bare_python())
        look = self.answers.look(spec, places, supplies, made.objects)
        if look.row is not None and found.workspace is not None:
            rows = (*found.workspace.audit, look.row)
            found.workspace = replace(found.workspace, audit=rows)
            found.see(look.sightings)
        look.refuse()

    def _run_agent(
        self,
        spec: TrialSpec,
        room: Room,
        python: str,
        supplies: Supplies,
        found: Findings,
    ) -> None:
        plugin = self.launcher.registry.plugin("agents", spec.configuration.agent)
        agent = self.launcher.registry.agent(spec.configuration.agent)
        found.isolation = self.launcher.isolation(spec)
        shown = shown_to(agent, spec, self.system.home())
        with self._access(spec, room, python, found) as access:
            assignment = self._assignment(spec, room, python, supplies, (shown, access))
            try:
                result = agent.run(assignment)
            except TrialbookError:
                raise
            except Exception as error:  # noqa: BLE001 - the plugin's fault counts as its agent's
                found.files[f"{ATTEMPT}/adapter-error.txt"] = traceback.format_exc().encode()
                result = AgentResult(end=AgentEnd.ERROR, message=f"the adapter raised {error!r}")
        found.result = with_memory_named(result, spec.limits)
        found.agent = AgentRecord(
            name=plugin.name,
            distribution=f"{plugin.distribution} {plugin.version}",
            version=agent.version(),
            reported_version=result.reported_version,
            model=spec.configuration.model,
        )
        found.used = usage_of(result, spec)
        found.attempts.append(attempt_of(found.result, found.used, session=1, attempt=1))
        found.files |= _collected(room.output, spec.limits)
        found.files |= {f"{ATTEMPT}/{name}": data for name, data in files_of(result)}
        if result.denied:
            found.see(sightings_of_denials(result))
        found.files[f"{ATTEMPT}/prompt.md"] = spec.task.brief.encode()

    def _assignment(
        self,
        spec: TrialSpec,
        room: Room,
        python: str,
        supplies: Supplies,
        reach: tuple[tuple[Path, ...], Access],
    ) -> Assignment:
        """What the agent is given; ``reach`` is what it may read besides, and its network."""
        configuration = spec.configuration
        shown, access = reach
        toolchain = Path(python).parent if spec.task.toolchain else None
        environment = environment_of(configuration, room, toolchain, self.system.environ)
        readable = (*interpreter_folders(python), *shown)
        return Assignment(
            task=spec.task.name,
            repetition=spec.repetition,
            workspace=room.workspace,
            prompt=spec.task.brief,
            prompt_file=room.prompt_file,
            home=room.home,
            output=room.output,
            files=agent_files(spec.task, configuration, spec.repetition, supplies, room.files),
            model=configuration.model,
            reasoning=configuration.reasoning,
            approval=configuration.approval,
            parameters=configuration.parameters,
            limits=spec.limits,
            start=self.launcher.for_agent(spec, room, environment, readable, access),
            python=python,
            prices=spec.prices,
        )

    @contextmanager
    def _access(
        self, spec: TrialSpec, room: Room, python: str, found: Findings
    ) -> Iterator[Access]:
        """The agent's network while it works; afterwards what was seen of it is in the findings."""
        network = spec.configuration.network
        held = found.isolation is not None and found.isolation.network_enforced
        way = None
        toolchain = spec.task.toolchain
        # On this host it is a bare one; an image may have no other than its own.
        inside = python if toolchain is not None and toolchain.image is not None else None
        try:
            with access_to(network, room, self.system.now, held=held, python=inside) as access:
                way = access.way
                yield access
        finally:
            if way is not None:
                found.egress = record_of(way.log)
                found.see(sightings_of(way.log, network))
                if lines := way.log.lines():
                    found.files[EGRESS_LOG] = lines

    @contextmanager
    def _stage(self, found: Findings, name: str) -> Iterator[None]:
        began, clock = self.system.now(), self.system.monotonic()
        try:
            yield
        finally:
            seconds = round(self.system.monotonic() - clock, 3)
            found.stages.append(Stage(name=name, started=timestamp(began), seconds=seconds))


def _collected(output: Path, limits: Limits) -> dict[str, bytes]:
    """The attempt's artifacts. Empty ones are left out, and what is no regular file.

    Without isolation an agent may have written here too: a name that cannot stand in the ledger is
    left out, so that it cannot keep the trial from being recorded.
    """
    cap = _in_bytes(limits.output_mb)
    kept: dict[str, bytes] = {}
    for path in sorted(output.iterdir()):
        if path_problem(f"runs/suite/run/trial/{path.name}") is not None:
            continue
        data = read_regular(path, None if cap is None else cap + _MARKER_BYTES)
        if data:
            kept[f"{ATTEMPT}/{path.name}"] = data
    return kept


def _in_bytes(megabytes: float | None) -> int | None:
    return None if megabytes is None else int(megabytes * _MEGABYTE)
