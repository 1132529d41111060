"""What all clients have in common: being found, asked for their version, and ending somehow."""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from trialbook.api import (
    AgentEnd,
    AgentResult,
    Client,
    Command,
    Ended,
    EnvironmentProblem,
    Limits,
    PriceTable,
    ProcessResult,
    Spawn,
    Trouble,
    operator_environment,
)
from trialbook_agents.shapes import one_line

_VERSION = re.compile(r"\b\d+\.\d+(?:[0-9A-Za-z.+-]*[0-9A-Za-z])?")
_SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
_TAIL_BYTES = 4_000
_MOST_FOLDERS = 2_000
_MOST_FILES = 2_000


def find_program(name: str) -> Path | None:
    """A program by its path, or by the PATH of whoever runs the evaluation; None if there is none.

    Links are followed, so that the file itself can be shown to a sandbox.
    """
    environment = operator_environment()
    if name.startswith("~/"):
        name = str(Path(environment.get("HOME") or "/") / name[2:])
    found = shutil.which(name, path=environment.get("PATH", _SYSTEM_PATH))
    return Path(os.path.realpath(found)) if found is not None else None


def package_of(program: Path, marker: str = "package.json") -> Path:
    """The folder that a program is installed in: the nearest that has the marker, or its own."""
    for folder in list(program.parents)[:4]:
        if (folder / marker).is_file():
            return folder
    return program


def ask_version(
    program: Path | None,
    name: str,
    spawn: Spawn,
    install: str,
    question: Sequence[str] = (),
) -> Client:
    """What ``program --version`` says, run with a home of its own.

    ``question`` is the command to ask with instead, for programs that cannot be asked so.
    """
    if program is None:
        return Client(reason=f"{name} is not on the PATH", hint=f"install it: {install}")
    argv = tuple(question) or (str(program), "--version")
    with tempfile.TemporaryDirectory() as folder:
        home, output = Path(folder, "home"), Path(folder, "output")
        home.mkdir()
        command = Command(
            argv=argv,
            cwd=home,
            environment={"PATH": _SYSTEM_PATH, "HOME": str(home), "LC_ALL": "C.UTF-8"},
            stdout=output,
            stderr=output,
            cleanup=True,
        )
        result = spawn(command, Limits(minutes=1.0, output_mb=1.0))
        said = _read(output)
    found = _VERSION.search(said)
    if not result.ok or found is None:
        why = result.message or one_line(said) or f"it {result.ended.value}"
        return Client(
            program=str(program),
            reason=f"{' '.join(argv)} fails: {why}",
            hint=f"install it again: {install}",
        )
    return Client(program=str(program), version=found.group(), hint=install)


def need_program(program: Path | None, name: str, install: str) -> Path:
    """The program.

    Raises:
        EnvironmentProblem: it is not there.
    """
    if program is None:
        raise EnvironmentProblem(f"{name} is not on the PATH", hint=f"install it: {install}")
    return program


def not_here(problem: EnvironmentProblem) -> AgentResult:
    """The result of a run for which something is missing on this host."""
    said = f"{problem.message}; {problem.hint}" if problem.hint else problem.message
    return AgentResult(end=AgentEnd.ENVIRONMENT, message=said)


def kept_by_looking(model: str | None, prices: PriceTable | None) -> tuple[str, ...]:
    """The limits that are kept by counting what is used: money only where there is a price."""
    known = prices is not None and model in prices.models
    return ("turns", "tokens", "usd") if known else ("turns", "tokens")


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """How a run ended, and why, in one sentence; ``trouble`` is what kept the model away."""

    end: AgentEnd
    message: str
    trouble: Trouble | None = None


_ENDS: dict[Ended, tuple[AgentEnd, str]] = {
    Ended.SIGNALLED: (AgentEnd.ERROR, "{client} was ended by {signal} {after}"),
    Ended.TIMED_OUT: (AgentEnd.TIMED_OUT, "{client} was stopped {after}"),
    Ended.CANCELLED: (AgentEnd.CANCELLED, "{client} was cancelled {after}"),
    Ended.STOPPED: (AgentEnd.BUDGET, "{client} was stopped {after}"),
    Ended.NOT_STARTED: (AgentEnd.ENVIRONMENT, "{client} could not be started"),
    Ended.LOST: (AgentEnd.ERROR, "the end of {client} was not seen"),
}

