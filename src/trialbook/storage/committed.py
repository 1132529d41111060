"""What the branch that is checked out has committed below a ledger's root."""

from __future__ import annotations

import os
from pathlib import Path

from trialbook.model.digest import sha256
from trialbook.storage.repository import DIRECTORY, GITLINK, Repository, Store


class Committed:
    """The files of one commit. ``head`` is its id; empty if there is no commit yet."""

    def __init__(self, store: Store, head: str, prefix: bytes) -> None:
        self._store = store
        self._prefix = prefix
        self._tree = store.commit(head).tree if head else ""
        self.head = head

    @classmethod
    def at_head(cls, root: Path) -> Committed:
        """The newest commit of the repository that the folder ``root`` is in.

        Raises:
            EnvironmentProblem: it is in none.
        """
        repository = Repository.discover(root)
        top = repository.work_tree
        inside = "." if top is None else os.path.relpath(root.resolve(), top.resolve())
        prefix = b"" if inside == "." else os.fsencode(inside) + b"/"
        return cls(repository.store, repository.read_ref(repository.head_ref()) or "", prefix)

    def data(self, path: bytes) -> bytes | None:
        """The bytes of a file, or None if there is none."""
        found = self._found(path)
        return None if found is None else found[1]

    def entry(self, path: bytes) -> str | None:
        """A file's mode and sha256 as a lock writes them, or None if there is none."""
        found = self._found(path)
        return None if found is None else f"{found[0]:06o} {sha256(found[1])}"

    def _found(self, path: bytes) -> tuple[int, bytes] | None:
        if not self._tree:
            return None
        entry = self._store.lookup(self._prefix + path, self._tree)
        if entry is None or entry.mode in (DIRECTORY, GITLINK):
            return None
        return entry.mode, self._store.blob(entry.oid)

    def close(self) -> None:
        """Free file handles."""
        self._store.close()
