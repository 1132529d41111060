"""One digest over everything in a folder."""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from trialbook.errors import EnvironmentProblem
from trialbook.model.digest import sha256
from trialbook.model.lock import LINK, lock_digest
from trialbook.model.paths import path_to_text


def folder_digest(folder: Path) -> str:
    """sha256 over one line a file or link, as a lock has them: mode, sha256, path.

    Links are not followed: what they say counts.

    Raises:
        EnvironmentProblem: there is something that is neither file, folder nor link, or that
            cannot be read.
    """
    try:
        return lock_digest(dict(_entries(os.fsencode(folder), b"")))
    except OSError as error:
        raise EnvironmentProblem(f"{folder} cannot be read: {error}") from error


def _entries(top: bytes, prefix: bytes) -> Iterator[tuple[str, str]]:
    with os.scandir(os.path.join(top, prefix)) as listing:  # noqa: PTH118 - names may be no text
        entries = sorted(listing, key=lambda entry: entry.name)
    for entry in entries:
        path = prefix + entry.name
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode):
            yield from _entries(top, path + b"/")
        elif stat.S_ISLNK(mode):
            yield path_to_text(path), f"{LINK} {sha256(os.readlink(entry.path))}"  # noqa: PTH115
        elif stat.S_ISREG(mode):
            kind = stat.S_IFREG | (0o755 if mode & stat.S_IXUSR else 0o644)
            with open(entry.path, "rb") as file:  # noqa: PTH123
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            yield path_to_text(path), f"{kind:06o} {digest}"
        else:
            raise EnvironmentProblem(
                f"{os.fsdecode(entry.path)} is neither a file nor a folder",
                hint="remove it at the end of what prepares the toolchain",
            )