Judge = Callable[[], Finish]
"""Says how a run ended whose process exited by itself: what it printed decides."""
GaveUp = Callable[[str], Trouble | None]
"""What kept the model away, where that is why the run was stopped from outside."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """The end of one process of a client, put into the words that all adapters share."""

    client: str
    process: ProcessResult

    @property
    def after(self) -> str:
        """How long it had run."""
        return f"after {self.process.seconds:.1f} s"

    def judged(self, judge: Judge, gave_up: GaveUp | None = None) -> Finish:
        """The table: how the process ended, and if it exited by itself, what it printed.

        A client that prints that all is well, and is killed all the same, did not end well.
        """
        if self.process.ended is Ended.EXITED:
            finish = judge()
            return replace(finish, message=self._whole(finish.message))
        end, template = _ENDS[self.process.ended]
        name = signal_name(self.process.signal)
        message = self._whole(template.format(client=self.client, signal=name, after=self.after))
        trouble = None if gave_up is None else gave_up(self.process.message)
        if trouble is not None:
            end = AgentEnd.OUTAGE
        return Finish(end=end, message=message, trouble=trouble)

    def finished(self, did: str = "finished") -> Finish:
        """All is well."""
        return Finish(end=AgentEnd.FINISHED, message=f"{self.client} {did} {self.after}")

    def stopped(self, why: str, end: AgentEnd = AgentEnd.BUDGET) -> Finish:
        """The client itself kept a limit."""
        return Finish(end=end, message=f"{self.client} stopped {self.after}: {why}")

    def gave_up(self, trouble: Trouble | None, said: str, where: str = "") -> Finish:
        """It told of an error. Only an outage of the provider is not the agent's own."""
        end = AgentEnd.OUTAGE if trouble is not None and trouble.outage else AgentEnd.ERROR
        named = f"{trouble.value}{where}: " if trouble is not None else ""
        message = f"{self.client} gave up {self.after}: {named}{said}"
        return Finish(end=end, message=message, trouble=trouble)

    def failed(self, what: str, said: str = "") -> Finish:
        """It exited in a way that is not known to be an end of the work."""
        status = f"status {self.process.exit_code}"
        message = f"{self.client} exited with {status} {self.after}{what}"
        return Finish(end=AgentEnd.ERROR, message=f"{message}: {said}" if said else message)

    def _whole(self, message: str) -> str:
        """A message, with what the runner has to say of the process."""
        if self.process.message:
            message += f": {self.process.message}"
        if self.process.leftover_processes:
            message += f"; {self.process.leftover_processes} of its processes had to be killed"
        return message


def signal_name(number: int | None) -> str:
    """A signal's name, if it has one."""
    try:
        return signal.Signals(number or 0).name
    except ValueError:
        return f"signal {number}"


def error_output(output: Path) -> str:
    """The end of what a client wrote to standard error, in one line."""
    return one_line(_read(output / "stderr.txt")[-1000:])


def error_tail(output: Path) -> str:
    """The end of what a client wrote to standard error, as it is."""
    return _read(output / "stderr.txt")


def files_below(folder: Path, pattern: str, most: int = 200) -> list[Path]:
    """The regular files below a folder that an agent could write to: links are not followed.

    However much lies there, only so much of it is looked at.
    """
    try:
        return sorted(islice(_walk(folder, pattern), most))
    except OSError:
        return []


def _walk(folder: Path, pattern: str) -> Iterator[Path]:
    for top, _, files in islice(os.walk(folder), _MOST_FOLDERS):
        for name in files[:_MOST_FILES]:
            path = Path(top, name)
            if path.match(pattern) and path.is_file() and not path.is_symlink():
                yield path


def keep_copy(source: Path, target: Path, most: int) -> None:
    """Copy the beginning of a regular file, if it is there; never through a link."""
    try:
        if source.is_symlink() or not source.is_file():
            return
        with source.open("rb") as file, target.open("wb") as copy:
            shutil.copyfileobj(_Limited(file.read, most), copy)
    except OSError:
        target.unlink(missing_ok=True)


class _Limited:
    def __init__(self, read: Callable[[int], bytes], most: int) -> None:
        self._read, self._left = read, most

    def read(self, size: int = -1) -> bytes:
        data = self._read(min(size, self._left) if size >= 0 else self._left)
        self._left -= len(data)
        return data


def _read(path: Path) -> str:
    try:
        if path.is_symlink() or not path.is_file():
            return ""
        data = path.read_bytes()
    except OSError:
        return ""
    return data[-_TAIL_BYTES:].decode("utf-8", "replace")
