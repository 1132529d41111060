"""The user's work tree and index, kept in step with what the ledger commits.

Before anything is put in place, a note in the git folder says what; it goes when the commit is made
and everything is in place. So whoever comes after a crash, or after a time when the index was
locked, knows exactly which paths may be out of step, and touches no others.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

from trialbook.errors import EnvironmentProblem
from trialbook.formats.records import RecordError, from_json, to_json
from trialbook.model.paths import path_to_text, text_to_path
from trialbook.storage.claims import Claims
from trialbook.storage.files import read_regular, remove_unfinished, write_atomic
from trialbook.storage.index import Index
from trialbook.storage.objects import REGULAR, blob_oid
from trialbook.storage.repository import Repository
from trialbook.system import System


class WorkTree:
    """The work tree that a ledger's root is in. Use it while holding the ledger's lock."""

    def __init__(self, repository: Repository, top: Path, root: Path, system: System) -> None:
        self._repository = repository
        self._store = repository.store
        self._top = top
        self._runs = root / "runs"
        self._system = system
        self._state = repository.git_folder.resolve() / "trialbook"
        claims = Claims(repository.common_folder)
        self._index = Index(repository.git_folder.resolve(), claims, system)

    def note(self, files: Mapping[bytes, str]) -> Path:
        """Note down that files (blob ids by path) are about to be put in place."""
        path = self._state / "pending" / f"{self._system.token(8)}.json"
        write_atomic(path, to_json({path_to_text(name): oid for name, oid in files.items()}))
        return path

    def notes(self) -> list[Path]:
        """Notes that are still there: what they name may be out of step."""
        return sorted((self._state / "pending").glob("*.json"))

    def place(
        self, files: Mapping[bytes, str], read: Callable[[str], bytes], *, seconds: float
    ) -> None:
        """Write files and put them into the index; wait so long for the index.

        ``files`` gives blob ids by path, ``read`` the bytes of a blob. Another file that is at one
        of the paths is moved to ``trialbook/displaced`` in the git folder.

        Raises:
            EnvironmentProblem: a file cannot be written, or the index cannot be.
        """
        checked: set[bytes] = set()
        for path, oid in files.items():
            target = self._target(path)
            self._check_folders(path, checked)
            data = read(oid)
            if read_regular(target) != data:
                if os.path.lexists(target):
                    self._displace(target, path)
                write_atomic(target, data)
        self._index.update(files, seconds=seconds)

    def settle(self, below: bytes | None, *, seconds: float) -> None:
        """Bring what notes name back into step with HEAD, then remove the notes.

        Only notes that name something ``below`` a folder, or all of them.

        What HEAD has comes into the index and the work tree; what a note had put there and HEAD has
        not goes. Whatever somebody else has changed meanwhile stays.

        Raises:
            EnvironmentProblem: the index cannot be read or written; the notes stay.
        """
        remove_unfinished(self._state / "pending")
        notes = {note: _read(note) for note in self.notes()}
        if below is not None:
            notes = {
                note: files
                for note, files in notes.items()
                if any(path.startswith(below) for path in files)
            }
        if not notes:
            return
        placed = {path: oid for files in notes.values() for path, oid in files.items()}
        head = self._repository.read_ref("HEAD")
        tree = self._store.commit(head).tree if head else None
        wanted = {path: self._in_tree(tree, path) for path in placed}
        for path, oid in placed.items():
            self._settle_file(path, oid, wanted[path])
        there = self._index.entries({path.rpartition(b"/")[0] for path in placed})
        put: dict[bytes, str] = {}
        take: set[bytes] = set()
        for path, oid in placed.items():
            entry = there.get(path)
            goal = wanted[path]
            ours = entry is not None and (entry.mode, entry.oid) == (REGULAR, oid)
            if goal is not None and (entry is None or (ours and goal != oid)):
                put[path] = goal
            elif goal is None and ours:
                take.add(path)
        self._index.update(put, take, seconds=seconds)
        for note in notes:
            note.unlink(missing_ok=True)

    def _settle_file(self, path: bytes, oid: str, goal: str | None) -> None:
        target = self._target(path)
        remove_unfinished(target.parent)
        data = read_regular(target)
        if goal is None:
            if data is not None and blob_oid(data) == oid:
                target.unlink()
                self._remove_empty(target.parent)
        elif not os.path.lexists(target) or (data is not None and blob_oid(data) == oid != goal):
            self._check_folders(path, set())
            write_atomic(target, self._store.blob(goal))

    def _in_tree(self, tree: str | None, path: bytes) -> str | None:
        entry = self._store.lookup(path, tree) if tree else None
        return entry.oid if entry is not None and entry.mode == REGULAR else None

    def _target(self, path: bytes) -> Path:
        return self._top / os.fsdecode(path)

    def _check_folders(self, path: bytes, checked: set[bytes]) -> None:
        end = path.find(b"/")
        while end >= 0:
            folder = path[:end]
            end = path.find(b"/", end + 1)
            if folder in checked:
                continue
            with suppress(FileNotFoundError):
                if not stat.S_ISDIR(self._target(folder).lstat().st_mode):
                    name = os.fsdecode(path.rpartition(b"/")[2])
                    raise EnvironmentProblem(
                        f"{self._target(folder)} is not a folder, so {name} cannot be put below it",
                        hint="move it away; `git status` then shows what is missing",
                    )
            checked.add(folder)

    def _displace(self, target: Path, path: bytes) -> None:
        if target.is_symlink() or target.is_dir():
            raise EnvironmentProblem(
                f"{target} is in the way of a file of the ledger", hint="move it away"
            )
        data = read_regular(target)
        if data is not None:
            name = f"{self._system.token(4)}/{os.fsdecode(path)}"
            write_atomic(self._state / "displaced" / name, data)

    def _remove_empty(self, folder: Path) -> None:
        while folder.is_relative_to(self._runs) and folder.is_dir() and not any(folder.iterdir()):
            folder.rmdir()
            folder = folder.parent


def _read(note: Path) -> dict[bytes, str]:
    try:
        files = from_json(dict[str, str], note.read_bytes(), str(note))
    except RecordError as error:
        raise EnvironmentProblem(
            error.message, hint="remove the file, and look at what `git status` says of runs/"
        ) from error
    return {text_to_path(name): oid for name, oid in files.items()}
