"""The sandbox that podman or docker makes, by their command line.

The command sees its own folders, what it may read, the system's programs and libraries of the host
laid into an empty image, and fresh memory for temporary files. Every container has a name that
says whose it is, and is removed when its command is over; what a killed runner left is removed by
the next one.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trialbook.api import (
    Availability,
    Command,
    Ended,
    EnvironmentProblem,
    ImageSource,
    Policy,
    ProcessResult,
    ReadyImage,
    Spawn,
    operator_environment,
)
from trialbook_sandboxes import probing
from trialbook_sandboxes.engines import (
    HOST_LABEL,
    Engine,
    new_name,
    this_host,
    ulimits,
    working_engine,
)
from trialbook_sandboxes.etc import HOST_NAME, made_mounts
from trialbook_sandboxes.identity import Identity, identity
from trialbook_sandboxes.images import ready_image
from trialbook_sandboxes.left_behind import forget, left_behind, note
from trialbook_sandboxes.mounts import Mount, mounts_of, system_folders, system_mounts
from trialbook_sandboxes.programs import trouble_with
from trialbook_sandboxes.staging import Private, hand_over, private_folder, unreadable
from trialbook_sandboxes.way_out import processes_of, socket_mounts, way_laid

TEMPORARY_BYTES = 512_000_000
"""The size of ``/tmp``, and of each scratch folder; it is memory, and counts as such."""

_START = Path("/run/trialbook-start")
_STATUS = Path("/run/trialbook-status")
_OOM_KILL = re.compile(r"^oom_kill [1-9]", re.MULTILINE)
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_TAIL = 2000
_NO_PROGRAM = "no such program"
_THERE = f"""\
command -v "$1" >/dev/null 2>&1 || {{ echo "{_NO_PROGRAM}" >{_STATUS}; exit 127; }}
"""
# The container's first process. It hears SIGTERM for the command, which as the first process
# itself would be deaf to it, and takes note of orphans.
_FIRST = """\
exec 3<&0
trap 'kill -TERM "$child" 2>/dev/null' TERM
"$@" <&3 3<&- &
child=$!
exec 3<&-
while :; do
  wait "$child"; code=$?
  kill -0 "$child" 2>/dev/null || break
done
cat /sys/fs/cgroup/memory/memory.oom_control /sys/fs/cgroup/memory.events \\
  >/run/trialbook-status 2>/dev/null
exit $code
"""
_LIMITS_PROBE = (
    probing.PROBE
    + r"""
for file in /sys/fs/cgroup/memory/memory.limit_in_bytes /sys/fs/cgroup/memory.max; do
  [ -r $file ] && echo "MEMORY $(cat $file)"
done
for file in /sys/fs/cgroup/pids/pids.max /sys/fs/cgroup/pids.max; do
  [ -r $file ] && echo "PROCESSES $(cat $file)"
