"""The one door to other processes: trusted tools, git, and supervised commands of a trial.

The one importer of `subprocess`. Every child gets an environment made for it, never the runner's.

On Linux nothing that a supervised command starts outlives it. Elsewhere only its process group is
ended, and a daemon in a session of its own gets away.
"""

from __future__ import annotations

import atexit
import contextlib
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO, Any

from trialbook.errors import EnvironmentProblem
from trialbook.model.process import Command, Ended, ProcessResult
from trialbook.model.suite import Limits
from trialbook.supervision import adoption
from trialbook.supervision.forked import Child, Forked, ForkServer
from trialbook.supervision.forkserver import SERVE
from trialbook.supervision.protocol import printable, read_report, request_bytes
from trialbook.supervision.watch import END, KILL_SECONDS, clock, ticks

_SCRIPT = Path(__file__).with_name("supervisor.py")
_SUPERVISOR = (sys.executable, "-I", "-S", "-B", str(_SCRIPT))
_TERM_SECONDS = 2.0
_TICK_MILLISECONDS = 100
_SLACK_SECONDS = 15.0
_REPORT_BYTES = 1 << 16

# Held while a child is made, so that nobody ever sees a child that is not in the list yet.
_lock = threading.RLock()
_children: set[int] = set()


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolResult:
    """What a tool said. ``code`` is its exit status, negative for the signal that ended it.

    ``seconds`` is how long it took.
    """

    code: int
    stdout: bytes
    stderr: bytes
    seconds: float = 0.0

    @property
    def complaint(self) -> str:
        """Its standard error in one line that is safe to print."""
        return printable(self.stderr)


def run(
    command: Command, limits: Limits, *, cancel: threading.Event | None = None
) -> ProcessResult:
    """Run an untrusted command to its end; nothing that it started is left afterwards.

    Enforced of ``limits``: ``minutes`` (then SIGTERM, ``grace_seconds``, SIGKILL for all of it),
    ``output_mb`` for each of the two files, and ``processes`` as far as the system does it: for
    all processes of the user together, and not for root. Call it from as many threads as wanted.

    Args:
        command: What to run.
        limits: Its ceilings.
        cancel: Setting it ends the command as a time limit would, unless it is a cleanup.

    Returns:
        How it ended. A command that cannot be started is a result too, with the reason in its
        ``message``. Peak memory is never below the supervisor's own, about 10 MB.
    """
    adoption.adopt_orphans(os.getpid())
    begun = clock()
    if command.cleanup:
        cancel = None
    try:
        request = request_bytes(command, limits)
        with _supervisor() as child:
            since = ticks()
            report = _converse(child, request, limits, cancel)
    except (ValueError, EnvironmentProblem) as problem:
        return ProcessResult(ended=Ended.NOT_STARTED, message=str(problem))
    result = read_report(report)
    if result is not None:
        return result if _is_true(result, cancel) else replace(result, ended=Ended.LOST)
    with _lock:
        swept = adoption.sweep(since, _children | _server.known())
    lost = _lost(command, child.poll() or 0, report)
    return replace(lost, seconds=round(clock() - begun, 3), leftover_processes=swept)


