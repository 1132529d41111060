"""One attempt of a trial: its agent is given the room, works, and what it leaves is collected."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from trialbook.api import AgentEnd, AgentResult, Assignment
from trialbook.errors import TrialbookError
from trialbook.execution.agent_end import attempt_of, files_of, sightings_of_denials, usage_of
from trialbook.execution.classify import with_memory_named
from trialbook.execution.credentials import lay_credentials
from trialbook.execution.launch import Launcher
from trialbook.execution.network import Access
from trialbook.execution.prepare import Supplies, agent_files
from trialbook.execution.room import Room, environment_of
from trialbook.execution.shown import shown_to
from trialbook.execution.workspace import Template
from trialbook.model.evidence import Sighting
from trialbook.model.runfiles import attempt_folder
from trialbook.model.series import ONLY_SESSION
from trialbook.model.suite import Limits
from trialbook.model.trial import AgentRecord, Attempt, TrialSpec
from trialbook.storage.files import read_regular
from trialbook.storage.interpreter import interpreter_folders
from trialbook.storage.ledger import path_problem
from trialbook.system import System

_MEGABYTE = 1_000_000
# Room for the line that says where output was cut.
_MARKER_BYTES = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Ground:
    """What the attempts of one session share: its room, ingredients, interpreters and network.

    ``made`` is the workspace as the trial begins, ``lay`` writes it as the session begins, and
    checks it; ``python`` is for agents, ``graders_python`` for what looks at what they left.
    """

    room: Room
    made: Template
    lay: Callable[[Path], None]
    supplies: Supplies
    python: str
    graders_python: str
    access: Access
    session: int = 1
    session_name: str = ONLY_SESSION


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """An attempt that is over; ``files`` are artifacts by their path in the trial's folder.

    ``secrets`` are values that were laid into its home, by name.
    """

    result: AgentResult
    agent: AgentRecord
    record: Attempt
    files: dict[str, bytes] = field(default_factory=dict)
    sightings: list[Sighting] = field(default_factory=list)
    secrets: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRunner:
    """Does attempts with one launcher and one system; threads may share it."""

    launcher: Launcher
    system: System

    def run(self, spec: TrialSpec, ground: Ground, number: int) -> Attempted:
        """Let the agent of the spec's configuration work once, on the spec's brief.

        Raises:
            TrialbookError: something on our side is in the way.
        """
        plugin = self.launcher.registry.plugin("agents", spec.configuration.agent)
        agent = self.launcher.registry.agent(spec.configuration.agent)
        folder = attempt_folder(ground.session, number)
        files: dict[str, bytes] = {}
        secrets = lay_credentials(spec.configuration, ground.room, self.system)
        assignment = self._assignment(spec, ground)
        try:
            result = agent.run(assignment)
        except TrialbookError:
            raise
        except Exception as error:  # noqa: BLE001 - the plugin's fault counts as its agent's
            files[f"{folder}/adapter-error.txt"] = traceback.format_exc().encode()
            result = AgentResult(end=AgentEnd.ERROR, message=f"the adapter raised {error!r}")
        result = with_memory_named(result, spec.limits)
        files |= {
            f"{folder}/{name}": data
            for name, data in (
                *_collected(ground.room.output, spec.limits).items(),
                *files_of(result),
                ("prompt.md", spec.task.brief.encode()),
            )
        }
        used = usage_of(result, spec)
        return Attempted(
            result=result,
            agent=AgentRecord(
                name=plugin.name,
                distribution=f"{plugin.distribution} {plugin.version}",
                version=agent.version(),
                reported_version=result.reported_version,
                model=spec.configuration.model,
            ),
            record=attempt_of(result, used, session=ground.session, attempt=number),
            files=files,
            sightings=sightings_of_denials(result) if result.denied else [],
            secrets=secrets,
        )

    def _assignment(self, spec: TrialSpec, ground: Ground) -> Assignment:
        configuration, room = spec.configuration, ground.room
        agent = self.launcher.registry.agent(configuration.agent)
        shown = shown_to(agent, spec, self.system.home())
        toolchain = Path(ground.python).parent if spec.task.toolchain else None
        environment = environment_of(configuration, room, toolchain, self.system.environ)
        readable = (*interpreter_folders(ground.python), *shown)
        files = agent_files(
            *(spec.task, configuration, ground.supplies, room.files),
            repetition=spec.repetition,
            session=ground.session_name,
        )
        return Assignment(
            task=spec.task.name,
            repetition=spec.repetition,
            workspace=room.workspace,
            prompt=spec.task.brief,
            prompt_file=room.prompt_file,
            home=room.home,
            output=room.output,
            files=files,
            model=configuration.model,
            reasoning=configuration.reasoning,
            approval=configuration.approval,
            parameters=configuration.parameters,
            limits=spec.limits,
            start=self.launcher.for_agent(spec, room, environment, readable, ground.access),
            python=ground.python,
            prices=spec.prices,
        )


def _collected(output: Path, limits: Limits) -> dict[str, bytes]:
    """The attempt's artifacts. Empty ones are left out, and what is no regular file.

    Without isolation an agent may have written here too: a name that cannot stand in the ledger is
    left out, so that it cannot keep the trial from being recorded.
    """
    cap = in_bytes(limits.output_mb)
    kept: dict[str, bytes] = {}
    for path in sorted(output.iterdir()):
        if path_problem(f"runs/suite/run/trial/{path.name}") is not None:
            continue
        data = read_regular(path, None if cap is None else cap + _MARKER_BYTES)
        if data:
            kept[path.name] = data
    return kept


def in_bytes(megabytes: float | None) -> int | None:
    """A size in bytes; None for none."""
    return None if megabytes is None else int(megabytes * _MEGABYTE)
