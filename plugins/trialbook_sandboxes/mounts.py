"""What of the host is there inside a sandbox: from a policy to a list of mounts, parents first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from trialbook.api import EnvironmentProblem, Policy

SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
"""What lies beside ``/usr`` on systems where it is not a link into it."""

_SYSTEM = tuple(Path("/", name) for name in ("usr", *SYSTEM_FOLDERS))
_NEVER = frozenset(map(Path, ("/", "/proc", "/dev", "/sys", "/etc", "/tmp", "/run", "/var")))  # noqa: S108
_ETC = (
    "/etc/alternatives",
    "/etc/ca-certificates",
    "/etc/ld.so.cache",
    "/etc/mime.types",
    "/etc/pki/ca-trust",
    "/etc/pki/tls/certs",
    "/etc/protocols",
    "/etc/services",
    "/etc/ssl/certs",
    "/etc/ssl/openssl.cnf",
)
_NAMES = "/etc/resolv.conf"


@dataclass(frozen=True, slots=True, kw_only=True)
class Mount:
    """A file or folder of the host, and where it is inside."""

    source: Path
    target: Path
    writable: bool = False


def mounts_of(policy: Policy) -> list[Mount]:
    """The mounts of a policy, without what every sandbox has, parents before what lies in them.

    A readable path inside a writable one stays protected; one inside another readable one, or
    inside the system's own folders, is there anyway.

    Raises:
        EnvironmentProblem: a path is not there, would lay the host open, or is reached by a link
            that somebody planted in a writable folder.
    """
    wanted = {path.absolute(): False for path in policy.readable}
    wanted |= {path.absolute(): True for path in policy.writable}
    found: list[Mount] = []
    for path in sorted(wanted, key=lambda path: len(path.parts)):
        writable = wanted[path]
        if path in _NEVER:
            raise EnvironmentProblem(
                f"a sandbox cannot hand out {path}: that is most of the host",
                hint="name the folder that is needed",
            )
        if not path.exists():
            raise EnvironmentProblem(f"there is no {path} for the sandbox to show")
        if not writable and _in_system(path):
            continue
        outer = next((one for one in reversed(found) if path.is_relative_to(one.target)), None)
        if outer is not None and outer.writable:
            _refuse_planted(path, outer)
        if outer is None or outer.writable != writable:
            found.append(Mount(source=path, target=path, writable=writable))
    return found


def system_mounts(*, names: bool) -> list[Mount]:
    """The files of ``/etc`` that programs need: certificates, the linker's cache, alternatives.

    ``names`` adds where host names are looked up.
    """
    paths = (*_ETC, _NAMES) if names else _ETC
    return [
        Mount(source=Path(path).resolve(), target=Path(path))
        for path in paths
        if Path(path).exists()
    ]


def system_links() -> list[tuple[str, str]]:
    """The links at the top of the file system into ``/usr``: what they say, and their path."""
    return [
        (str(path.readlink()), str(path))
        for path in map(Path, (f"/{name}" for name in SYSTEM_FOLDERS))
        if path.is_symlink()
    ]


def system_folders() -> list[Path]:
    """``/usr``, and what lies beside it where that is no link."""
    beside = (Path("/", name) for name in SYSTEM_FOLDERS)
    return [Path("/usr"), *(path for path in beside if path.is_dir() and not path.is_symlink())]


def shows(mounts: Iterable[Mount], path: Path) -> bool:
    """Whether the host's file at ``path`` can be reached inside, its links followed."""
    real = path.resolve()
    if _in_system(real):
        return True
    return any(real.is_relative_to(mount.source.resolve()) for mount in mounts)


def _in_system(path: Path) -> bool:
    return any(path.is_relative_to(folder) for folder in _SYSTEM)


def _refuse_planted(path: Path, outer: Mount) -> None:
    if path.resolve() != outer.source.resolve() / path.relative_to(outer.target):
        raise EnvironmentProblem(
            f"{path} leads out of {outer.target}: a link stands where a folder is expected"
        )
