"""Digests of folders that people write in, to tell whether pages made from them still hold."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from trialbook.storage.files import read_regular

_READ = 1_000_000
"""Larger files (archives, snapshots) are told by their size and time of change."""


def digest_of_authored(folder: Path) -> str:
    """A digest of all files below a folder; links count by where they lead, and are not followed.

    It is the same for the same files, but may differ for large ones that are only copies.
    """
    found = hashlib.sha256()
    for path, text in _files(os.fsencode(folder), b""):
        found.update(b"%d %s\0%d %s" % (len(path), path, len(text), text))
    return found.hexdigest()


def _files(folder: bytes, below: bytes) -> Iterator[tuple[bytes, bytes]]:
    try:
        entries = sorted(os.scandir(folder), key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        place = below + entry.name
        state = entry.stat(follow_symlinks=False)
        if stat.S_ISDIR(state.st_mode):
            yield from _files(entry.path, place + b"/")
        elif stat.S_ISLNK(state.st_mode):
            yield place, b"link " + os.readlink(entry.path)  # noqa: PTH115 - names as bytes
        elif state.st_size > _READ:
            yield place, b"large %d %d" % (state.st_size, state.st_mtime_ns)
        else:
            yield place, read_regular(Path(os.fsdecode(entry.path))) or b""
