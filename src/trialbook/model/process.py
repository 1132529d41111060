"""A process to start, and what is known of it when it is over."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path


class Ended(StrEnum):
    """How a process ended, as the runner saw it."""

    EXITED = "exited"
    SIGNALLED = "signalled"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"
    STOPPED = "stopped"
    NOT_STARTED = "not_started"
    LOST = "lost"


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A process to start. Nothing is inherited: not the environment, not standard input.

    ``stdin`` is a file to read from (None: empty). ``stdout`` and ``stderr`` are files to write;
    they may be the same path. ``cleanup`` marks a command that removes what another one may have
    left: cancelling a run does not end it.
    """

    argv: tuple[str, ...]
    cwd: Path
    environment: Mapping[str, str]
    stdout: Path
    stderr: Path
    stdin: Path | None = None
    cleanup: bool = False


StopWhen = Callable[[], str]
"""Looks at a command while it runs; a text says why it has to end, an empty one that it may go on.

It is asked about twice a second, never twice at once.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Desk:
    """Where an agent's commands run: their folder, environment, and the folder of their output."""

    cwd: Path
    environment: Mapping[str, str]
    output: Path

    def start(
        self, run: Callable[[Command, StopWhen | None], ProcessResult]
    ) -> Callable[..., ProcessResult]:
        """The function that an agent starts its commands with (`trialbook.api.Start`)."""

        def start(
            argv: Sequence[str],
            *,
            stdin: Path | None = None,
            environment: Mapping[str, str] | None = None,
            name: str = "",
            stop_when: StopWhen | None = None,
        ) -> ProcessResult:
            prefix = f"{name}." if name else ""
            command = Command(
                argv=tuple(argv),
                cwd=self.cwd,
                environment={**self.environment, **(environment or {})},
                stdin=stdin,
                stdout=self.output / f"{prefix}stdout.txt",
                stderr=self.output / f"{prefix}stderr.txt",
            )
            return run(command, stop_when)

        return start


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessResult:
    """What the runner knows of a process that is over, with every descendant of it gone.

    ``exit_code`` is set when it exited, ``signal`` when a signal ended it. ``leftover_processes``
    counts descendants that had to be killed after it; None where a sandbox ends them uncounted.
    ``stdout_bytes`` and ``stderr_bytes`` count what was written, not what was kept; ``output_cut``
    says that the two differ. ``memory_killed`` says that something of it was killed because all of
    it together went over the memory limit. ``stopped`` is what the `StopWhen` of its start ended,
    which then says why in the ``message``.
    """

    ended: Ended
    exit_code: int | None = None
    signal: int | None = None
    seconds: float = 0.0
    leftover_processes: int | None = 0
    stdout_bytes: int = 0
    stderr_bytes: int = 0
    output_cut: bool = False
    max_rss_bytes: int | None = None
    message: str = ""
    memory_killed: bool = False

    @property
    def ok(self) -> bool:
        """Whether it exited by itself with status 0."""
        return self.ended is Ended.EXITED and self.exit_code == 0
