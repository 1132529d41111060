"""Whether what a site is made from has changed: the ledger's commit and the files people write."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from trialbook.storage.reader import Reader

_WATCHED = ("suites", "rubrics", "site/pages", "site/templates", "site/site.yaml")


def state_of(root: Path) -> str:
    """A digest that is another one when the site has to be built again.

    It is cheap: the files themselves are not read, their sizes and times are looked at.

    Raises:
        EnvironmentProblem: there is no repository any more.
    """
    reader = Reader.open(root)
    found = hashlib.sha256(reader.head.encode())
    reader.close()
    for place in _WATCHED:
        for path, size, changed in _stats(os.fspath(root / place)):
            found.update(b"%s\0%d %d\0" % (os.fsencode(path), size, changed))
    return found.hexdigest()


def _stats(path: str) -> Iterator[tuple[str, int, int]]:
    """Path, size and time of change of a file, or of all files below a folder."""
    try:
        state = os.lstat(path)
        if not stat.S_ISDIR(state.st_mode):
            yield path, state.st_size, state.st_mtime_ns
            return
        names = sorted(os.listdir(path))  # noqa: PTH208 - pathlib is slow, and this runs often
    except OSError:
        return  # It goes away while it is looked at, which is a change as well.
    for name in names:
        yield from _stats(f"{path}/{name}")
