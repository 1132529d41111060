"""Git's index file (version 2), written from stat data, so that a fresh checkout looks fresh.

Without it every `git status` would read all files again, and the plumbing commands that scripts use
to ask whether a work tree is dirty would say that it is.
"""

from __future__ import annotations

import hashlib
import os
import struct
from collections.abc import Iterable
from typing import NamedTuple

_HEADER = struct.Struct(">4sII")
_ENTRY = struct.Struct(">10I20sH")
_WORD = 0xFFFFFFFF
_LONGEST_NAME = 0xFFF
_SECOND = 1_000_000_000


class IndexEntry(NamedTuple):
    """A file of the index: its path, git mode, blob id, and the file's own stat data."""

    path: bytes
    mode: int
    oid: str
    status: os.stat_result


def index_bytes(entries: Iterable[IndexEntry]) -> bytes:
    """The index file that holds these files, none of them in conflict."""
    ordered = sorted(entries)
    body = [_HEADER.pack(b"DIRC", 2, len(ordered)), *map(_packed, ordered)]
    data = b"".join(body)
    return data + hashlib.sha1(data, usedforsecurity=False).digest()


def _packed(entry: IndexEntry) -> bytes:
    status = entry.status
    fixed = _ENTRY.pack(
        status.st_ctime_ns // _SECOND & _WORD,
        status.st_ctime_ns % _SECOND,
        status.st_mtime_ns // _SECOND & _WORD,
        status.st_mtime_ns % _SECOND,
        status.st_dev & _WORD,
        status.st_ino & _WORD,
        entry.mode,
        status.st_uid,
        status.st_gid,
        status.st_size & _WORD,
        bytes.fromhex(entry.oid),
        min(len(entry.path), _LONGEST_NAME),
    )
    # One to eight zero bytes, up to a multiple of eight.
    padding = 8 - (len(fixed) + len(entry.path)) % 8
    return fixed + entry.path + bytes(padding)
