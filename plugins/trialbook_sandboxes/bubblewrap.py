"""The sandbox that bubblewrap makes: namespaces of an unprivileged user, and no more than that.

The command sees its writable folders, what it may read, the system's programs and libraries, and
fresh memory for temporary files. It has process, network and other namespaces of its own, no
capability, and cannot get one by making a user namespace. All of it dies with the supervisor that
started it.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from trialbook.api import (
    Availability,
    Command,
    Ended,
    EnvironmentProblem,
    Policy,
    ProcessResult,
    Spawn,
    install_command,
    operator_environment,
)
from trialbook_sandboxes import cgroups, probing
from trialbook_sandboxes.etc import HOST_NAME, INNER_ID, made_mounts
from trialbook_sandboxes.identity import Identity, identity
from trialbook_sandboxes.mounts import (
    Mount,
    mounts_of,
    system_folders,
    system_links,
    system_mounts,
)
from trialbook_sandboxes.programs import trouble_with
from trialbook_sandboxes.staging import (
    ARGUMENTS_FD,
    STATUS_FD,
    TOOL_PATH,
    Lead,
    Private,
    private_folder,
    script,
    staged,
    unreadable,
)
from trialbook_sandboxes.way_out import led_out, processes_of, socket_mounts

TEMPORARY_BYTES = 512_000_000
"""The size of ``/tmp``, and of each scratch folder; it is memory, and counts as such."""

_SHARED_BYTES = 64_000_000
_OLDEST = (0, 8, 0)
_TAIL = 2000


class BubblewrapSandbox:
    """Runs every command in namespaces of its own, as an unprivileged user."""

    name = "bubblewrap"

    def available(self, spawn: Spawn) -> Availability:
        """Run a command that tries to get out, with the arguments that trials get."""
        try:
            version = probing.version_of("bwrap", spawn, TOOL_PATH)
            if version.numbers < _OLDEST:
                return _unusable(
                    f"bubblewrap {version.text} is too old",
                    f"install bubblewrap 0.8.0 or newer: {install_command('bubblewrap')}",
                )
            who = identity(operator_environment())
            _tools(who)
            groups = cgroups.controllers()
            cgroups.sweep(groups)
            trouble = probing.probe(self, spawn, probing.KERNEL_PROBE).trouble
        except EnvironmentProblem as problem:
            return _unusable(problem.message, problem.hint)
        if trouble:
            return _unusable(trouble, probing.advice(trouble))
        return Availability(
            ok=True,
            reason=_told(version.text, who, groups),
            isolated=True,
            network=True,
            limits=("minutes", "output_mb", "processes", *_memory(groups)),
        )

    def start(self, command: Command, policy: Policy, spawn: Spawn) -> ProcessResult:
        """Run the command inside.

        Raises:
            EnvironmentProblem: the sandbox cannot be set up.
        """
        who = identity(operator_environment(), evaluator=policy.evaluator)
        mounts = mounts_of(policy)
        if trouble := trouble_with(command, mounts):
            return ProcessResult(ended=Ended.NOT_STARTED, message=trouble)
        if closed := unreadable(mounts, who):
            raise EnvironmentProblem(
                f"the sandbox's user {who.name} may not read {closed}",
                hint="open it to everybody (chmod -R a+rX), or run trialbook with umask 022",
            )
        limits, processes = policy.limits, processes_of(policy)
        groups = cgroups.controllers()
        with (
            private_folder(who) as private,
            cgroups.group(groups, memory_mb=limits.memory_mb, processes=processes) as group,
        ):
            ceiling = None if "processes" in groups.folders else processes
            lead, inner = _enter(command, policy, mounts, private, who)
            inner = [*inner, *_last_steps(ceiling), *led_out(policy, command.argv)]
            lead = replace(lead, entrances=group.entrances if group else ())
            result = spawn(
                Command(
                    argv=("/bin/sh", "-c", script(private, who, lead, inner), "sandbox"),
                    cwd=Path("/"),
                    environment={"PATH": TOOL_PATH},
                    stdin=command.stdin,
                    stdout=command.stdout,
                    stderr=command.stderr,
                    cleanup=command.cleanup,
                ),
                replace(limits, processes=None),
            )
            killed = group is not None and group.memory_killed
            return _judged(result, command, private, memory_killed=killed)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Something that is put at a path inside: the arguments that do it."""

    path: Path
    arguments: tuple[str, ...]


def _enter(
    command: Command, policy: Policy, mounts: Sequence[Mount], private: Private, who: Identity
) -> tuple[Lead, list[str]]:
    """Write bubblewrap's arguments; gives what has to happen before, and the command line."""
    is_open = policy.network.mode == "open"
    home = command.environment.get("HOME", "/")
    etc = [
        *system_mounts(names=is_open),
        *made_mounts(private, uid=INNER_ID, gid=INNER_ID, home=home),
    ]
    reachable, steps = staged([*etc, *mounts, *socket_mounts(policy)], private, who)
    places = [_bound(mount) for mount in reachable]
    places += [_memory_at(path, TEMPORARY_BYTES) for path in policy.scratch]
    arguments = [
        *_NAMESPACES,
        *(() if is_open else ("--unshare-net",)),
        *_system(),
        *_in_order(places),
        *("--remount-ro", "/dev", "--remount-ro", "/"),
        *("--chdir", str(command.cwd)),
    ]
    for name, value in command.environment.items():
        arguments += ("--setenv", name, value)
    private.write_arguments(arguments)
    lead = Lead(writable=[mount.source for mount in mounts if mount.writable], mounts=steps)
    return lead, ["bwrap", "--args", str(ARGUMENTS_FD), "--"]


