"""Whether a sandbox works: a command that is started like any other and tries to get out."""

from __future__ import annotations

import os
import re
import tempfile
from dataclasses import dataclass
from pathlib import Path

from trialbook.api import (
    Command,
    Ended,
    EnvironmentProblem,
    Limits,
    Network,
    Policy,
    ProcessResult,
    Sandbox,
    Spawn,
    install_command,
)

_PATH = "/usr/local/bin:/usr/bin:/bin"
PROBE_LIMITS = Limits(minutes=1.0, grace_seconds=1.0, output_mb=1.0, memory_mb=200.0, processes=50)
_NUMBERS = re.compile(rb"(\d+)\.(\d+)(?:\.(\d+))?")
_WHAT = {
    "secret": "a file outside can be read",
    "outside": "a file outside can be written",
    "usr": "/usr can be written",
    "sysctl": "the kernel's settings can be written",
    "processes": "processes outside can be seen",
    "network": "there is a network inside",
    "userns": "a user namespace can be made inside",
}

_NO_NAMESPACE = ("uid map", "new namespace", "Operation not permitted", "user namespace")
_SETTINGS = (
    ("user/max_user_namespaces", "0", "15000"),
    ("kernel/unprivileged_userns_clone", "0", "1"),
    ("kernel/apparmor_restrict_unprivileged_userns", "1", "0"),
)

PROBE = r"""
fail() { echo "OPEN $1"; }
if cat "$1/secret" >/dev/null 2>&1; then fail secret; fi
if ( : >>"$1/secret" ) 2>/dev/null; then fail outside; fi
if ( : >/usr/trialbook-probe ) 2>/dev/null; then fail usr; rm -f /usr/trialbook-probe; fi
# Opened for writing, and nothing is written.
if ( : >>/proc/sys/kernel/core_pattern ) 2>/dev/null; then fail sysctl; fi
if [ -e "/proc/$2/stat" ] && grep -q "$3" "/proc/$2/cmdline" 2>/dev/null; then fail processes; fi
if [ "$(grep -c : /proc/net/dev)" != 1 ]; then fail network; fi
echo written >here || echo "NOT the workspace cannot be written"
echo temporary >/tmp/there || echo "NOT /tmp cannot be written"
"""
KERNEL_PROBE = PROBE + "if unshare -U true 2>/dev/null; then fail userns; fi\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Version:
    """A program's version as it writes it, and as numbers."""

    text: str
    numbers: tuple[int, ...]


def version_of(program: str, spawn: Spawn, path: str = _PATH) -> Version:
    """What ``program --version`` says.

    Raises:
        EnvironmentProblem: it is not installed, or says nothing of the kind.
    """
    result, said = said_by((program, "--version"), spawn, path)
    found = _NUMBERS.search(said)
    if not result.ok or found is None:
        missing = result.ended is Ended.NOT_STARTED
        package = "bubblewrap" if program == "bwrap" else program
        raise EnvironmentProblem(
            f"{package} is not installed" if missing else f"{program} --version failed: {said!r}",
            hint=install_command(package),
        )
    numbers = tuple(int(part or 0) for part in found.groups())
    return Version(text=found[0].decode(), numbers=numbers)


def said_by(
    argv: tuple[str, ...],
    spawn: Spawn,
    path: str = _PATH,
    *,
    environment: dict[str, str] | None = None,
    minutes: float = 1.0,
) -> tuple[ProcessResult, bytes]:
    """Run a tool of the host to its end; gives its result, and what it printed (both streams)."""
    with tempfile.TemporaryDirectory() as name:
        output = Path(name, "output")
        command = Command(
            argv=argv,
            cwd=Path("/"),
            environment={"PATH": path, "LC_ALL": "C.UTF-8", **(environment or {})},
            stdout=output,
            stderr=output,
            cleanup=True,
        )
        result = spawn(command, Limits(minutes=minutes, output_mb=1.0))
        return result, output.read_bytes() if output.exists() else b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Probed:
    """What a probe found: ``trouble`` in a sentence, or empty; and what the script said."""

    trouble: str
    said: tuple[str, ...] = ()


def probe(sandbox: Sandbox, spawn: Spawn, script: str = PROBE) -> Probed:
    """Start the script in the sandbox, and see whether it gets out.

    Raises:
        EnvironmentProblem: the sandbox cannot be set up.
    """
    with tempfile.TemporaryDirectory() as name:
        top = Path(name)
        workspace, outside = top / "workspace", top / "outside"
        workspace.mkdir()
        outside.mkdir()
        # Open to everybody: only the sandbox keeps it from being read.
        top.chmod(0o755)
        outside.chmod(0o777)
        secret = outside / "secret"
        secret.write_text("canary")
        secret.chmod(0o666)
        command = Command(
            argv=("/bin/sh", "-c", script, "probe", str(outside), *_runner()),
            cwd=workspace,
            environment={"PATH": _PATH, "HOME": str(workspace)},
            stdout=top / "stdout.txt",
            stderr=top / "stderr.txt",
        )
        policy = Policy(writable=(workspace,), network=Network(mode="none"), limits=PROBE_LIMITS)
        result = sandbox.start(command, policy, spawn)
        said = tail(command.stdout, 2000)
        if not (workspace / "here").exists() or not result.ok:
            why = result.message or tail(command.stderr, 600) or said
            return Probed(trouble=f"a command inside did not run: {why or result.ended.value}")
        lines = said.splitlines()
        wrong = [_WHAT.get(line[5:], line) for line in lines if line.startswith("OPEN ")]
        wrong += [line[4:] for line in lines if line.startswith("NOT ")]
        trouble = f"it does not hold: {'; '.join(wrong)}" if wrong else ""
        return Probed(trouble=trouble, said=tuple(lines))


def advice(trouble: str, settings: Path = Path("/proc/sys")) -> str:
    """What to do about a sandbox that does not come up, by what it said; the command to type."""
    if "disable-userns" in trouble:
        return f"install bubblewrap 0.8.0 or newer, not setuid: {install_command('bubblewrap')}"
    if not any(word in trouble for word in _NO_NAMESPACE):
        return ""
    root = "" if os.geteuid() == 0 else "sudo "
    commands = [
        f"{root}sysctl -w {name.replace('/', '.')}={right}"
        for name, wrong, right in _SETTINGS
        if _setting(settings / name) == wrong
    ]
    if commands:
        return f"let unprivileged users make user namespaces: {' && '.join(commands)}"
    return (
        "this host lets nobody make user namespaces; inside of a container, run trialbook outside "
        "of it, or start that one with --security-opt seccomp=unconfined"
    )


def _setting(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except OSError:
        return ""


def tail(path: Path, size: int) -> str:
    """The end of what a command wrote, as text in one piece."""
    try:
        data = path.read_bytes()
    except OSError:
        return ""
    return data[-size:].decode("utf-8", "replace").strip()


def _runner() -> tuple[str, str]:
    """A process of the host, and a word of its command line: this one."""
    words = Path("/proc/self/cmdline").read_bytes().split(b"\0")
    return str(os.getpid()), os.fsdecode(words[0])
