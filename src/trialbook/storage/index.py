"""The index of the user's work tree: single entries put in or taken out, nothing else touched.

C git writes the new index, since its format has parts (split, sparse, caches) that only it knows.
It works on a copy while we hold ``index.lock``, so that nothing a killed process leaves behind
stays in the way. Entries have no file times: the next ``git status`` looks at the files once.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from trialbook.errors import EnvironmentProblem
from trialbook.process import git
from trialbook.storage.claims import Claims
from trialbook.storage.objects import REGULAR
from trialbook.storage.patience import Patience
from trialbook.system import System


class IndexEntry(NamedTuple):
    """What the index has for one path, in its first stage of a merge or in none."""

    mode: int
    oid: str


class Index:
    """The index in one work tree's git folder. Use it while holding the ledger's lock."""

    def __init__(self, git_folder: Path, claims: Claims, system: System) -> None:
        self._git_folder = git_folder
        self._file = git_folder / "index"
        self._lock = git_folder / "index.lock"
        self._claims = claims
        self._system = system

    def entries(self, below: Collection[bytes]) -> dict[bytes, IndexEntry]:
        """What the index has in some folders, by path from the top of the work tree.

        Raises:
            EnvironmentProblem: git is missing or cannot read the index.
        """
        if not self._file.exists() or not below:
            return {}
        places = [":(top,literal)" + os.fsdecode(folder) for folder in sorted(below)]
        listing = git(["ls-files", "-z", "--stage", "--", *places], git_folder=self._git_folder)
        found: dict[bytes, IndexEntry] = {}
        for line in listing.split(b"\0")[:-1]:
            facts, path = line.split(b"\t", 1)
            mode, oid, _stage = facts.split(b" ")
            found.setdefault(path, IndexEntry(int(mode, 8), oid.decode()))
        return found

    def update(
        self, put: Mapping[bytes, str], take: Collection[bytes] = (), *, seconds: float
    ) -> None:
        """Put in entries (blob ids by path), take out others; wait so long for ``index.lock``.

        Raises:
            EnvironmentProblem: the lock stays, git is missing, or it cannot write the index. The
                index is then as it was.
        """
        lines = [b"0 %s\t%s\0" % (b"0" * 40, path) for path in sorted(take)]
        lines += [b"%o %s\t%s\0" % (REGULAR, put[path].encode(), path) for path in sorted(put)]
        if not lines:
            return
        self._take_lock(seconds)
        try:
            self._rewrite(b"".join(lines))
        except OSError as error:
            raise EnvironmentProblem(
                f"cannot write {self._file}: {error}",
                hint="check the permissions of the git folder and the space that is left",
            ) from error
        finally:
            self._claims.drop(self._lock)

    def _take_lock(self, seconds: float) -> None:
        patience = Patience(self._system, seconds)
        content = f"trialbook {self._system.token(16)}\n".encode()
        while not self._claims.take(self._lock, content):
            if not patience.wait():
                raise EnvironmentProblem(
                    f"{self._lock} is there: another git command works on the index, or one was "
                    "killed",
                    hint="end that command (an open commit message, say); if there is none, remove "
                    "the file",
                )

    def _rewrite(self, lines: bytes) -> None:
        folder = self._git_folder / "trialbook"
        folder.mkdir(exist_ok=True)
        for left in folder.glob("index-*"):
            left.unlink(missing_ok=True)
        # A name of its own: the git of a killed process may still be writing to the last one.
        scratch = folder / f"index-{self._system.token(8)}"
        if self._file.exists():
            # With its time: by it, git tells which entries may have changed unseen.
            shutil.copy2(self._file, scratch)
        git(
            ["update-index", "-z", "--index-info"],
            git_folder=self._git_folder,
            environment={"GIT_INDEX_FILE": str(scratch)},
            stdin=lines,
        )
        scratch.replace(self._file)
