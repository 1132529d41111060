"""New objects of one or more commits, in memory until they are written together.

Trees that are built upon again (as those of a run are, trial after trial) are kept ready, so that
nothing needs to be read back.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Container

from trialbook.errors import EnvironmentProblem
from trialbook.storage.objects import Signature, commit_bytes, object_id
from trialbook.storage.own_packs import NewObject
from trialbook.storage.pack_writer import Likeness
from trialbook.storage.repository import Store
from trialbook.storage.tree_folder import Folder

_COMMIT, _TREE, _BLOB = 1, 2, 3
_MOST_FOLDERS = 64
_MOST_KNOWN = 1 << 16


class Batch:
    """What is to be written. Trees that are asked for may be new ones or those of the store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._new: dict[str, NewObject] = {}
        self._folders: dict[str, Folder] = {}
        self._known: set[str] = set()

    def add_blob(self, data: bytes, path: bytes) -> str:
        """Take a file's bytes; gives their id."""
        oid = object_id("blob", data)
        like = _kind(b"blob", path)
        return self._add(NewObject(oid, _BLOB, data, Likeness(like, like)))

    def add_folder(self, content: Folder, path: bytes) -> str:
        """Take a folder; gives the tree's id."""
        raw = content.raw()
        oid = object_id("tree", raw)
        like = Likeness(zlib.crc32(path, _TREE), _kind(b"tree", path))
        text = self._add(NewObject(oid, _TREE, raw, like))
        if len(self._folders) >= _MOST_FOLDERS:
            self._folders.pop(next(iter(self._folders)))
        self._folders[text] = content
        return text

    def add_commit(
        self,
        tree: str,
        parent: str | None,
        author: Signature,
        message: str,
        sign: Callable[[bytes], bytes | None] = lambda _: None,
    ) -> str:
        """Take a commit; gives its id."""
        raw = commit_bytes(tree, [parent] if parent else [], author, message, sign)
        like = _kind(b"commit", b"")
        return self._add(NewObject(object_id("commit", raw), _COMMIT, raw, Likeness(like, like)))

    def folder_of(self, tree: str) -> Folder:
        """A tree as a folder, given away: it may be changed.

        Raises:
            KeyError: there is no such tree.
            EnvironmentProblem: it is damaged.
        """
        ready = self._folders.pop(tree, None)
        if ready is not None:
            return ready
        new = self._new.get(tree)
        raw = self._store.tree_bytes(tree) if new is None else new.data
        try:
            return Folder(raw)
        except ValueError as error:
            raise EnvironmentProblem(
                f"the git object {tree} is damaged: {error}",
                hint="`git fsck` says what else is; fetch it again from a clone that has it",
            ) from error

    def blob(self, oid: str) -> bytes:
        """A file's bytes, new or from the store.

        Raises:
            KeyError: there is no such blob.
        """
        new = self._new.get(oid)
        return self._store.blob(oid) if new is None else new.data

    def objects(self, blobs: Container[str]) -> list[NewObject]:
        """What is to be written: of the blobs only these, since the rest is there already."""
        return [
            new
            for text, new in self._new.items()
            if text not in self._known and (new.kind != _BLOB or text in blobs)
        ]

    def written(self) -> None:
        """Forget what is on the disk now and belongs to the branch; trees are kept ready."""
        if len(self._known) > _MOST_KNOWN:
            self._known.clear()
        self._known.update(self._new)
        self._new.clear()

    def forget(self) -> None:
        """Forget everything: commits that are not made, or a branch that others have moved."""
        self._new.clear()
        self._folders.clear()
        self._known.clear()

    def _add(self, new: NewObject) -> str:
        text = new.oid.hex()
        self._new[text] = new
        return text


def _kind(what: bytes, path: bytes) -> int:
    """A number for what is likely to resemble each other: the same name at the same depth."""
    return zlib.crc32(b"%b %d %b" % (what, path.count(b"/"), path.rpartition(b"/")[2]))
