"""Starts one process with nothing inherited, and says in plain words why it could not be."""

from __future__ import annotations

import errno
import os
import resource
import signal
import stat
import sys

from trialbook.supervision.descendants import facts, processes

TYPE_CHECKING = False  # the name is what type checkers look for; `typing` takes long to import
if TYPE_CHECKING:
    from typing import Any

# The number of keyctl(2), for which the C library has no function.
_KEYCTL = {"x86_64": 250, "aarch64": 219, "riscv64": 219, "ppc64le": 271, "s390x": 280}
_JOIN_SESSION = 1
_NO_KEYS = (errno.ENOSYS, errno.EPERM, errno.EACCES)


class NotStarted(Exception):
    """The process could not be started, and why, in a sentence."""


def open_file(path: bytes, flags: int, what: str) -> int:
    """Open a regular file (or the null device), never through a link, never waiting.

    Raises:
        NotStarted: that is not possible; ``what`` names the file's purpose.
    """
    try:
        file = os.open(path, flags | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
    except OSError as error:
        raise NotStarted(f"the {what} {text(path)} cannot be opened: {error.strerror}") from error
    mode = os.fstat(file).st_mode
    if not stat.S_ISREG(mode) and path != os.devnull.encode():
        os.close(file)
        raise NotStarted(f"the {what} {text(path)} is not a regular file")
    os.set_blocking(file, True)
    return file


def launch(request: dict[str, Any], stdin: int, stdout: int, stderr: int) -> int:
    """Start the process that the request describes; gives its id.

    Raises:
        NotStarted: it could not be.
    """
    ceiling = _process_ceiling(request["processes"])
    reader, writer = os.pipe()
    try:
        pid = os.fork()
    except OSError as error:
        raise NotStarted(f"this system starts no more processes: {error.strerror}") from error
    if pid == 0:
        stage = "cwd"
        try:
            _become(stdin, stdout, stderr)
            os.chdir(request["cwd"])
            stage = "keys"
            _leave_keys()
            stage = "exec"
            _limit(ceiling)
            os.execvpe(request["argv"][0], request["argv"], request["environment"])  # noqa: S606
        except BaseException as error:  # noqa: BLE001 - nothing may get out of this child
            number = getattr(error, "errno", None) or errno.EINVAL
            os.write(writer, f"{stage} {number}".encode())
        finally:
            os._exit(127)
    os.close(writer)
    complaint = os.read(reader, 100)
    os.close(reader)
    if complaint:
        os.waitpid(pid, 0)
        raise NotStarted(_why(request, *complaint.decode().split()))
    return pid


def text(raw: bytes) -> str:
    """A path or a name as text."""
    return raw.decode("utf-8", "backslashreplace")


def _become(stdin: int, stdout: int, stderr: int) -> None:
    # Every other descriptor of this program is closed by exec; Python makes them so.
    os.setsid()
    for number in signal.valid_signals():
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for source, target in ((stdin, 0), (stdout, 1), (stderr, 2)):
        os.dup2(source, target)
    os.umask(0o022)


def _leave_keys() -> None:
    """Begin a session keyring: the kernel's keys of whoever logged in go through every namespace.

    They would be read by an agent, and be a way from one trial to the next.
    """
    number = _KEYCTL.get(os.uname().machine)
    if sys.platform != "linux" or number is None or sys.maxsize < 2**32:
        return
    try:
        import ctypes  # noqa: PLC0415 - as in `descendants`
    except ImportError:
        return
    system = ctypes.CDLL(None, use_errno=True)
    if system.syscall(number, _JOIN_SESSION, None) < 0:
        # Where this is not to be had, the process itself cannot ask for keys either.
        code = ctypes.get_errno()
        if code not in _NO_KEYS:
            raise OSError(code, os.strerror(code))


def _limit(processes: int | None) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if processes is not None:
        resource.setrlimit(resource.RLIMIT_NPROC, (processes, processes))


def _process_ceiling(wanted: int | None) -> int | None:
    # The kernel counts all threads of a user, and does not hold root to the number at all.
    user = os.geteuid()
    if wanted is None or user == 0:
        return None
    for pid in processes():
        try:
            known = facts(pid) if os.stat(f"/proc/{pid}").st_uid == user else None  # noqa: PTH116
        except OSError:
            continue
        wanted += known.threads if known else 0
    hard = resource.getrlimit(resource.RLIMIT_NPROC)[1]
    return wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)


def _why(request: dict[str, Any], stage: str, number: str) -> str:
    code = int(number)
    reason = os.strerror(code)
    if stage == "cwd":
        return f"the working directory {text(request['cwd'])} cannot be entered: {reason}"
    if stage == "keys":
        return f"no keyring of its own can be made for the process: {reason}"
    program: bytes = request["argv"][0]
    name = text(program[:300])
    there = b"/" in program and os.path.lexists(os.path.join(request["cwd"], program))  # noqa: PTH118
    size = sum(len(part) + 1 for part in request["argv"])
    missing = "not there" if b"/" in program else "not found on the PATH"
    reasons = {
        errno.ENOENT: f"the program {name} is {missing}",
        errno.ENOEXEC: f"{name} is no program that runs here (a script needs a #! line)",
        errno.E2BIG: f"the arguments are too long for this system ({size} bytes); "
        "pass the prompt by file or on standard input",
    }
    if code == errno.ENOENT and there:
        return f"{name} is there, but what its first line or header names to run it with is not"
    return reasons.get(code, f"the program {name} cannot be started: {reason}")
