"""The packs that the ledger writes: one for each commit or group of commits, put together later.

A note in the git folder says of each pack that it is ours, and what its objects are like. When
enough packs of about one size have come together, they become one, in which records that differ
little share what they have in common. Packs of anybody else, and loose objects, are never touched.
All of this is done while the ledger's lock is held.
"""

from __future__ import annotations

import os
import struct
import zlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import NamedTuple

from trialbook.errors import EnvironmentProblem
from trialbook.storage.files import read_regular, remove_unfinished, write_atomic
from trialbook.storage.pack_source import PackSource, Part
from trialbook.storage.pack_writer import DEEPEST, Delta, Likeness, PackWriter
from trialbook.storage.repository import Store

TOGETHER = 16
"""So many packs of one size become one."""

_SIZES = (256, 4096, 65536)
"""A pack of at least so many objects is of the next size; of the last, it is left alone."""

_PAIR = struct.Struct(">II")
_SYNCED_OBJECTS = 128
_QUICK = 1


class NewObject(NamedTuple):
    """An object that is to be written: kind as in a pack, bytes, and what it is like."""

    oid: bytes
    kind: int
    data: bytes
    like: Likeness


class OwnPacks:
    """The packs of one repository that trialbook wrote; ``notes`` is the folder that lists them."""

    def __init__(self, store: Store, notes: Path) -> None:
        self._store = store
        self._folder = store.folder / "pack"
        self._notes = notes

    def write(self, objects: Sequence[NewObject]) -> str:
        """Write objects, as one pack; gives its name. Objects that no commit gets are left to git.

        A large one is on the disk when this returns, as git's packs are; a small one only where
        core.fsyncObjectFiles is set, as git's loose objects.

        Raises:
            EnvironmentProblem: no permission, no space.
        """
        # Somebody waits; what is put together later is compressed as git does it.
        writer = self._writer(len(objects), _QUICK)
        durable = self._store.durable or len(objects) >= _SYNCED_OBJECTS
        try:
            for new in objects:
                writer.add(*new)
            return self._finished(writer, durable=durable)
        except OSError as error:
            raise self._problem(error) from error
        finally:
            writer.abandon()

    def tidy(self) -> None:
        """Put packs of one size together where there are enough of them.

        Raises:
            EnvironmentProblem: no permission, no space; everything is as it was.
        """
        remove_unfinished(self._notes)
        sizes: dict[int, list[tuple[int, str]]] = {}
        for name, objects, moment in self._listed():
            size = sum(objects >= least for least in _SIZES)
            sizes.setdefault(size, []).append((moment, name))
        for size in range(len(_SIZES)):
            ready = sorted(sizes.get(size, ()))
            if len(ready) >= TOGETHER:
                name, objects = self._together([name for _, name in ready])
                grown = sum(objects >= least for least in _SIZES)
                sizes.setdefault(grown, []).append((ready[0][0], name))

    def _together(self, names: list[str]) -> tuple[str, int]:
        try:
            sources = [
                (PackSource(self._folder / f"{name}.pack"), self._likes(name)) for name in names
            ]
            wanted = {part.oid for source, _ in sources for part in source.parts}
            writer = self._writer(len(wanted))
            try:
                for source, likes in sources:
                    _take_over(source, likes, writer)
                made = self._finished(writer, durable=True)
            finally:
                writer.abandon()
        except (ValueError, zlib.error) as error:
            raise EnvironmentProblem(
                f"a pack of the ledger is damaged: {error}",
                hint="`git fsck` says which objects are; fetch them again from a clone",
            ) from error
        except OSError as error:
            raise self._problem(error) from error
        self._remove(name for name in names if name != made)
        return made, len(wanted)

    def _finished(self, writer: PackWriter, *, durable: bool) -> str:
        # The note comes first: a pack without an index is then known to be a leftover of ours.
        name = writer.name
        note = b"".join(_PAIR.pack(*like) for like in writer.likenesses)
        write_atomic(self._notes / name, note)
        writer.finish(durable=durable)
        return name

    def _listed(self) -> list[tuple[str, int, int]]:
        """Name, number of objects and time of each pack; leftovers of a killed process go."""
        found: list[tuple[str, int, int]] = []
        try:
            with os.scandir(self._notes) as listing:
                notes = [(note.name, note.stat()) for note in listing if note.name[:5] == "pack-"]
            there = set(os.listdir(self._folder))  # noqa: PTH208 - names are all that is wanted
        except FileNotFoundError:
            return found
        for name, facts in notes:
            if f"{name}.idx" in there:
                found.append((name, facts.st_size // _PAIR.size, facts.st_mtime_ns))
            else:
                # Killed between the two; or somebody (`git gc`) packed it in with the rest.
                self._remove([name])
        return found

    def _likes(self, name: str) -> list[Likeness]:
        raw = read_regular(self._notes / name) or b""
        return [Likeness(*pair) for pair in _PAIR.iter_unpack(raw)]

    def _writer(self, count: int, level: int = -1) -> PackWriter:
        try:
            self._folder.mkdir(exist_ok=True)
            return PackWriter(self._folder, count, self._store.share, level=level)
        except OSError as error:
            raise self._problem(error) from error

    def _remove(self, names: Iterable[str]) -> None:
        for name in names:
            for path in (
                self._folder / f"{name}.idx",
                self._folder / f"{name}.pack",
                self._notes / name,
            ):
                with suppress(OSError):
                    path.unlink(missing_ok=True)

    def _problem(self, error: OSError) -> EnvironmentProblem:
        return EnvironmentProblem(
            f"cannot write to the object store {self._store.folder}: {error.strerror or error}",
            hint="check its permissions and the space that is left",
        )


def _take_over(source: PackSource, likes: list[Likeness], writer: PackWriter) -> None:
    """Add a pack's objects to another: deltas as they are, the rest as deltas if possible."""
    heights = source.heights()
    if len(likes) != len(source.parts):
        likes = [Likeness(0, 0)] * len(source.parts)
    for part, like in zip(source.parts, likes, strict=True):
        if part.oid in writer:
            continue
        above = heights.get(part.offset, 0)
        base = source.base_of(part)
        if base is not None and base in writer and writer.depth(base) + 1 + above <= DEEPEST:
            read = partial(_bytes_of, source, part)
            delta = Delta(part.kind, part.size, source.deflated(part), like, read)
            writer.copy(part.oid, base, delta)
        else:
            kind, data = source.read(part)
            writer.add(part.oid, kind, data, like, above=above)


def _bytes_of(source: PackSource, part: Part) -> bytes:
    return source.read(part)[1]
