"""Whether a site's files are as the last build left them, by size and time of change.

The times are of this machine and are kept in the cache, not in the site: a site is the same
wherever it is built. Where they are not known, the digests of the files decide.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from trialbook.errors import EnvironmentProblem
from trialbook.formats.records import RecordError, pack, unpack
from trialbook.site.manifest import FileRecord, record_path
from trialbook.storage.files import read_regular, write_atomic


class Seen(NamedTuple):
    """A file as it was when it was looked at: path, size in bytes, time of change in ns."""

    path: str
    size: int
    changed: int


class _Group(NamedTuple):
    record: str
    files: tuple[Seen, ...]


class Intact:
    """What is known of the files of one output folder; ``cache`` None knows nothing beforehand."""

    def __init__(self, folder: Path, cache: Path | None) -> None:
        self._folder = os.fspath(folder)
        name = hashlib.sha256(os.fsencode(folder.absolute())).hexdigest()[:32]
        self._file = None if cache is None else cache / "site" / name
        self._groups = self._read()

    def paths(self, group: str, record: str) -> Sequence[str] | None:
        """The files of a group if all are as they were; None if not, or if that is not known."""
        known = self._groups.get(group)
        if known is None or known.record != record or not all(map(self._holds, known.files)):
            return None
        own = record_path(group)
        return [seen.path for seen in known.files if seen.path != own]

    def seen(self, group: str, record: str, files: Iterable[FileRecord]) -> dict[str, Seen]:
        """Those of a group's files that are as they were."""
        known = self._groups.get(group)
        times = {}
        if known is not None and known.record == record:
            times = {seen.path: seen for seen in known.files}
        found = {}
        for file in files:
            seen = times.get(file.path)
            if seen is None or not self._holds(seen):
                seen = self._same(file)
            if seen is not None:
                found[file.path] = seen
        return found

    def note(self, group: str, record: str, files: Iterable[Seen]) -> None:
        """Remember how the files of a group are now, its record among them."""
        own = record_path(group)
        there = os.lstat(f"{self._folder}/{own}")
        seen = Seen(own, there.st_size, there.st_mtime_ns)
        self._groups[group] = _Group(record, (*files, seen))

    def save(self, groups: Iterable[str]) -> None:
        """Keep it for the next build; what cannot be kept costs time only."""
        if self._file is None:
            return
        kept = {name: self._groups[name] for name in groups if name in self._groups}
        with suppress(EnvironmentProblem):
            write_atomic(self._file, pack(kept))

    def _holds(self, seen: Seen) -> bool:
        try:
            there = os.lstat(f"{self._folder}/{seen.path}")
        except OSError:
            return False
        return there.st_mtime_ns == seen.changed and there.st_size == seen.size

    def _same(self, file: FileRecord) -> Seen | None:
        path = f"{self._folder}/{file.path}"
        data = read_regular(Path(path), limit=file.size)
        if data is None or hashlib.sha256(data).hexdigest() != file.sha256:
            return None
        there = os.lstat(path)
        return Seen(file.path, there.st_size, there.st_mtime_ns)

    def _read(self) -> dict[str, _Group]:
        data = None if self._file is None else read_regular(self._file)
        if data is not None:
            with suppress(RecordError):
                return unpack(dict[str, _Group], data, str(self._file))
        return {}