done
true
"""
)


class ContainerSandbox:
    """Runs every command in a container of its own, as an unprivileged user.

    ``only`` picks the engine, `podman` or `docker`; by default the first that works.
    """

    name = "container"

    def __init__(self, only: str | None = None) -> None:
        self._only = only

    def available(self, spawn: Spawn) -> Availability:
        """Remove the containers that nobody owns any more; run one that tries to get out."""
        try:
            engine = working_engine(operator_environment(), spawn, self._only)
            engine.sweep(spawn)
            who = identity(operator_environment())
            found = probing.probe(self, spawn, _LIMITS_PROBE)
        except EnvironmentProblem as problem:
            return Availability(ok=False, reason=problem.message, hint=problem.hint)
        if found.trouble:
            return Availability(ok=False, reason=f"{engine.kind}: {found.trouble}")
        limits = _enforced(found.said)
        means = ", ".join(
            f"{what} {'by container' if limit in limits else 'unenforced'}"
            for limit, what in (("memory_mb", "memory"), ("processes", "processes"))
        )
        return Availability(
            ok=True,
            reason=f"container, {engine.kind} {engine.version} (user {who.name}, {means})",
            isolated=True,
            network=True,
            limits=("minutes", "output_mb", *limits),
        )

    def sweep(self, spawn: Spawn) -> None:
        """Remove the containers of runners that are no more; no engine is asked if none left any.

        Raises:
            EnvironmentProblem: some did, and there is no engine that works.
        """
        left = left_behind()
        for kind in sorted(set(left.values())):
            # A runner that was killed while it wrote a note has left an empty one.
            if working_engine(operator_environment(), spawn, kind or self._only).sweep(spawn):
                forget(name for name in left if left[name] == kind)

    def ready_image(self, image: ImageSource, spawn: Spawn, log: Path) -> ReadyImage:
        """Fetch an image, or load it from its archive, if the engine does not have it yet.

        Raises:
            EnvironmentProblem: there is no engine, the image cannot be had, or does not run here.
        """
        engine = working_engine(operator_environment(), spawn, self._only)
        return ready_image(engine, image, spawn, log)

    def start(self, command: Command, policy: Policy, spawn: Spawn) -> ProcessResult:
        """Run the command in a container, and remove the container.

        Raises:
            EnvironmentProblem: there is no engine, or it cannot make the container, or remove it.
        """
        environment = operator_environment()
        engine = working_engine(environment, spawn, self._only)
        who = identity(environment, evaluator=policy.evaluator)
        mounts = mounts_of(policy)
        trouble = None if policy.image else trouble_with(command, mounts)
        if trouble:
            return ProcessResult(ended=Ended.NOT_STARTED, message=trouble)
        if closed := unreadable(mounts, who):
            raise EnvironmentProblem(
                f"the sandbox's user {who.name} may not read {closed}",
                hint="open it to everybody (chmod -R a+rX), or run trialbook with umask 022",
            )
        name = new_name()
        with private_folder(who) as private:
            hand_over([mount.source for mount in mounts if mount.writable], who, spawn)
            inside = [*_made(command, policy, private, who), *mounts]
            arguments = [
                *("run", "--name", name, "--label", f"{HOST_LABEL}={this_host()}"),
                *_holding(engine, policy, who),
                *_showing(policy, inside),
                *("--workdir", str(command.cwd), "--entrypoint", "/bin/sh"),
                *(policy.image or engine.image, str(_START), *command.argv),
            ]
            note(name, engine.kind)
            try:
                result = spawn(
                    engine.command(arguments, command), replace(policy.limits, processes=None)
                )
                result = _judged(result, command, engine, name, spawn)
                said = probing.tail(private.status, _TAIL)
                if said == _NO_PROGRAM and self._lacks(command, policy, private, spawn):
                    message = f"the program {command.argv[0]} is not in the image {policy.image}"
                    return replace(result, ended=Ended.NOT_STARTED, exit_code=None, message=message)
                # Only the first process sees what became of its group: the engine's own word is
                # about itself. The command could write here, too, and only deceive about itself.
                told = _OOM_KILL.search(said) is not None
                return replace(result, memory_killed=result.memory_killed or told)
            finally:
                _gone(engine, spawn, name)

    def _lacks(self, command: Command, policy: Policy, private: Private, spawn: Spawn) -> bool:
        """Whether an image has no such program; asked anew, where no command could say so itself.

        One that fails on purpose must not be taken for one that never started.
        """
        if policy.image is None:
            return False
        out = private.folder / "lacks"
        argv = ("/bin/sh", "-c", 'command -v "$1"', "sh", command.argv[0])
        asked = replace(command, argv=argv, stdin=None, stdout=out, stderr=out)
        alone = replace(policy, proxy=None, forwarder=())
        return self.start(asked, alone, spawn).exit_code not in (0, None)


def _gone(engine: Engine, spawn: Spawn, name: str) -> None:
    """Remove a container; while it may live nothing that it writes to can be read."""
    if not engine.remove(spawn, name):
        # The note stays: the next run tries again.
        raise EnvironmentProblem(
            f"the container {name} cannot be removed, and may still write to the workspace",
            hint=f"see what `{engine.kind} rm --force {name}` says",
        )
    forget([name])


def _holding(engine: Engine, policy: Policy, who: Identity) -> list[str]:
    """What keeps the command in: no capability, no network, no way to more; and its limits."""
    limits = policy.limits
    words = [
        *("--interactive", "--pull", "never", "--read-only", "--cap-drop", "ALL"),
        *("--security-opt", "no-new-privileges", "--user", f"{who.uid}:{who.gid}"),
        *("--network", "host" if policy.network.mode == "open" else "none"),
        *("--hostname", HOST_NAME, "--shm-size", "64m", "--log-driver", "none", *ulimits()),
    ]
    if policy.network.mode == "open":
        # With the host's network comes the host's name.
        place = words.index("--hostname")
        del words[place : place + 2]
    if engine.kind == "podman":
        # Its own folders for temporary files have no limit, and would take the place of ours.
        words += ("--security-opt", "label=disable", "--read-only-tmpfs=false")
        if not who.dropped:
            words += ("--userns", "keep-id")
    if limits.memory_mb is not None:
        size = str(int(limits.memory_mb * 1_000_000))
        words += ("--memory", size, "--memory-swap", size)
    processes = processes_of(policy)
    if processes is not None:
        words += ("--pids-limit", str(processes + 1))  # one is the first process
    return words


def _showing(policy: Policy, mounts: Sequence[Mount]) -> list[str]:
    """The mounts as arguments, parents first."""
    words: list[str] = []
    system = [Mount(source=folder, target=folder) for folder in system_folders()]
    base = () if policy.image else (*system, *system_mounts(names=False))
    for mount in (*base, *mounts, *socket_mounts(policy)):
        words += ("--mount", _bind(mount))
    for path in (Path("/tmp"), *policy.scratch):  # noqa: S108
        words += ("--tmpfs", f"{path}:rw,nosuid,nodev,size={TEMPORARY_BYTES},mode=1777")
    return words


def _bind(mount: Mount) -> str:
    fields = ["type=bind", f"source={mount.source}", f"target={mount.target}"]
    if not mount.writable:
        fields.append("readonly")
    return ",".join(_field(field) for field in fields)


def _field(text: str) -> str:
    """A field as the engines read it: comma-separated values, quoted where need be."""
    return '"' + text.replace('"', '""') + '"' if any(c in text for c in ',"\n') else text


def _made(command: Command, policy: Policy, private: Private, who: Identity) -> list[Mount]:
    """The files that are made for this start: a few of ``/etc``, and the first process's script."""
    home = command.environment.get("HOME", "/")
    made = made_mounts(private, uid=who.uid, gid=who.gid, home=home)
    text = _script(command.environment, way_laid(policy), in_image=policy.image is not None)
    script = private.write("start", text, 0o400)
    status = private.write("status", "", 0o600)
    if who.dropped:
        for path in (script, status):
            os.chown(path, who.uid, who.gid)
    engines_own = Path("/etc/hosts")
    return [
        *(mount for mount in made if mount.target != engines_own),
        Mount(source=script, target=_START),
        Mount(source=status, target=_STATUS, writable=True),
    ]


