"""What of the host an agent's sandbox shows beside its own folders: where answers may lie about."""

from __future__ import annotations

import os
import stat
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from trialbook.errors import EnvironmentProblem
from trialbook.execution.packages import Installed, installed_at
from trialbook.storage.interpreter import interpreter_folders

MOST_FILES = 400_000
"""How many files of one folder are looked at; with more, the look is given up and that is told."""

_SYSTEM = (
    *("/usr/lib", "/usr/local/lib", "/usr/share"),
    *("/usr/lib64", "/usr/local/share", "/opt"),
)
_PACKAGES = ("python3*/site-packages", "python3*/dist-packages", "node_modules")
_MORE = ("nodejs", "gocode", "ruby/gems", "cargo/registry", "maven-repo")


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A folder to look at. Its files are told as ``prefix`` and their path in it.

    ``lasting`` says that no trial's toolchain is in there: one look serves all trials of a run.
    """

    name: str
    root: Path
    prefix: bytes = b""
    lasting: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """What is in a folder, without a look into the files: paths by size, and packages by path."""

    files: int
    by_size: Mapping[int, tuple[bytes, ...]]
    packages: Mapping[bytes, Installed]


def package_places(python: str) -> list[Place]:
    """Where packages are installed that an agent with this interpreter can read.

    The interpreter's own environment and installation, and what the system has of Python, Node, Go,
    Ruby, Rust and Java packages: a sandbox shows all of ``/usr``.
    """
    found: list[Place] = []
    for folder in interpreter_folders(python):
        if (folder / "pyvenv.cfg").is_file():
            found.append(Place(name="the toolchain", root=folder, lasting=False))
            continue
        found += _below(folder, "the interpreter's installation", f"{folder.name}/".encode())
    for text in _SYSTEM:
        found += _below(Path(text), "the system", os.fsencode(f"{text}/"))
    return _distinct(found)


def thorough_places(python: str) -> list[Place]:
    """The same, with the interpreter's standard library whole."""
    libraries = [
        Place(
            name="the interpreter's library",
            root=folder,
            prefix=os.fsencode(f"{folder.parent.name}/{folder.name}/"),
        )
        for top in interpreter_folders(python)
        if not (top / "pyvenv.cfg").is_file()
        for folder in sorted(top.glob("python3*"))
        if folder.is_dir() and not folder.is_symlink()
    ]
    return _distinct([*libraries, *package_places(python)])


def shown_places(paths: Iterable[Path]) -> list[Place]:
    """The folders that a configuration shows to its agent besides."""
    return [
        Place(name="what the configuration shows", root=path, prefix=os.fsencode(path.name) + b"/")
        for path in dict.fromkeys(paths)
        if path.is_dir()
    ]


def inventory_of(place: Place) -> Inventory:
    """What is in a place; of a lasting one, what was there when this process first asked.

    Raises:
        EnvironmentProblem: as `files_below`.
    """
    return _lasting(place.root) if place.lasting else _inventory(place.root)


def _inventory(root: Path) -> Inventory:
    by_size: dict[int, list[bytes]] = defaultdict(list)
    packages: dict[bytes, Installed] = {}
    count = 0
    for path, status in files_below(root):
        count += 1
        by_size[status.st_size].append(path)
        installed = installed_at(root, path)
        if installed is not None:
            packages[path] = installed
    sizes = {size: tuple(paths) for size, paths in by_size.items()}
    return Inventory(files=count, by_size=sizes, packages=packages)


_lasting = lru_cache(maxsize=64)(_inventory)


def files_below(root: Path) -> Iterator[tuple[bytes, os.stat_result]]:
    """Every regular file below a folder, by its path in it; links are not followed.

    Raises:
        EnvironmentProblem: it has more than `MOST_FILES`, or cannot be read.
    """
    count = 0
    pending = [b""]
    top = os.fsencode(root)
    while pending:
        prefix = pending.pop()
        try:
            with os.scandir(top + b"/" + prefix) as listing:
                entries = sorted(listing, key=lambda entry: entry.name)
        except (FileNotFoundError, NotADirectoryError, PermissionError):
            # Where whoever runs trialbook cannot read, no agent of theirs can.
            continue
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot look for answers in {root}: {error.strerror}",
                hint="give yourself the right to read it",
            ) from error
        for entry in entries:
            path = prefix + entry.name
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            if stat.S_ISDIR(status.st_mode):
                pending.append(path + b"/")
            elif stat.S_ISREG(status.st_mode):
                count += 1
                if count > MOST_FILES:
                    raise EnvironmentProblem(
                        f"cannot look for answers in {root}: it has more than {MOST_FILES} files",
                        hint="an agent should be shown less",
                    )
                yield path, status


def _below(folder: Path, name: str, prefix: bytes) -> list[Place]:
    patterns = (*_PACKAGES, *_MORE)
    return [
        Place(name=name, root=root, prefix=prefix + os.fsencode(root.relative_to(folder)) + b"/")
        for pattern in patterns
        for root in sorted(folder.glob(pattern))
        if root.is_dir()
    ]


def _distinct(places: list[Place]) -> list[Place]:
    """Without those that another one holds, links followed."""
    found: list[Place] = []
    real: list[Path] = []
    for place in places:
        path = place.root.resolve()
        if not any(path.is_relative_to(other) for other in real):
            found.append(place)
            real.append(path)
    return found
