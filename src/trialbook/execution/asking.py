"""Asks a judge's client one thing: in a room of its own, without a workspace, in a sandbox."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trialbook.api import AgentEnd, AgentResult, Assignment, JudgeReply
from trialbook.errors import TrialbookError
from trialbook.execution.agent_end import usage_of
from trialbook.execution.launch import Launcher
from trialbook.execution.network import Access, access_to
from trialbook.execution.room import Room, environment_of
from trialbook.execution.shown import shown_to
from trialbook.execution.toolchain import bare_python
from trialbook.model.judge import Judge
from trialbook.model.prices import PriceTable
from trialbook.model.suite import Configuration, Limits, Snapshot, SnapshotKind, Task, merge_limits
from trialbook.model.trial import Isolation, TrialSpec
from trialbook.storage.files import copy_tree, fresh_folder
from trialbook.storage.interpreter import interpreter_folders
from trialbook.system import System

_LIMITS = Limits(minutes=10.0, output_mb=2.0, file_mb=None)
_NAME = "judge"


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a judge is asked: the ledger, the operator's cache, a folder for fresh rooms.

    ``files`` is the judge's own folder, if it has one.
    """

    root: Path
    cache: Path
    work: Path
    files: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Asks one judge, each time anew; threads may share it."""

    launcher: Launcher
    system: System
    judge: Judge
    sandbox: str
    place: Place
    prices: PriceTable | None = None

    def isolation(self) -> Isolation:
        """What the sandbox enforces here.

        Raises:
            EnvironmentProblem: it does not work on this host.
        """
        return self.launcher.isolation(self._spec())

    def ask(self, prompt: str, schema: Mapping[str, Any]) -> JudgeReply:
        """Ask once: a fresh home, an empty folder, nothing of the ledger.

        Raises:
            TrialbookError: something on our side is in the way.
        """
        spec = self._spec()
        held = self.isolation().network_enforced
        with fresh_folder(self.place.work) as root:
            room = Room(root=root)
            room.make(prompt)
            room.workspace.mkdir()
            if self.place.files is not None:
                copy_tree(self.place.files, room.files)
            network = spec.configuration.network
            with access_to(network, room, self.system.now, held=held) as access:
                reply = self._reply(spec, self._assignment(spec, room, prompt, access), schema)
        used = usage_of(reply.result, spec)
        return replace(reply, result=replace(reply.result, usage=used))

    def _reply(
        self, spec: TrialSpec, assignment: Assignment, schema: Mapping[str, Any]
    ) -> JudgeReply:
        agent: Any = self.launcher.registry.agent(spec.configuration.agent)
        try:
            reply: JudgeReply = agent.judge(assignment, schema)
        except TrialbookError:
            raise
        except Exception as error:  # noqa: BLE001 - the plugin's fault counts as its client's
            message = f"the adapter raised {type(error).__name__}: {error}"
            return JudgeReply(result=AgentResult(end=AgentEnd.ERROR, message=message))
        return reply

    def _assignment(self, spec: TrialSpec, room: Room, prompt: str, access: Access) -> Assignment:
        configuration = spec.configuration
        agent = self.launcher.registry.agent(configuration.agent)
        python = bare_python()
        readable = (*interpreter_folders(python), *shown_to(agent, spec, self.system.home()))
        environment = environment_of(configuration, room, None, self.system.environ)
        return Assignment(
            task=_NAME,
            repetition=1,
            workspace=room.workspace,
            prompt=prompt,
            prompt_file=room.prompt_file,
            home=room.home,
            output=room.output,
            files=room.files if self.place.files is not None else None,
            model=configuration.model,
            reasoning=configuration.reasoning,
            approval=None,
            parameters=configuration.parameters,
            limits=spec.limits,
            start=self.launcher.for_agent(spec, room, environment, readable, access),
            python=python,
            prices=spec.prices,
        )

    def _spec(self) -> TrialSpec:
        """The judge as a launcher takes it: a configuration, and a task without anything in it."""
        nothing = Snapshot(kind=SnapshotKind.FOLDER, location=".")
        return TrialSpec(
            run=_NAME,
            suite=_NAME,
            protocol=1,
            status="",
            repetition=1,
            rerun=0,
            replaces=None,
            rerun_reason=None,
            plan_commit="",
            plan_sha256="",
            task=Task(name=_NAME, folder="", brief="", snapshot=nothing, graders=()),
            configuration=configuration_of(self.judge),
            limits=merge_limits(_LIMITS, self.judge.limits),
            sandbox=self.sandbox,
            accept="",
            limits_are_failures=True,
            prices=self.prices,
            source="",
            snapshot_tree="",
            workspace_tree="",
            # Two folders below the ledger, as any suite's: nothing of it may be shown.
            suite_folder=str(self.place.root / "suites" / _NAME),
            cache=str(self.place.cache),
            work=str(self.place.work),
        )


def configuration_of(judge: Judge) -> Configuration:
    """The judge as if it were a configuration: what its client, sandbox and secrets are."""
    return Configuration(
        name=judge.name,
        agent=judge.client,
        version=judge.version,
        model=judge.model,
        reasoning=judge.reasoning,
        sandbox=judge.sandbox,
        network=judge.network,
        environment=judge.environment,
        pass_environment=judge.pass_environment,
        secrets=judge.secrets,
        parameters=judge.parameters,
        readable=judge.readable,
    )