def tool(
    argv: Sequence[str],
    *,
    cwd: Path,
    environment: Mapping[str, str],
    stdin: bytes | None = None,
    timeout: float = 600.0,
) -> ToolResult:
    """Run a tool of our own (git, pip, tar) to its end, output in memory.

    Args:
        argv: The program, found by the PATH of ``environment`` unless it is a path, and arguments.
        cwd: Its working directory.
        environment: Its whole environment; nothing is inherited.
        stdin: What it reads; by default nothing.
        timeout: Seconds until it is ended, with its process group.

    Raises:
        EnvironmentProblem: it cannot be started, or takes too long. A status that is not zero is
            the caller's to judge.
    """
    begun = clock()
    with _child(
        list(argv),
        cwd=cwd,
        env=dict(environment),
        stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as child:
        try:
            stdout, stderr = child.communicate(stdin, timeout)
        except subprocess.TimeoutExpired:
            raise EnvironmentProblem(
                f"{argv[0]} took longer than {timeout:g} seconds and was ended",
                hint=f"it was run as: {_shown(argv)}",
            ) from None
        seconds = clock() - begun
        return ToolResult(code=child.returncode, stdout=stdout, stderr=stderr, seconds=seconds)


def at_terminal(argv: Sequence[str], *, cwd: Path, environment: Mapping[str, str]) -> int:
    """Let a person use a program (an editor, say) at the terminal, and give its exit status."""
    return subprocess.run(argv, cwd=cwd, env=dict(environment), check=False).returncode  # noqa: S603


def git(
    arguments: Sequence[str],
    *,
    git_folder: Path,
    cwd: Path | None = None,
    environment: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    timeout: float = 600.0,
) -> bytes:
    """Run C git on a git folder that is ours, and give its standard output.

    No configuration but that folder's is read: not the user's, not the system's, not a workspace's.
    No hook, file system monitor, pager, prompt or background process is started.

    Args:
        arguments: What follows ``git``.
        git_folder: Becomes GIT_DIR. Never one that an agent could write to.
        cwd: The working directory (git takes it for the work tree if GIT_WORK_TREE is not set); by
            default the git folder.
        environment: More variables: GIT_INDEX_FILE, GIT_WORK_TREE and the like.
        stdin: What it reads; by default nothing.
        timeout: Seconds until it is ended.

    Raises:
        EnvironmentProblem: git is missing, fails (with what it said), or takes too long.
    """
    program = _git_program()
    result = tool(
        [program, *_GIT_SETTINGS, *arguments],
        cwd=cwd or git_folder,
        environment={**_GIT_ENVIRONMENT, "GIT_DIR": str(git_folder), **(environment or {})},
        stdin=stdin,
        timeout=timeout,
    )
    if result.code != 0:
        raise EnvironmentProblem(
            f"git {arguments[0] if arguments else ''} failed with status {result.code}: "
            f"{result.complaint or 'it said nothing'}"
        )
    return result.stdout


def git_version() -> str | None:
    """The version of the git executable (``2.39.5``), or None if there is none that works."""
    try:
        said = tool(
            [_git_program(), "--version"], cwd=Path("/"), environment=_GIT_ENVIRONMENT, timeout=30
        )
    except EnvironmentProblem:
        return None
    words = said.stdout.decode("utf-8", "replace").split()
    return words[2] if said.code == 0 and len(words) > 2 else None  # noqa: PLR2004 - "git version X"


# --- supervised commands ----------------------------------------------------------------------


@contextlib.contextmanager
def _supervisor() -> Iterator[Child]:
    with contextlib.ExitStack() as stack:
        child: Child | None = _forked(stack)
        if child is None:
            options = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "bufsize": 0}
            started = _child(_SUPERVISOR, cwd="/", env={}, stdin=subprocess.PIPE, **options)
            child = stack.enter_context(started)
        try:
            yield child
        finally:
            # However we got here: without us it kills everything and goes.
            _pipe(child.stdin).close()
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(KILL_SECONDS + _SLACK_SECONDS)
            if child.poll() is None:
                child.kill()
                child.wait()


def _forked(stack: contextlib.ExitStack) -> Forked | None:
    """A supervisor of the fork server, until the stack is closed; None where there can be none."""
    with _lock:
        try:
            child = _server.fork()
        except (OSError, EnvironmentProblem):
            return None
        _children.add(child.pid)
    stack.callback(_children.discard, child.pid)
    stack.callback(child.stdout.close)
    return child


def _start_server(channel: socket.socket) -> subprocess.Popen[bytes]:
    nothing = subprocess.DEVNULL
    argv = [*_SUPERVISOR, SERVE]
    child = _started(argv, cwd="/", env={}, stdin=channel, stdout=nothing, stderr=nothing)
    _children.discard(child.pid)  # the server knows it
    return child