def _script(environment: Mapping[str, str], way: str, *, in_image: bool) -> str:
    # By file, since an engine's arguments are in every list of processes, secrets included.
    lines = ["unset HOSTNAME container HOME TERM", "own=$PATH" if in_image else "own="]
    for name, value in environment.items():
        if not _NAME.fullmatch(name):
            raise EnvironmentProblem(f"{name!r} is no name for a variable in a container")
        # An image knows best where its programs are.
        before = "${own:+$own:}" if name == "PATH" else ""
        lines.append(f"export {name}={before}{shlex.quote(value)}")
    lines.append("unset own")
    return "\n".join((*lines, *((_THERE,) if in_image else ()), way, _FIRST))


def _judged(
    result: ProcessResult, command: Command, engine: Engine, name: str, spawn: Spawn
) -> ProcessResult:
    """The result as that of the command; a container that did not start is told apart."""
    result = replace(result, leftover_processes=None)
    if result.ended is not Ended.EXITED or result.ok:
        return result
    asked = "{{.State.OOMKilled}} {{.State.StartedAt}}"
    answer, said = engine.ask(spawn, "container", "inspect", "--format", asked, name)
    killed, _, started = said.partition(" ")
    if answer.ok and not started.startswith("0001-"):
        return replace(result, memory_killed=killed == "true")
    why = probing.tail(command.stderr, _TAIL)
    return replace(
        result,
        ended=Ended.NOT_STARTED,
        exit_code=None,
        message=f"the container could not be started: {why or 'it said nothing'}",
    )


def _enforced(said: Sequence[str]) -> tuple[str, ...]:
    """The limits that the probe saw set inside, as they were asked for."""
    limits = probing.PROBE_LIMITS
    # Kernels count memory in pages.
    size = int((limits.memory_mb or 0) * 1_000_000) // 4096 * 4096
    found = []
    if f"MEMORY {size}" in said:
        found.append("memory_mb")
    if f"PROCESSES {(limits.processes or 0) + 1}" in said:
        found.append("processes")
    return tuple(found)
