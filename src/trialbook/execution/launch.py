"""How a trial's processes are started: in its sandbox, within its limits, and nothing beyond."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialbook.api import Command, Policy, ProcessResult, Start
from trialbook.errors import EnvironmentProblem
from trialbook.execution.room import Room
from trialbook.model.suite import Limits
from trialbook.model.trial import Isolation, TrialSpec
from trialbook.process import run
from trialbook.registry import Registry
from trialbook.storage.interpreter import interpreter_folders

_LIMITS = ("minutes", "output_mb", "memory_mb", "processes", "usd", "turns", "tokens")


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
        asked = [name for name in _LIMITS if getattr(spec.limits, name) is not None]
        network = spec.configuration.network
        return Isolation(
            sandbox=spec.sandbox,
            isolated=able.isolated,
            network_declared=" ".join((network.mode, *network.allow)),
            network_enforced=able.network,
            limits_enforced=tuple(name for name in asked if name in able.limits),
            limits_not_enforced=tuple(name for name in asked if name not in able.limits),
            detail=able.reason,
        )

    def in_sandbox(self, spec: TrialSpec, command: Command, policy: Policy) -> ProcessResult:
        """Run a command to its end in the trial's sandbox."""
        return self.registry.sandbox(spec.sandbox).start(command, policy, self._spawn)

    def for_agent(
        self, spec: TrialSpec, room: Room, base: Mapping[str, str], python: str
    ) -> Start:
        """The `Start` that an agent gets: the workspace as working directory, output kept.

        ``python`` is the interpreter that its commands may run.
        """
        files = (room.files,) if room.files.exists() else ()
        policy = Policy(
            writable=(room.workspace, room.home),
            readable=(*files, room.prompt_file, *interpreter_folders(python)),
            scratch=(room.temporary,),
            network=spec.configuration.network,
            limits=spec.limits,
        )

        def start(
            argv: Sequence[str],
            *,
            stdin: Path | None = None,
            environment: Mapping[str, str] | None = None,
            name: str = "",
        ) -> ProcessResult:
            prefix = f"{name}." if name else ""
            command = Command(
                argv=tuple(argv),
                cwd=room.workspace,
                environment={**base, **(environment or {})},
                stdin=stdin,
                stdout=room.output / f"{prefix}stdout.txt",
                stderr=room.output / f"{prefix}stderr.txt",
            )
            return self.in_sandbox(spec, command, policy)

        return start

    def _spawn(self, command: Command, limits: Limits) -> ProcessResult:
        return run(command, limits, cancel=self.cancel)