def _converse(
    child: Child, request: bytes, limits: Limits, cancel: threading.Event | None
) -> bytes:
    control, answer = _pipe(child.stdin), _pipe(child.stdout)
    with contextlib.suppress(BrokenPipeError):
        control.write(request)
        control.flush()
    patience = None
    if limits.minutes is not None:
        patience = clock() + limits.minutes * 60 + limits.grace_seconds + KILL_SECONDS
    poll = select.poll()
    poll.register(answer, select.POLLIN)
    said = b""
    asked = False
    while not said.endswith(END) and len(said) < _REPORT_BYTES:
        if poll.poll(_TICK_MILLISECONDS):
            part = os.read(answer.fileno(), 4096)
            if not part:
                break
            said += part
        elif child.poll() is not None and not poll.poll(0):
            # It is gone, and what it may have said since the last look is read; somebody else
            # holds its end of the pipe.
            break
        elif patience is not None and clock() > patience + _SLACK_SECONDS:
            child.kill()
        else:
            child.send_signal(signal.SIGCONT)  # whoever stopped it, it has a limit to keep
        if cancel is not None and cancel.is_set() and not asked:
            asked = True
            with contextlib.suppress(BrokenPipeError):
                control.write(b"c")
                control.flush()
    return said


def _is_true(result: ProcessResult, cancel: threading.Event | None) -> bool:
    # A trial that was cancelled may be had again; who else could have asked for that but its agent?
    return result.ended is not Ended.CANCELLED or (cancel is not None and cancel.is_set())


def _lost(command: Command, code: int, report: bytes) -> ProcessResult:
    how = f"by signal {-code}" if code < 0 else f"with status {code}"
    tail = f": {printable(report[-500:])}" if report else ""
    sizes = [_size(path) for path in dict.fromkeys((command.stdout, command.stderr))]
    return ProcessResult(
        ended=Ended.LOST,
        stdout_bytes=sizes[0],
        stderr_bytes=sizes[1] if len(sizes) > 1 else 0,
        message=f"the process that supervises it was ended {how}{tail}",
    )


def _size(path: Path) -> int:
    with contextlib.suppress(OSError):
        return path.lstat().st_size
    return 0


# --- children ---------------------------------------------------------------------------------


@contextlib.contextmanager
def _child(argv: Sequence[str], **options: Any) -> Iterator[subprocess.Popen[bytes]]:  # noqa: ANN401
    """A child in a session of its own, on the list of our children; over when the block is left."""
    child = _started(argv, **options)
    try:
        yield child
    finally:
        _end(child)
        with _lock:
            _children.discard(child.pid)


def _started(argv: Sequence[str], **options: Any) -> subprocess.Popen[bytes]:  # noqa: ANN401
    try:
        with _lock:
            child = subprocess.Popen(argv, start_new_session=True, **options)  # noqa: S603
            _children.add(child.pid)
    except FileNotFoundError as error:
        if error.filename == options["cwd"]:
            raise EnvironmentProblem(f"the folder {options['cwd']} is not there") from error
        raise EnvironmentProblem(f"{argv[0]} is not installed, or not on the PATH") from error
    except (OSError, ValueError) as error:
        raise EnvironmentProblem(f"{argv[0]} cannot be started: {error}") from error
    return child


def _pipe(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:  # pragma: no cover - every child of ours has these
        raise EnvironmentProblem("a child without a pipe")
    return stream


def _end(child: subprocess.Popen[bytes]) -> None:
    """End a child that still runs, with its group. SIGTERM first: git then removes its locks."""
    if child.poll() is None:
        for number in (signal.SIGTERM, signal.SIGKILL):
            with contextlib.suppress(ProcessLookupError):
                os.killpg(child.pid, number)
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(_TERM_SECONDS)
    for stream in (child.stdin, child.stdout, child.stderr):
        if stream is not None:
            with contextlib.suppress(OSError):
                stream.close()


def _git_program() -> str:
    program = shutil.which("git")
    if program is None:
        raise EnvironmentProblem(
            "git is not installed, or not on the PATH", hint="install git 2.30 or newer"
        )
    return program


def _shown(argv: Sequence[str]) -> str:
    return printable(" ".join(argv)[:300].encode("utf-8", "surrogateescape"))


_GIT_SETTINGS = (
    "-c",
    "core.hooksPath=/dev/null",
    "-c",
    "core.fsmonitor=false",
    "-c",
    "core.attributesFile=/dev/null",
    "-c",
    "core.excludesFile=/dev/null",
    "-c",
    "gc.auto=0",
    "-c",
    "maintenance.auto=false",
)
_GIT_ENVIRONMENT = {
    "PATH": os.defpath,
    "HOME": "/dev/null",
    "LC_ALL": "C",
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_NO_REPLACE_OBJECTS": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_PAGER": "cat",
}

_server = ForkServer(_start_server)
atexit.register(_server.close)
