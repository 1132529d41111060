"""A tree of files to look into without a folder on disk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol


class TreeView(Protocol):
    """The files of a tree, read where they are kept: nothing is written out for it.

    Paths are relative to the top, with slashes, no component empty or with a meaning of its own
    (``.``, ``..``); names that are no UTF-8 carry surrogate escapes, as in `os.fsdecode`.
    """

    def kinds(self, folder: str = "") -> Mapping[str, str]:
        """What stands in a folder, by name: ``file``, ``folder`` or ``link``.

        Nothing if there is no such folder; a link to one is none.
        """
        ...

    def read(self, path: str, limit: int) -> bytes | None:
        """Up to ``limit`` bytes and one more of a file; None for anything else."""
        ...
