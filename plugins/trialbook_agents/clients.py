"""What all clients have in common: being found, asked for their version, and ending somehow."""

from __future__ import annotations

import os
import re
import shutil
import signal
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from trialbook.api import (
    AgentEnd,
    Client,
    Command,
    Ended,
    EnvironmentProblem,
    Limits,
    ProcessResult,
    Spawn,
    operator_environment,
)
from trialbook_agents.shapes import one_line

PROGRAM: dict[str, Any] = {
    "type": "string",
    "minLength": 1,
    "description": (
        "The client's program: a path (`~/` is the home of whoever runs the evaluation), or a name "
        "that is looked for on the PATH."
    ),
}

_VERSION = re.compile(r"\b\d+\.\d+[0-9A-Za-z.+-]*")
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Finish:
    """How a run ended, and why, in one sentence."""

    end: AgentEnd
    message: str


_ENDS: dict[Ended, tuple[AgentEnd, str]] = {
    Ended.SIGNALLED: (AgentEnd.ERROR, "{client} was ended by {signal} after {seconds:.1f} s"),
    Ended.TIMED_OUT: (AgentEnd.TIMED_OUT, "{client} was stopped after {seconds:.1f} s"),
    Ended.CANCELLED: (AgentEnd.CANCELLED, "{client} was cancelled after {seconds:.1f} s"),
    Ended.STOPPED: (AgentEnd.BUDGET, "{client} was stopped after {seconds:.1f} s"),
    Ended.NOT_STARTED: (AgentEnd.ENVIRONMENT, "{client} could not be started"),
    Ended.LOST: (AgentEnd.ERROR, "the end of {client} was not seen"),
}


def finish_of(process: ProcessResult, client: str) -> Finish | None:
    """What the way in which the process ended says; None if it exited by itself.

    What it printed decides then. A client that prints that all is well, and is killed all the same,
    did not end well.
    """
    if process.ended is Ended.EXITED:
        return None
    end, template = _ENDS[process.ended]
    message = template.format(
        client=client, signal=signal_name(process.signal), seconds=process.seconds
    )
    return Finish(end=end, message=told(message, process))


def told(message: str, process: ProcessResult) -> str:
    """A message, with what the runner has to say of the process."""
    if process.message:
        message += f": {process.message}"
    if process.leftover_processes:
        message += f"; {process.leftover_processes} of its processes had to be killed"
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
