"""One folder of a git tree while it is added to: its entries stay encoded and in git's order."""

from __future__ import annotations

import re
from bisect import insort

from trialbook.storage.objects import DIRECTORY, TreeEntry

_ENTRY = re.compile(rb"([0-7]{5,6}) ([^\0/]+)\0(.{20})", re.DOTALL)
_MODE_BASE = 8


class Folder:
    """The entries of one tree. Putting one in costs little however many there are.

    Raises:
        ValueError: ``raw`` is no tree.
    """

    __slots__ = ("_keys", "_lines")

    def __init__(self, raw: bytes = b"") -> None:
        self._lines: dict[bytes, bytes] = {}
        end = 0
        for match in _ENTRY.finditer(raw):
            if match.start() != end:
                break
            end = match.end()
            self._lines[_key(match[2], int(match[1], _MODE_BASE))] = match[0]
        if end != len(raw):
            raise ValueError("it is no tree")
        self._keys = sorted(self._lines)

    def get(self, name: bytes) -> TreeEntry | None:
        """The entry with this name, or None."""
        line = self._lines.get(name) or self._lines.get(name + b"/")
        if line is None:
            return None
        mode = line[: line.index(b" ")]
        return TreeEntry(name, int(mode, _MODE_BASE), line[-20:].hex())

    def put(self, name: bytes, mode: int, oid: str) -> None:
        """Put in an entry, or another of the same kind in its place."""
        key = _key(name, mode)
        if key not in self._lines:
            insort(self._keys, key)
        self._lines[key] = b"%o %b\0%b" % (mode, name, bytes.fromhex(oid))

    def raw(self) -> bytes:
        """The tree as git stores it."""
        return b"".join(map(self._lines.__getitem__, self._keys))


def _key(name: bytes, mode: int) -> bytes:
    # Git sorts folders as if their names ended in a slash.
    return name + b"/" if mode == DIRECTORY else name
