"""What a trial's commands see of this host in a sandbox: one is started that looks around."""

from __future__ import annotations

from pathlib import Path

from trialbook.api import Command, Limits, Network, Policy, Sandbox
from trialbook.errors import EnvironmentProblem
from trialbook.execution.interpreters import bare_python
from trialbook.execution.room import Room, environment_of
from trialbook.model.diagnosis import Mounted, Sight
from trialbook.model.suite import Configuration
from trialbook.process import run
from trialbook.storage.files import read_regular
from trialbook.storage.interpreter import interpreter_folders
from trialbook.system import System

_LOOK = r"""
echo "user $(id -un 2>/dev/null) ($(id -u))"
for entry in /proc/[0-9]*; do echo "process $entry"; done
while read -r line; do case "$line" in *:*) echo "interface ${line%%:*}";; esac; done </proc/net/dev
env | while IFS= read -r line; do echo "variable ${line%%=*}"; done
ls -A / | while IFS= read -r line; do echo "entry $line"; done
while read -r _ path kind options _; do echo "mount $kind ${options%%,*} $path"; done </proc/mounts
"""
_LIMITS = Limits(minutes=0.5, grace_seconds=1.0, output_mb=1.0)
_SHELL_OWN = frozenset({"_", "PWD", "OLDPWD", "SHLVL"})


def sight_in(sandbox: Sandbox, room: Room, system: System) -> Sight:
    """Start a command as a trial's are started, in fresh folders, and tell what it saw.

    Args:
        sandbox: Where to start it.
        room: The folders; made here.
        system: The outside world.

    Raises:
        EnvironmentProblem: it could not be started, or did not come to its end.
    """
    room.root.mkdir()
    room.workspace.mkdir()
    room.make("")
    configuration = Configuration(name="look", agent="look")
    command = Command(
        argv=("/bin/sh", "-c", _LOOK),
        cwd=room.workspace,
        environment=environment_of(configuration, room, None, system.environ),
        stdout=room.output / "stdout.txt",
        stderr=room.output / "stderr.txt",
    )
    policy = Policy(
        writable=(room.workspace, room.home),
        readable=(room.prompt_file, *interpreter_folders(bare_python())),
        scratch=(room.temporary,),
        network=Network(mode="none"),
        limits=_LIMITS,
    )
    result = sandbox.start(command, policy, run)
    if not result.ok:
        said = (read_regular(command.stderr) or b"").decode("utf-8", "replace").strip()
        raise EnvironmentProblem(result.message or said or f"it {result.ended.value}")
    return _parsed((read_regular(command.stdout) or b"").decode("utf-8", "replace"), room.root)


def _parsed(text: str, root: Path) -> Sight:
    found: dict[str, list[str]] = {}
    for line in text.splitlines():
        kind, _, rest = line.partition(" ")
        found.setdefault(kind, []).append(rest)
    variables = set(found.get("variable", ())) - _SHELL_OWN
    return Sight(
        user=next(iter(found.get("user", ())), ""),
        processes=len(found.get("process", ())),
        interfaces=tuple(name.strip() for name in found.get("interface", ())),
        environment=tuple(sorted(variables)),
        listing=tuple(sorted(found.get("entry", ()))),
        mounts=tuple(_mounted(line, root) for line in found.get("mount", ())),
    )


def _mounted(line: str, root: Path) -> Mounted:
    kind, access, path = line.split(" ", 2)
    # A trial's folders have another name each time.
    shown = path.replace(str(root), "<trial>", 1) if path.startswith(str(root)) else path
    return Mounted(path=shown, kind=kind, writable=access == "rw")
