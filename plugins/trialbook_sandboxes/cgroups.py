"""Control groups: memory and processes of everything in a sandbox together, version 1 or 2.

Used where this process may make groups; found by making one.
"""

from __future__ import annotations

import contextlib
import os
import re
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trialbook.api import EnvironmentProblem

_SELF = Path("/proc/self")
_PREFIX = "trialbook-"
_OVERHEAD = 2  # the sandbox's own processes beside those that it holds
_CONTROLLERS = {"memory_mb": "memory", "processes": "pids"}
_KILLED = re.compile(r"^oom_kill (\d+)$", re.MULTILINE)
_REST_SECONDS = 0.02
_RESTS = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Controllers:
    """Where groups can be made on this host, by limit; ``version`` is 1 or 2, 0 if nowhere."""

    version: int
    folders: dict[str, Path]

    @property
    def limits(self) -> tuple[str, ...]:
        """The limits that groups enforce here."""
        return tuple(self.folders)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The group of one command: a folder for each hierarchy."""

    version: int
    folders: dict[str, Path]

    @property
    def entrances(self) -> list[Path]:
        """The files that a process writes its id to in order to join."""
        return [folder / "cgroup.procs" for folder in dict.fromkeys(self.folders.values())]

    @property
    def memory_killed(self) -> bool:
        """Whether something in it was killed for its memory."""
        folder = self.folders.get("memory_mb")
        if folder is None:
            return False
        name = "memory.oom_control" if self.version == 1 else "memory.events"
        found = _KILLED.search((folder / name).read_text())
        return found is not None and int(found[1]) > 0


def controllers(process: Path = _SELF) -> Controllers:
    """Find out where groups can be made, by making and removing one.

    ``process`` is the folder of this process in ``/proc``.
    """
    own = _own_paths(process)
    found: dict[str, Path] = {}
    for limit, name in _CONTROLLERS.items():
        mount = _mounted(name, process)
        if mount is not None and (base := _base(mount, own.get(name, "/"))):
            found[limit] = base
    if found:
        return Controllers(version=1, folders=found)
    unified = _mounted(None, process)
    if unified is not None:
        for base in _bases(unified, own.get("", "/")):
            if _delegates(base):
                return Controllers(version=2, folders=dict.fromkeys(_CONTROLLERS, base))
    return Controllers(version=0, folders={})


@contextlib.contextmanager
def group(
    known: Controllers, *, memory_mb: float | None, processes: int | None
) -> Iterator[Group | None]:
    """A group with these limits for one command; None if there is nothing to limit.

    It is removed afterwards: by then nothing lives in it, but the kernel may take a moment to say
    so.

    Raises:
        EnvironmentProblem: it cannot be made although groups can be made here.
    """
    wanted = {"memory_mb": memory_mb, "processes": processes}
    asked = [limit for limit in known.folders if wanted[limit] is not None]
    made: dict[Path, Path] = {}
    try:
        try:
            for limit in asked:
                base = known.folders[limit]
                if base not in made:
                    name = tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=base)
                    made[base] = Path(name)
            folders = {limit: made[known.folders[limit]] for limit in asked}
            if memory_mb is not None and "memory_mb" in folders:
                _limit_memory(folders["memory_mb"], known.version, int(memory_mb * 1_000_000))
            if processes is not None and "processes" in folders:
                _write(folders["processes"] / "pids.max", str(processes + _OVERHEAD))
        except OSError as error:
            raise EnvironmentProblem(
                f"no control group can be made for a trial's limits: {error}",
                hint="leave out limits of memory and processes, or see what keeps "
                f"{error.filename or 'the group'} from being written",
            ) from error
        yield Group(version=known.version, folders=folders) if folders else None
    finally:
        for folder in made.values():
            _remove(folder)


def sweep(known: Controllers) -> None:
    """Remove the empty groups that runners have left which are no more."""
    for base in set(known.folders.values()):
        for folder in base.glob(f"{_PREFIX}*"):
            owner = folder.name.removeprefix(_PREFIX).split("-")[0]
            if owner.isdigit() and not Path("/proc", owner).exists():
                with contextlib.suppress(OSError):
                    folder.rmdir()


def _limit_memory(folder: Path, version: int, size: int) -> None:
    if version == 1:
        _write(folder / "memory.limit_in_bytes", str(size))
        # Only there if the kernel counts swap.
        if (folder / "memory.memsw.limit_in_bytes").exists():
            _write(folder / "memory.memsw.limit_in_bytes", str(size))
        return
    _write(folder / "memory.max", str(size))
    if (folder / "memory.swap.max").exists():
        _write(folder / "memory.swap.max", "0")


def _remove(folder: Path) -> None:
    for _ in range(_RESTS):
        try:
            folder.rmdir()
        except FileNotFoundError:
            return
        except OSError:
            threading.Event().wait(_REST_SECONDS)
        else:
            return


def _mounted(controller: str | None, process: Path) -> Path | None:
    """Where the hierarchy of a controller is mounted; None asks for the unified one."""
    with contextlib.suppress(OSError):
        for line in (process / "mountinfo").read_text().splitlines():
            before, _, after = line.partition(" - ")
            kind, _, options = after.split(" ", 2)
            if controller is None and kind == "cgroup2":
                return Path(before.split()[4])
            if kind == "cgroup" and controller in options.split(","):
                return Path(before.split()[4])
    return None


def _own_paths(process: Path) -> dict[str, str]:
    """The group of this process in each hierarchy, by controller; the unified one by ``""``."""
    paths: dict[str, str] = {}
    with contextlib.suppress(OSError):
        for line in (process / "cgroup").read_text().splitlines():
            _, names, path = line.split(":", 2)
            paths |= dict.fromkeys(names.split(","), path)
    return paths


def _base(mount: Path, own: str) -> Path | None:
    for base in _bases(mount, own):
        if _makes(base):
            return base
    return None


def _bases(mount: Path, own: str) -> Iterator[Path]:
    """Where a group might be made: in our own, beside it, at the top."""
    here = mount / own.lstrip("/")
    if here.is_dir():
        yield here
        if here != mount:
            yield here.parent
    if here != mount:
        yield mount


def _makes(base: Path) -> bool:
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=base))
    except OSError:
        return False
    _remove(folder)
    return True


def _delegates(base: Path) -> bool:
    """Whether groups below ``base`` have the controllers, after asking for them."""
    try:
        folder = Path(tempfile.mkdtemp(prefix=f"{_PREFIX}{os.getpid()}-", dir=base))
    except OSError:
        return False
    try:
        if not _has_controllers(folder):
            _write(base / "cgroup.subtree_control", "+memory +pids")
        return _has_controllers(folder)
    except OSError:
        return False
    finally:
        _remove(folder)


def _has_controllers(folder: Path) -> bool:
    return {"memory", "pids"} <= set((folder / "cgroup.controllers").read_text().split())


def _write(path: Path, text: str) -> None:
    with path.open("w") as file:
        file.write(text)
