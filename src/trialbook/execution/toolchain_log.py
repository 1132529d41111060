"""Steps that prepare a toolchain, supervised, with all that they print in one log."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialbook.api import Command, Ended, Limits
from trialbook.errors import EnvironmentProblem
from trialbook.process import run
from trialbook.storage.files import read_regular

MOST_KEPT = 400_000
"""Bytes of a log that are kept as evidence; the end counts."""

_MINUTES = 20.0
_LINES = 3
_LONGEST = 600
_CREDENTIALS = re.compile(rb"(?<=://)[^/@\s]+(?=@)")
_MARKS = ("ERROR:", "error:", "Error:")


class ToolchainFailure(EnvironmentProblem):
    """A toolchain that could not be prepared; ``log`` is what was printed on the way."""

    def __init__(self, message: str, *, hint: str = "", log: bytes = b"") -> None:
        super().__init__(message, hint=hint)
        self.log = log


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """Runs one command after the other. ``what`` names the toolchain in messages."""

    what: str
    log: Path
    environment: Mapping[str, str]

    def run(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        environment: Mapping[str, str] | None = None,
        may_fail: bool = False,
    ) -> bool:
        """Run a command to its end, and say whether it went well; it dies with this process.

        Raises:
            ToolchainFailure: it cannot be started, takes too long, or ends with another status
                than 0.
        """
        part = self.log.with_suffix(".part")
        command = Command(
            argv=tuple(argv),
            cwd=cwd,
            environment={**self.environment, **(environment or {})},
            stdout=part,
            stderr=part,
        )
        result = run(command, Limits(minutes=_MINUTES, output_mb=10.0))
        said = _CREDENTIALS.sub(b"***", read_regular(part) or b"")
        part.unlink(missing_ok=True)
        with self.log.open("ab") as log:
            line = f"$ {' '.join(argv)}\n".encode(errors="surrogateescape")
            log.write(_CREDENTIALS.sub(b"***", line) + said)
        if result.ok or (may_fail and result.ended is Ended.EXITED):
            return result.ok
        how = result.message or (
            f"ended with status {result.exit_code}"
            if result.ended is Ended.EXITED
            else result.ended.value.replace("_", " ")
        )
        end = _told(said)
        raise self.failure(f"`{Path(argv[0]).name}` {how}" + (f": {end}" if end else ""))

    def failure(self, why: str, hint: str = "") -> ToolchainFailure:
        """The failure of the toolchain, with its log so far."""
        return ToolchainFailure(
            f"the toolchain ({self.what}) cannot be prepared: {why}",
            hint=hint or f"what it printed is in {self.log}; preparing needs the network once",
            log=(read_regular(self.log) or b"")[-MOST_KEPT:],
        )


def _told(said: bytes) -> str:
    """The lines that say what is wrong, in one."""
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines()]
    marked = [line for line in lines if line.startswith(_MARKS)]
    chosen = marked[:_LINES] or [line for line in lines if line][-_LINES:]
    return " / ".join(chosen)[:_LONGEST]
