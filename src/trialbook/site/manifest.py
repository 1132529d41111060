"""What the last build left: units with their keys, files and links, in groups; kept in the output.

A group is what is looked at as a whole: a run, a suite, the pages above them, the pages of plugins,
the theme's files. Each has a record of its own below `RECORDS`, read only when something of it may
have changed; `MANIFEST` lists the groups, and says by being there that the folder is ours. Both are
the same for the same site, whenever and wherever it was built.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from trialbook.errors import UserError
from trialbook.formats.records import RecordError, from_json, pack, to_json, unpack
from trialbook.storage.files import read_regular, write_atomic

MANIFEST = ".trialbook-site.json"
"""Lists the groups of the last build; its presence says that the folder is ours."""

RECORDS = ".trialbook-site"
"""The folder of the groups' records."""

_FORMAT = 2


class FileRecord(NamedTuple):
    """A file of the site: path, size, digest, and what it links to outside of itself.

    A link is the target's path, with its fragment behind ``#``. A fragment of the page itself is
    listed only if the page has no such place.
    """

    path: str
    size: int
    sha256: str
    links: tuple[str, ...] = ()


class UnitRecord(NamedTuple):
    """A unit as it was made: its name, its key, its files."""

    name: str
    key: str
    files: tuple[FileRecord, ...]


class _StoredFile(NamedTuple):
    path: str
    size: int
    sha256: str
    links: tuple[int, ...]


class _StoredUnit(NamedTuple):
    name: str
    key: str
    files: tuple[_StoredFile, ...]


class _StoredGroup(NamedTuple):
    targets: tuple[str, ...]
    units: tuple[_StoredUnit, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupHead:
    """A group as the manifest lists it.

    ``key`` is what all of it depends on, ``record`` the digest of its record. ``outward`` are the
    links that lead to other groups; ``broken`` says whether any link of it leads nowhere.
    """

    key: str
    record: str
    outward: tuple[str, ...] = ()
    broken: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """All groups by name. ``files`` is how older versions listed what they made."""

    format: int = 1
    groups: Mapping[str, GroupHead] = field(default_factory=dict)
    files: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Written:
    format: int
    groups: Mapping[str, GroupHead]


def pack_group(units: Iterable[UnitRecord]) -> bytes:
    """The record of a group: the same bytes for the same units, in whatever order they come."""
    ordered = sorted(units)
    targets = sorted({link for unit in ordered for file in unit.files for link in file.links})
    number = {target: index for index, target in enumerate(targets)}
    stored = tuple(
        _StoredUnit(
            unit.name,
            unit.key,
            tuple(
                _StoredFile(file.path, file.size, file.sha256, tuple(map(number.get, file.links)))  # type: ignore[arg-type]
                for file in unit.files
            ),
        )
        for unit in ordered
    )
    return pack(_StoredGroup(tuple(targets), stored))


def unpack_group(data: bytes, where: str) -> tuple[UnitRecord, ...]:
    """The units that `pack_group` wrote.

    Raises:
        RecordError: the bytes are no such record.
    """
    found = unpack(_StoredGroup, data, where)
    targets = found.targets
    try:
        return tuple(
            UnitRecord(
                unit.name,
                unit.key,
                tuple(
                    FileRecord(one.path, one.size, one.sha256, tuple(targets[i] for i in one.links))
                    for one in unit.files
                ),
            )
            for unit in found.units
        )
    except IndexError as error:
        raise RecordError(f"{where}: a link that is not listed") from error


def record_digest(data: bytes) -> str:
    """What the manifest knows a group's record by."""
    return hashlib.sha256(data).hexdigest()


def record_path(group: str) -> str:
    """Where the record of a group is, from the site's root down."""
    return f"{RECORDS}/{hashlib.sha256(group.encode('utf-8', 'surrogatepass')).hexdigest()[:32]}"


class Memory:
    """The manifest of an output folder and the records of its groups, as the last build left them.

    What is damaged or of another version is as good as not there: it is made again.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._records: dict[str, tuple[UnitRecord, ...]] = {}
        found = self._manifest()
        self.groups = found.groups if found.format == _FORMAT else {}
        self.older = found.files or ()
        """What a version of trialbook made that did not know groups."""

    def units(self, group: str) -> tuple[UnitRecord, ...]:
        """The units of a group; none if nothing is known of it."""
        if group not in self._records:
            self._records[group] = self._read(group)
        return self._records[group]

    def forget(self, group: str) -> None:
        """Free what was read of a group."""
        self._records.pop(group, None)

    def _read(self, group: str) -> tuple[UnitRecord, ...]:
        head = self.groups.get(group)
        data = read_regular(self._folder / record_path(group))
        if head is None or data is None or record_digest(data) != head.record:
            return ()
        try:
            return unpack_group(data, group)
        except RecordError:
            return ()

    def _manifest(self) -> Manifest:
        path = self._folder / MANIFEST
        data = read_regular(path)
        if data is None:
            return Manifest()
        try:
            found = from_json(Manifest, data, str(path))
        except RecordError as error:
            raise UserError(
                f"{path} cannot be read: {error}",
                hint=f"remove {self._folder} and build again",
            ) from error
        return found


def write_record(folder: Path, group: str, data: bytes) -> None:
    """Put the record of a group in its place."""
    path = folder / record_path(group)
    if read_regular(path, limit=len(data)) != data:
        write_atomic(path, data)


def write_manifest(folder: Path, groups: Mapping[str, GroupHead]) -> None:
    """Put the list of groups in its place: from here on, this is what the site is."""
    ordered = {name: groups[name] for name in sorted(groups)}
    data = to_json(_Written(format=_FORMAT, groups=ordered))
    if read_regular(folder / MANIFEST, limit=len(data)) != data:
        write_atomic(folder / MANIFEST, data)
