"""The programs that run containers here, podman or docker: found by running a container.

Their command line is the only interface: no library, no socket of ours.
"""

from __future__ import annotations

import hashlib
import os
import resource
import secrets
import shutil
import tempfile
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trialbook.api import Command, EnvironmentProblem, ProcessResult, Spawn, install_command
from trialbook_sandboxes.probing import said_by
from trialbook_sandboxes.skeleton import image_name, skeleton

CHOICE_VARIABLE = "TRIALBOOK_CONTAINER"
HOST_LABEL = "trialbook.host"
NAME_PREFIX = "trialbook-"

_KINDS = ("podman", "docker")
_PATH = "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"
# What a client needs to find its server, storage and settings. Nothing of it gets inside.
_CLIENT_NAMES = frozenset(
    (
        *("HOME", "PATH", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME"),
        *("DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH"),
        *("DOCKER_TLS_VERIFY", "CONTAINER_HOST", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF"),
        "DBUS_SESSION_BUS_ADDRESS",
    )
)
_TAIL = 300
_MOST_FILES = 4096
_MOST_PROCESSES = 4096
_TRIES = 3
_REST_SECONDS = 0.5

_lock = threading.Lock()
_known: dict[tuple[object, ...], Engine] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """A program that runs containers here, with the options that it needs for it."""

    kind: str
    program: str
    version: str
    options: tuple[str, ...]
    environment: Mapping[str, str]
    image: str

    def argv(self, *arguments: str) -> tuple[str, ...]:
        """A whole command line."""
        return (self.program, *self.options, *arguments)

    def command(self, arguments: Sequence[str], like: Command) -> Command:
        """A command of the engine that reads and writes what another one would."""
        return Command(
            argv=self.argv(*arguments),
            cwd=Path("/"),
            environment=self.environment,
            stdin=like.stdin,
            stdout=like.stdout,
            stderr=like.stderr,
            cleanup=like.cleanup,
        )

    def ask(self, spawn: Spawn, *arguments: str) -> tuple[ProcessResult, str]:
        """Run a short command of the engine, come what may; gives what it printed, too."""
        result, said = said_by(self.argv(*arguments), spawn, environment=dict(self.environment))
        return result, said.decode("utf-8", "replace").strip()

    def remove(self, spawn: Spawn, *names: str) -> bool:
        """End containers at once, and remove them; whether they are gone, as they may have been."""
        at_once = ("--time", "0") if self.kind == "podman" else ()
        for _ in range(_TRIES):
            if self.ask(spawn, "rm", "--force", *at_once, *names)[0].ok:
                return True
            left = self._ours(spawn)
            if left is not None and left.isdisjoint(names):
                return True
            threading.Event().wait(_REST_SECONDS)
        return False

    def sweep(self, spawn: Spawn) -> bool:
        """Remove the containers that runners of this host have left which are no more.

        Gives whether they are gone.
        """
        ours = self._ours(spawn)
        if ours is None:
            return False
        stale = [name for name in sorted(ours) if name.startswith(NAME_PREFIX) and is_dead(name)]
        return self.remove(spawn, *stale) if stale else True

    def _ours(self, spawn: Spawn) -> set[str] | None:
        """The containers of this host's runners, those that ended too; None if nobody answers."""
        label = f"label={HOST_LABEL}={this_host()}"
        result, said = self.ask(spawn, "ps", "--all", "--filter", label, "--format", "{{.Names}}")
        return set(said.split()) if result.ok else None


def working_engine(environment: Mapping[str, str], spawn: Spawn, only: str | None = None) -> Engine:
    """The first engine with which a container can be run; tried once for each surroundings.

    Args:
        environment: The operator's.
        spawn: How its commands are run.
        only: The kind that it shall be; by default what ``TRIALBOOK_CONTAINER`` says, or any.

    Raises:
        EnvironmentProblem: there is none; says of each why not.
    """
    chosen = only or environment.get(CHOICE_VARIABLE)
    if chosen not in (None, "", *_KINDS):
        raise EnvironmentProblem(
            f"{CHOICE_VARIABLE} is {chosen!r}", hint=f"name one of {', '.join(_KINDS)}"
        )
    client = {name: value for name, value in environment.items() if name in _CLIENT_NAMES}
    key = (chosen, *sorted(client.items()))
    with _lock:
        if key not in _known:
            _known[key] = _find([chosen] if chosen else list(_KINDS), client, spawn)
        return _known[key]


def new_name() -> str:
    """A name for a container that says whose it is: the runner's process and its start."""
    return f"{NAME_PREFIX}{os.getpid()}-{_started(os.getpid())}-{secrets.token_hex(4)}"


def this_host() -> str:
    """A word for the processes that this one can see: only of these can it say which are dead."""
    try:
        machine = Path("/etc/machine-id").read_text(encoding="ascii").strip()
    except OSError:
        machine = os.uname().nodename
    namespace = os.stat("/proc/self/ns/pid").st_ino  # noqa: PTH116 - a link that leads nowhere
    return hashlib.sha256(f"{machine} {namespace}".encode()).hexdigest()[:16]


def _find(kinds: Sequence[str], client: Mapping[str, str], spawn: Spawn) -> Engine:
    reasons: list[str] = []
    archive = skeleton()
    for kind in kinds:
        program = shutil.which(kind, path=client.get("PATH") or _PATH) or shutil.which(
            kind, path=_PATH
        )
        if program is None:
            reasons.append(f"{kind} is not installed")
            continue
        for options in _variants(kind):
            engine = Engine(
                kind=kind,
                program=program,
                version="",
                options=options,
                environment=client,
                image=image_name(archive),
            )
            version, trouble = _tried(engine, archive, spawn)
            if not trouble:
                return Engine(
                    kind=kind,
                    program=program,
                    version=version,
                    options=options,
                    environment=client,
                    image=engine.image,
                )
            with_runtime = f" with {options[-1]}" if "--runtime" in options else ""
            reasons.append(f"{kind}{with_runtime}: {trouble}")
    raise EnvironmentProblem("; ".join(reasons), hint=_advice("; ".join(reasons), client))


def _advice(reasons: str, environment: Mapping[str, str]) -> str:
    """What makes an engine work, as a command to type where that can be told."""
    root = "" if os.geteuid() == 0 else "sudo "
    if "cgroups in hybrid mode" in reasons and shutil.which("runc", path=_PATH) is None:
        return install_command("runc")
    if "permission denied" in reasons and "docker" in reasons and root:
        return f"{root}usermod -aG docker $USER, and log in again"
    if "podman is not installed" in reasons:
        return install_command("podman", "runc", "uidmap")
    if "Cannot connect to the Docker daemon" in reasons:
        if environment.get("DOCKER_HOST"):
            return "start the server that DOCKER_HOST names, or unset DOCKER_HOST"
        by_systemd = Path("/run/systemd/system").is_dir()
        return f"{root}systemctl start docker" if by_systemd else f"{root}service docker start"
    return "see what `podman run --rm --network none IMAGE true` says"


def _variants(kind: str) -> list[tuple[str, ...]]:
    if kind != "podman":
        return [()]
    # Its warnings would stand in what the command itself wrote.
    quiet = ("--log-level", "error")
    # crun refuses hosts that have both versions of control groups; runc does not.
    runc = shutil.which("runc", path=_PATH)
    return [quiet, *([(*quiet, "--runtime", runc)] if runc else [])]


def _tried(engine: Engine, archive: bytes, spawn: Spawn) -> tuple[str, str]:
    """The engine's version, and what keeps it from running a container, if anything does."""
    asked = "{{.Client.Version}}" if engine.kind == "podman" else "{{.Server.Version}}"
    result, version = engine.ask(spawn, "version", "--format", asked)
    version = _last_line(version)
    if not result.ok:
        return "", version or "it does not answer"
    result, _ = engine.ask(spawn, "image", "inspect", engine.image)
    if not result.ok:
        with tempfile.TemporaryDirectory() as name:
            path = Path(name, "skeleton.tar")
            path.write_bytes(archive)
            result, said = engine.ask(spawn, "import", str(path), engine.image)
        if not result.ok:
            return version, f"it takes no image: {_last_line(said)}"
    name = new_name()
    try:
        result, said = engine.ask(
            spawn,
            *("run", "--name", name, "--label", f"{HOST_LABEL}={this_host()}"),
            *("--pull", "never", "--network", "none", *ulimits()),
            *("--mount", "type=bind,source=/usr,target=/usr,readonly"),
            *(engine.image, "/bin/sh", "-c", "exit 0"),
        )
    finally:
        engine.remove(spawn, name)
    return version, "" if result.ok else _last_line(said) or f"it ended with {result.exit_code}"


def ulimits() -> tuple[str, ...]:
    """The limits that a container starts with; without CAP_SYS_RESOURCE none can be raised.

    Engines lower their own ceilings on the way, so less is asked for than this process could have.
    """
    words: list[str] = ["--ulimit", "core=0:0"]
    for name, kind, most in (
        ("nofile", resource.RLIMIT_NOFILE, _MOST_FILES),
        ("nproc", resource.RLIMIT_NPROC, _MOST_PROCESSES),
    ):
        hard = resource.getrlimit(kind)[1]
        value = most if hard == resource.RLIM_INFINITY else min(hard, most)
        words += ("--ulimit", f"{name}={value}:{value}")
    return tuple(words)


def is_dead(name: str) -> bool:
    """Whether the runner that a container's name is about is no more."""
    owner, _, rest = name.removeprefix(NAME_PREFIX).partition("-")
    return not owner.isdigit() or _started(int(owner)) != rest.partition("-")[0]


def _started(pid: int) -> str:
    """When a process of this host started, in the kernel's ticks; empty if there is none."""
    try:
        line = Path("/proc", str(pid), "stat").read_bytes()
    except OSError:
        return ""
    return line[line.rindex(b")") + 2 :].split()[19].decode()


def _last_line(text: str) -> str:
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    return lines[-1][-_TAIL:] if lines else ""
