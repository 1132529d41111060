"""How a trial's processes are started: in its sandbox, within its limits, and nothing beyond."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from trialbook.api import Command, Policy, ProcessResult, Start
from trialbook.errors import EnvironmentProblem
from trialbook.execution.network import Access
from trialbook.execution.room import Room
from trialbook.execution.size_watch import watching
from trialbook.execution.toolchain import in_image
from trialbook.model.process import Desk, StopWhen
from trialbook.model.suite import Limits
from trialbook.model.trial import Isolation, TrialSpec
from trialbook.process import run
from trialbook.registry import Registry
from trialbook.supervision.stopping import stopping

_LIMITS = (
    *("minutes", "output_mb", "file_mb", "memory_mb", "processes", "workspace_mb"),
    *("usd", "turns", "tokens"),
)
# What holds in every sandbox, since it is not the sandbox that enforces it.
_OWN_LIMITS = frozenset({"file_mb", "workspace_mb"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Launcher:
    """Starts processes for trials; ``cancel`` ends them all."""

    registry: Registry
    cancel: threading.Event

    def isolation(self, spec: TrialSpec) -> Isolation:
        """What the trial's sandbox enforces here, of what the plan asks for.

        Raises:
            EnvironmentProblem: the sandbox does not work on this host.
        """
        able = self.registry.availability(spec.sandbox, run)
        if not able.ok:
            raise EnvironmentProblem(
                f"sandbox {spec.sandbox!r} does not work here: {able.reason}",
                hint=able.hint or "choose another with --sandbox",
            )
        enforced = _OWN_LIMITS.union(able.limits, self._kept_by_agent(spec))
        asked = [name for name in _LIMITS if getattr(spec.limits, name) is not None]
        network = spec.configuration.network
        return Isolation(
            sandbox=spec.sandbox,
            isolated=able.isolated,
            network_declared=" ".join((network.mode, *network.allow)),
            network_enforced=able.network,
            limits_enforced=tuple(name for name in asked if name in enforced),
            limits_not_enforced=tuple(name for name in asked if name not in enforced),
            detail=able.reason,
        )

    def _kept_by_agent(self, spec: TrialSpec) -> Iterable[str]:
        keeps = getattr(self.registry.agent(spec.configuration.agent), "enforces", None)
        return () if keeps is None else keeps(spec.configuration.model, spec.prices)

    def in_sandbox(self, spec: TrialSpec, command: Command, policy: Policy) -> ProcessResult:
        """Run a command to its end in the trial's sandbox."""
        return self._start(spec, command, policy, self.cancel)

    def for_agent(
        self,
        spec: TrialSpec,
        room: Room,
        base: Mapping[str, str],
        readable: Sequence[Path],
        access: Access,
    ) -> Start:
        """The `Start` that an agent gets: the workspace as working directory, output kept.

        ``readable`` is what its commands may read besides its own files and its prompt.
        """
        files = (room.files,) if room.files.exists() else ()
        policy = access.over(
            Policy(
                writable=(room.workspace, room.home),
                readable=(*files, room.prompt_file, *readable),
                scratch=(room.temporary,),
                limits=spec.limits,
            )
        )
        environment = {**base, **access.environment}

        def watched(command: Command, stop_when: StopWhen | None) -> ProcessResult:
            folders, limit = policy.writable, spec.limits.workspace_mb
            with (
                watching(folders, limit, self.cancel) as size,
                stopping(stop_when, size) as watch,
            ):
                run = partial(self._start, spec, command, policy, watch)
                return watch.judged(size.judged(access.judged(run)))

        return Desk(cwd=room.workspace, environment=environment, output=room.output).start(watched)

    def _start(
        self, spec: TrialSpec, command: Command, policy: Policy, cancel: threading.Event
    ) -> ProcessResult:
        def spawn(command: Command, limits: Limits) -> ProcessResult:
            return run(command, limits, cancel=cancel)

        policy = in_image(policy, command, spec.task.toolchain)
        return self.registry.sandbox(spec.sandbox).start(command, policy, spawn)