_NAMESPACES = (
    *("--unshare-user", "--unshare-ipc", "--unshare-pid", "--unshare-uts", "--unshare-cgroup-try"),
    *("--disable-userns", "--uid", str(INNER_ID), "--gid", str(INNER_ID), "--cap-drop", "ALL"),
    *("--die-with-parent", "--new-session", "--clearenv", "--hostname", HOST_NAME),
    *("--json-status-fd", str(STATUS_FD)),
)


def _system() -> list[str]:
    arguments: list[str] = []
    for folder in system_folders():
        arguments += ("--ro-bind", str(folder), str(folder))
    for says, path in system_links():
        arguments += ("--symlink", says, path)
    arguments += ("--proc", "/proc", "--dev", "/dev")
    for path, size in (("/dev/shm", _SHARED_BYTES), ("/tmp", TEMPORARY_BYTES)):  # noqa: S108
        arguments += _memory_at(Path(path), size).arguments
    for path in ("/etc", "/run", "/var"):
        arguments += ("--perms", "0755", "--dir", path)
    return [*arguments, "--symlink", "../tmp", "/var/tmp"]  # noqa: S108


def _bound(mount: Mount) -> _Place:
    how = "--bind" if mount.writable else "--ro-bind"
    return _Place(path=mount.target, arguments=(how, str(mount.source), str(mount.target)))


def _memory_at(path: Path, size: int) -> _Place:
    arguments = ("--perms", "1777", "--size", str(size), "--tmpfs", str(path))
    return _Place(path=path, arguments=arguments)


def _in_order(places: Sequence[_Place]) -> list[str]:
    """The arguments, parents first; folders on the way are made, open to be passed through."""
    arguments: list[str] = []
    there: set[Path] = {Path("/"), *map(Path, ("/etc", "/run", "/var", "/tmp", "/usr"))}  # noqa: S108
    covered: list[Path] = []
    for place in sorted(places, key=lambda place: len(place.path.parts)):
        for folder in reversed(place.path.parents):
            inside = any(folder.is_relative_to(one) for one in covered)
            if folder not in there and not inside:
                arguments += ("--perms", "0755", "--dir", str(folder))
                there.add(folder)
        arguments += place.arguments
        covered.append(place.path)
    return arguments


def _last_steps(processes: int | None) -> list[str]:
    """What runs inside before the command: SIGTERM is heard again, processes are limited."""
    steps = ["/usr/bin/env", "--default-signal=TERM"]
    if processes is not None:
        # One for the namespace's first process, which is the sandbox's.
        steps += ["/usr/bin/prlimit", f"--nproc={processes + 1}", "--"]
    return steps


def _judged(
    result: ProcessResult, command: Command, private: Private, *, memory_killed: bool
) -> ProcessResult:
    """The result as that of the command; a sandbox that did not come up is told apart."""
    result = replace(result, leftover_processes=None, memory_killed=memory_killed)
    if result.ended is not Ended.EXITED or result.ok or memory_killed:
        return result
    status = private.status.read_text() if private.status.exists() else ""
    if '"exit-code"' in status:
        return result
    said = probing.tail(command.stderr, _TAIL)
    return replace(
        result,
        ended=Ended.NOT_STARTED,
        exit_code=None,
        message=f"the sandbox could not be set up: {said or 'it said nothing'}",
    )


def _tools(who: Identity) -> None:
    wanted = ["env", "prlimit", *(("setpriv", "unshare", "mount", "chown") if who.dropped else ())]
    missing = [tool for tool in wanted if shutil.which(tool, path=TOOL_PATH) is None]
    if missing:
        raise EnvironmentProblem(
            f"{', '.join(missing)} is not installed, and bubblewrap is started by way of it",
            hint=install_command("util-linux", "coreutils"),
        )


def _memory(groups: cgroups.Controllers) -> tuple[str, ...]:
    return ("memory_mb",) if "memory_mb" in groups.folders else ()


def _told(version: str, who: Identity, groups: cgroups.Controllers) -> str:
    by_group = f"by cgroup v{groups.version}"
    limits = [
        f"memory {by_group if 'memory_mb' in groups.folders else 'unenforced'}",
        f"processes {by_group if 'processes' in groups.folders else 'by rlimit'}",
    ]
    other = ""
    if who.dropped:
        with contextlib.suppress(EnvironmentProblem):
            grading = identity(operator_environment(), evaluator=True)
            other = f", grading as {grading.name}" if grading != who else ""
    return f"bubblewrap {version} (user {who.name}{other}, {', '.join(limits)})"


def _unusable(reason: str, hint: str) -> Availability:
    return Availability(ok=False, reason=reason, hint=hint)
