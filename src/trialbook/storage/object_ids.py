"""The ids of what an object database holds itself, read from its files: alternates never count."""

from __future__ import annotations

import re
import struct
from pathlib import Path

from trialbook.storage.files import read_regular

_FANOUT = re.compile(r"[0-9a-f]{2}\Z")
_REST = re.compile(r"[0-9a-f]{38}\Z")
_MAGIC = b"\xfftOc\x00\x00\x00\x02"
_NAMES_AT = 8 + 256 * 4


def object_ids(objects: Path) -> set[str]:
    """Every loose and packed id below an ``objects`` folder.

    Raises:
        ValueError: a pack's index is not one of git's version 2.
    """
    found: set[str] = set()
    for folder in sorted(objects.iterdir()):
        if _FANOUT.match(folder.name) and folder.is_dir():
            found |= {folder.name + f.name for f in folder.iterdir() if _REST.match(f.name)}
    for index in sorted((objects / "pack").glob("*.idx")):
        found |= _pack_ids(index)
    return found


def _pack_ids(index: Path) -> set[str]:
    data = read_regular(index) or b""
    if not data.startswith(_MAGIC) or len(data) < _NAMES_AT:
        raise ValueError(f"{index.name} is not a pack index that can be read")
    (count,) = struct.unpack_from(">I", data, _NAMES_AT - 4)
    names = data[_NAMES_AT : _NAMES_AT + 20 * count]
    if len(names) != 20 * count:
        raise ValueError(f"{index.name} ends too early")
    return {names[at : at + 20].hex() for at in range(0, len(names), 20)}
