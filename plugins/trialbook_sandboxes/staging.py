"""The private folder of one start: argument and status files, and a shell script that leads in.

The script is what the supervisor starts. As root it joins the control group, hands the writable
folders to the unprivileged user, makes what lies below folders closed to that user reachable
(bind mounts in a mount namespace of its own, which nobody else sees), and gives root up.
"""

from __future__ import annotations

import shlex
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from trialbook.api import EnvironmentProblem, Spawn
from trialbook_sandboxes.identity import Identity
from trialbook_sandboxes.mounts import Mount
from trialbook_sandboxes.probing import said_by

TOOL_PATH = "/usr/sbin:/usr/bin:/sbin:/bin"
ARGUMENTS_FD = 8
STATUS_FD = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Private:
    """A folder that only the runner can list; what is in it can be reached by who knows it."""

    folder: Path

    @property
    def arguments(self) -> Path:
        """The sandbox's arguments, each ended by a zero byte: values never show in a list."""
        return self.folder / "arguments"

    @property
    def status(self) -> Path:
        """What the sandbox says of itself."""
        return self.folder / "status"

    def write(self, name: str, text: str, mode: int = 0o644) -> Path:
        """Write a small file."""
        path = self.folder / name
        path.touch(mode=0o600)
        path.write_text(text, encoding="utf-8", errors="surrogateescape")
        path.chmod(mode)
        return path

    def write_arguments(self, arguments: Sequence[str]) -> None:
        """Write the arguments where only the runner can read them."""
        self.write("arguments", "".join(f"{argument}\0" for argument in arguments), 0o600)


@contextmanager
def private_folder(identity: Identity) -> Iterator[Private]:
    """A fresh folder that the identity can pass through; removed at the end.

    Raises:
        EnvironmentProblem: there is no place for it.
    """
    for parent in dict.fromkeys((tempfile.gettempdir(), "/var/tmp", "/tmp")):  # noqa: S108
        if identity.reaches(Path(parent, "x")):
            break
    else:
        raise EnvironmentProblem(
            f"the user {identity.name} can pass through no folder for temporary files",
            hint="set TMPDIR to one that everybody may enter",
        )
    folder = Path(tempfile.mkdtemp(prefix="", dir=parent))
    try:
        folder.chmod(0o711)
        yield Private(folder=folder)
    finally:
        shutil.rmtree(folder)


def staged(
    mounts: Sequence[Mount], private: Private, identity: Identity
) -> tuple[list[Mount], list[str]]:
    """The mounts with sources that the identity can reach, and the commands that make them so."""
    reachable: list[Mount] = []
    steps: list[str] = []
    stage = private.folder / "stage"
    for number, mount in enumerate(mounts):
        if not identity.dropped or identity.reaches(mount.source):
            reachable.append(mount)
            continue
        place = stage / str(number)
        stage.mkdir(mode=0o755, exist_ok=True)
        if mount.source.is_dir():
            place.mkdir(mode=0o755)
        else:
            place.touch(mode=0o644)
        steps.append(shlex.join(("mount", "--bind", "--", str(mount.source), str(place))))
        reachable.append(replace(mount, source=place))
    return reachable, steps


def unreadable(mounts: Sequence[Mount], identity: Identity) -> Path | None:
    """The first read-only source that the identity could not read; None if there is none."""
    if not identity.dropped:
        return None
    closed = (m.source for m in mounts if not m.writable and not identity.reads(m.source))
    return next(closed, None)


def hand_over(paths: Sequence[Path], identity: Identity, spawn: Spawn) -> None:
    """Make the identity the owner of everything below some folders, links not followed.

    Raises:
        EnvironmentProblem: that is not possible.
    """
    if not identity.dropped or not paths:
        return
    owner = f"{identity.uid}:{identity.gid}"
    result, said = said_by(("chown", "-hR", "--", owner, *map(str, paths)), spawn, TOOL_PATH)
    if not result.ok:
        raise EnvironmentProblem(
            f"the workspace cannot be given to {identity.name}: {said.decode('utf-8', 'replace')}"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Lead:
    """What has to happen on the way in: groups joined, folders handed over, mounts made."""

    entrances: Sequence[Path] = ()
    writable: Sequence[Path] = ()
    mounts: Sequence[str] = ()


def script(private: Private, identity: Identity, lead: Lead, inner: Sequence[str]) -> str:
    """The shell script that leads to ``inner``; any step that fails ends it."""
    opened = (
        f"exec {ARGUMENTS_FD}<{shlex.quote(str(private.arguments))} "
        f"{STATUS_FD}>{shlex.quote(str(private.status))}"
    )
    lines = [
        "set -e",
        # What ends the agent politely must not end the sandbox around it.
        "trap '' TERM",
        opened,
        # Secrets are among them. Who holds the file open still reads it.
        shlex.join(("rm", "-f", "--", str(private.arguments))),
        *(f"echo $$ >{shlex.quote(str(path))}" for path in lead.entrances),
    ]
    if not identity.dropped:
        return "\n".join((*lines, f"exec {shlex.join(inner)}"))
    if lead.writable:
        owner = f"{identity.uid}:{identity.gid}"
        lines.append(shlex.join(("chown", "-hR", "--", owner, *map(str, lead.writable))))
    drop = (
        *("setpriv", f"--reuid={identity.uid}", f"--regid={identity.gid}"),
        *("--clear-groups", "--no-new-privs"),
    )
    last = f"exec {shlex.join((*drop, *inner))}"
    if lead.mounts:
        inside = "\n".join(("set -e", *lead.mounts, last))
        last = "exec " + shlex.join(
            ("unshare", "--mount", "--propagation", "private", "--", "/bin/sh", "-c", inside)
        )
    return "\n".join((*lines, last))
