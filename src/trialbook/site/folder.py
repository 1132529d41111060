"""The folder that a site is built into: unchanged files stay, stale ones go, others' are safe."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping
from importlib import resources
from pathlib import Path, PurePosixPath

from trialbook.errors import EnvironmentProblem, UserError
from trialbook.site.manifest import (
    MANIFEST,
    RECORDS,
    GroupHead,
    Memory,
    UnitRecord,
    record_digest,
    record_path,
    unpack_group,
    write_manifest,
    write_record,
)
from trialbook.storage.files import read_regular, write_atomic

_FILES = f"{RECORDS}/files.txt"
"""Every file of the last build, one path a line."""

_JOURNAL = f"{RECORDS}/unfinished.txt"
"""Files that a build made which may not have come to its end."""


class SiteFolder:
    """Where pages go.

    ``memory`` is what the last build left. From `begin` to `finish` every file is in the journal
    before it is on the disk, so that what a killed build leaves is known to be ours.
    """

    def __init__(self, path: Path, memory: Memory) -> None:
        self.path = path
        self.memory = memory
        self._before = {*memory.older, *_listed(path / _FILES), *_listed(path / _JOURNAL)}

    @classmethod
    def open(cls, path: Path) -> SiteFolder:
        """The folder, made if it is not there.

        Raises:
            UserError: it holds things that no build made.
        """
        if read_regular(path / MANIFEST) is None:
            if path.exists() and (not path.is_dir() or any(path.iterdir())):
                raise UserError(
                    f"{path} is not empty and not a site that trialbook built",
                    hint="name an empty or new folder with --output",
                )
            write_manifest(path, {})
        return cls(path, Memory(path))

    def begin(self) -> None:
        """What is written from now on may be left by a build that does not come to its end."""
        (self.path / RECORDS).mkdir(exist_ok=True)
        write_atomic(self.path / _JOURNAL, _lines(self._before))

    def write_record(self, group: str, data: bytes) -> None:
        """Put the record of a group in its place."""
        write_record(self.path, group, data)

    def units(self, group: str, head: GroupHead) -> tuple[UnitRecord, ...]:
        """The units of a group as they were just put down.

        Raises:
            EnvironmentProblem: its record is not there any more.
        """
        data = read_regular(self.path / record_path(group))
        if data is None or record_digest(data) != head.record:
            raise EnvironmentProblem(
                f"{self.path / record_path(group)} is not what was just written",
                hint="does another build write into the same folder?",
            )
        return unpack_group(data, group)

    def finish(self, paths: Collection[str], groups: Mapping[str, GroupHead]) -> int:
        """Remove what earlier builds made and this one did not; gives the number of files."""
        stale = sorted(path for path in self._before.difference(paths) if is_inside(path))
        for path in stale:
            self._remove(path)
        for group in self.memory.groups.keys() - groups.keys():
            self._remove(record_path(group))
        write_manifest(self.path, groups)
        data = _lines(paths)
        if read_regular(self.path / _FILES, limit=len(data)) != data:
            write_atomic(self.path / _FILES, data)
        (self.path / _JOURNAL).unlink(missing_ok=True)
        return len(stale)

    def _remove(self, path: str) -> None:
        target = self.path / path
        if target.is_symlink() or not target.is_dir():
            target.unlink(missing_ok=True)
        folder = target.parent
        while folder != self.path and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent


class Writer:
    """Puts files into a site's folder, each whole or not at all. One per process."""

    def __init__(self, folder: Path) -> None:
        self._folder = os.fspath(folder)
        self._journal = os.open(
            folder / _JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o644
        )
        self.written = 0

    def write(self, path: str, data: bytes) -> tuple[int, int]:
        """Put a file in its place, if it is not there with these bytes; gives its size and time.

        Raises:
            UserError: it wants to be outside of the site.
        """
        if not is_inside(path):
            raise UserError(
                f"a page wants to be at {path!r}, outside the site",
                hint="this is a fault of the plugin that brings the page",
            )
        target = f"{self._folder}/{path}"
        try:
            there = os.lstat(target)
        except OSError:
            there = None
        if (
            there is None
            or there.st_size != len(data)
            or read_regular(Path(target), limit=len(data)) != data
        ):
            os.write(self._journal, _lines([path]))
            write_atomic(Path(target), data)
            self.written += 1
            there = os.lstat(target)
        return there.st_size, there.st_mtime_ns

    def close(self) -> None:
        """Free the file handle."""
        os.close(self._journal)


def theme_assets() -> Iterator[tuple[str, bytes]]:
    """The theme's own files with their places in the site."""
    theme = resources.files("trialbook.site") / "theme" / "assets"
    for entry in sorted(theme.iterdir(), key=lambda item: item.name):
        yield f"assets/{entry.name}", entry.read_bytes()


def is_inside(path: str) -> bool:
    """Whether a file of the site may be at a path."""
    parts = PurePosixPath(path).parts
    return (
        bool(parts)
        and path == "/".join(parts)
        and ".." not in parts
        and parts[0] not in {"/", MANIFEST, RECORDS}
        and path.isprintable()
    )


def _lines(paths: Iterable[str]) -> bytes:
    return "".join(f"{path}\n" for path in sorted(paths)).encode("utf-8", "surrogateescape")


def _listed(path: Path) -> list[str]:
    data = read_regular(path) or b""
    return data.decode("utf-8", "surrogateescape").splitlines()
