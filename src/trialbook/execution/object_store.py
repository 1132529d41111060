"""Everything that git could give to somebody in a folder: objects of its repository, and others'.

Reads the files of the repository itself and never runs git there: links to a main repository,
alternates, packs, and loose objects, whether or not anything refers to them.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trialbook.storage.files import read_regular
from trialbook.storage.object_ids import object_ids
from trialbook.storage.raw_objects import DamagedObject, MissingObject, RawObjects

OBJECT = b"object "
"""What the name of an object's content begins with."""

_MOST_OBJECTS = 200_000
_LARGEST = 2_000_000
_MOST_BYTES = 500_000_000
_POINTER = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class FoundObjects:
    """The ids of every object, and how to read them."""

    oids: frozenset[str]
    objects: RawObjects

    def contents(self) -> Iterator[tuple[bytes, bytes]]:
        """The name and the bytes of every object that is not too large, up to a bound in all."""
        total = 0
        for oid in sorted(self.oids)[:_MOST_OBJECTS]:
            try:
                data = self.objects.any_kind(bytes.fromhex(oid))
            except (MissingObject, DamagedObject):
                continue
            total += len(data)
            if total > _MOST_BYTES:
                return
            if len(data) <= _LARGEST:
                yield OBJECT + oid[:12].encode(), data


@contextmanager
def repository_of(workspace: Path) -> Iterator[FoundObjects]:
    """The objects that git finds in a folder, alternates included; none without a repository.

    Raises:
        ValueError, OSError: the repository is damaged.
    """
    objects = RawObjects(_common_folder(workspace) / "objects")
    try:
        oids: set[str] = set()
        for folder in objects.folders:
            if folder.is_dir():
                oids |= object_ids(folder)
        yield FoundObjects(oids=frozenset(oids), objects=objects)
    finally:
        objects.close()


def _common_folder(workspace: Path) -> Path:
    """The git folder with the objects; a work tree's own may only point to it."""
    git = workspace / ".git"
    pointer = read_regular(git, _POINTER)
    if pointer is not None and pointer.startswith(b"gitdir:"):
        git = workspace / os.fsdecode(pointer.removeprefix(b"gitdir:").strip())
    common = read_regular(git / "commondir", _POINTER)
    return git / os.fsdecode(common.strip()) if common is not None else git
