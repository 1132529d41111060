"""Every exception that may cross a room's border, and the exit codes they map to.

Only `trialbook.cli.main` turns them into messages and exit codes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum


class ExitCode(IntEnum):
    """What a command's exit status says."""

    DONE = 0
    NO = 1
    FIX = 2
    INCONCLUSIVE = 3
    NOT_VALID = 4
    BUG = 70
    INTERRUPTED = 130


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Problem:
    """One mistake in an authored file, or one thing a user has to fix.

    ``line`` and ``column`` count from 1; 0 means that the place is the file as a whole.
    """

    path: str
    line: int = 0
    column: int = 0
    message: str
    hint: str = ""

    def __str__(self) -> str:
        place = self.path
        if self.line:
            place += f":{self.line}:{self.column}"
        text = f"{place}: {self.message}" if place else self.message
        return f"{text}; {self.hint}" if self.hint else text


class TrialbookError(Exception):
    """Base of all of them."""

    exit_code = ExitCode.BUG

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class UserError(TrialbookError):
    """Something that the user has to fix; every problem found, not just the first."""

    exit_code = ExitCode.FIX

    def __init__(
        self, message: str = "", *, hint: str = "", problems: Sequence[Problem] = ()
    ) -> None:
        super().__init__(message or "\n".join(str(problem) for problem in problems), hint=hint)
        self.problems = tuple(problems)


class EnvironmentProblem(TrialbookError):
    """Git, the disk, the package index or another tool did not do its part."""

    exit_code = ExitCode.FIX


class Interrupted(TrialbookError):
    """A run was told twice to stop, and stopped at once; ``run`` names it."""

    exit_code = ExitCode.INTERRUPTED

    def __init__(self, run: str) -> None:
        super().__init__(f"the run {run} was stopped at once; what was running counts as cut off")
        self.run = run


class Refused(TrialbookError):
    """A snapshot, patch or path that cannot be handled without loss or danger."""

    exit_code = ExitCode.FIX
