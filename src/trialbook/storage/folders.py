"""From a folder on disk to a git tree: an own walk that trusts nothing it finds.

Links are never followed, special files never opened, and whatever git could not store is listed
instead. Folders are held open by descriptor while they are read, so that a path cannot be swapped
for a link between a look and a read.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import stat
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from trialbook.model.change import OmittedFile
from trialbook.model.paths import path_to_text
from trialbook.model.treepath import is_git_name
from trialbook.storage.disk import doing
from trialbook.storage.repository import (
    DIRECTORY,
    EXECUTABLE,
    REGULAR,
    SYMLINK,
    TreeEntry,
)

LARGEST_BLOB_BYTES = 1 << 30
"""No file above this goes into a tree, whatever the caller's limit: git objects are made whole."""

HASHED_BYTES = 4 << 30
"""How much of omitted files is read for their digests in one walk. A sparse file may claim any
size; what does not fit is listed without a digest."""

DEEPEST = 100
LONGEST_PATH_BYTES = 3500
"""Folders below these are listed, not read: no other program could open what is in them."""

_CHUNK = 1 << 20
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_SPECIAL = {
    stat.S_IFIFO: "a named pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a character device",
    stat.S_IFBLK: "a block device",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class FolderTree:
    """A folder's content as a git tree, and what could not be part of it."""

    tree: str
    omitted: tuple[OmittedFile, ...]


class Sink(Protocol):
    """Where the objects of a walk go; `Store` is one."""

    def add_blob(self, data: bytes) -> str:
        """Take a file's bytes; gives their id."""
        ...

    def add_tree(self, entries: Iterable[TreeEntry]) -> str:
        """Take a folder's entries; gives the tree's id."""
        ...


def tree_of_folder(
    store: Sink,
    folder: Path,
    *,
    file_limit_bytes: int | None = None,
    skip_top: frozenset[bytes] = frozenset(),
    known: Callable[[bytes], str | None] = lambda _: None,
) -> FolderTree:
    """Store what a folder holds: exact bytes, the executable bit, links as links.

    Empty folders leave no trace, as in git. What its owner may not open is made readable first.

    Args:
        store: Where the objects go.
        folder: What is read. A link in its place is an error.
        file_limit_bytes: Files above it are listed, not stored.
        skip_top: Names directly in ``folder`` that are passed over in silence.
        known: The blob that is known to be at a path. A file above the limit that is just that
            stays in the tree: leaving it out would look like a deletion.

    Raises:
        EnvironmentProblem: ``folder`` itself cannot be read.
    """
    walk = _Walk(store, file_limit_bytes, known)
    parent, name = os.path.split(os.path.abspath(folder))  # noqa: PTH100 - resolve follows links
    with doing(f"read the folder {folder}"):
        above = os.open(parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            with _opened(above, os.fsencode(name or "."), _FOLDER_FLAGS) as handle:
                entries = walk.entries(handle, b"", skip_top)
        finally:
            os.close(above)
    omitted = tuple(sorted(walk.omitted, key=lambda file: file.path.encode()))
    return FolderTree(tree=store.add_tree(entries), omitted=omitted)


class _Changed(Exception):
    """What was a file when its folder was listed is none any more."""


class _Walk:
    """One walk: where objects go, what is left of the reading allowance, what was left out."""

    def __init__(
        self,
        store: Sink,
        file_limit_bytes: int | None,
        known: Callable[[bytes], str | None],
    ) -> None:
        self._store = store
        self._known = known
        self._limit = LARGEST_BLOB_BYTES
        if file_limit_bytes is not None:
            self._limit = min(file_limit_bytes, LARGEST_BLOB_BYTES)
        self._allowance = HASHED_BYTES
        self.omitted: list[OmittedFile] = []

    def entries(
        self, handle: int, prefix: bytes, skip: frozenset[bytes] = frozenset()
    ) -> list[TreeEntry]:
        """The tree entries of an open folder, in the order of their names."""
        _make_usable(handle)
        with os.scandir(handle) as listing:
            there = sorted((os.fsencode(entry.name), entry) for entry in listing)
        found = []
        for name, listed in there:
            entry = None if name in skip else self._entry(handle, name, prefix + name, listed)
            if entry is not None:
                found.append(entry)
        return found

    def _entry(
        self, parent: int, name: bytes, path: bytes, listed: os.DirEntry[str]
    ) -> TreeEntry | None:
        if is_git_name(name):
            self._omit(path, "a .git component: repositories inside the workspace are not kept")
            return None
        try:
            return self._kept(parent, name, path, listed)
        except FileNotFoundError:
            # It went away while the walk was on its way: it is not part of the final state.
            return None
        except OSError as error:
            self._omit(path, f"cannot be read: {error.strerror}")
            return None

    def _kept(
        self, parent: int, name: bytes, path: bytes, listed: os.DirEntry[str]
    ) -> TreeEntry | None:
        if listed.is_file(follow_symlinks=False):
            try:
                return self._file(parent, name, path)
            except _Changed:
                pass  # looked at again, without what the listing says
        status = os.stat(name, dir_fd=parent, follow_symlinks=False)
        if stat.S_ISREG(status.st_mode):
            with contextlib.suppress(_Changed):
                return self._file(parent, name, path)
            self._omit(path, "changed its kind while it was read")
            return None
        if stat.S_ISLNK(status.st_mode):
            target = os.readlink(name, dir_fd=parent)
            return TreeEntry(name, SYMLINK, self._store.add_blob(target))
        if stat.S_ISDIR(status.st_mode):
            return self._folder(parent, name, path)
        kind = _SPECIAL.get(stat.S_IFMT(status.st_mode), "not a regular file")
        self._omit(path, f"{kind}, which git cannot store")
        return None

    def _folder(self, parent: int, name: bytes, path: bytes) -> TreeEntry | None:
        if path.count(b"/") >= DEEPEST or len(path) > LONGEST_PATH_BYTES:
            self._omit(path, "a folder nested too deep to be read by ordinary programs")
            return None
        with _opened(parent, name, _FOLDER_FLAGS) as handle:
            inside = self.entries(handle, path + b"/")
        return TreeEntry(name, DIRECTORY, self._store.add_tree(inside)) if inside else None

    def _file(self, parent: int, name: bytes, path: bytes) -> TreeEntry | None:
        try:
            handle, mode = os.open(name, _FILE_FLAGS, dir_fd=parent), None
        except PermissionError:
            mode = _mode(os.stat(name, dir_fd=parent, follow_symlinks=False))
            handle = _open_anyway(parent, name, _FILE_FLAGS)
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise _Changed from error
            raise
        try:
            now = os.fstat(handle)
            if not stat.S_ISREG(now.st_mode):
                raise _Changed
            data = None
            if now.st_size <= self._limit:
                data = _read(handle, now.st_size, self._limit)
            oid = self._large(handle, path) if data is None else self._store.add_blob(data)
        finally:
            os.close(handle)
        return None if oid is None else TreeEntry(name, mode or _mode(now), oid)

    def _omit(self, path: bytes, reason: str) -> None:
        self.omitted.append(
            OmittedFile(path=path_to_text(path), bytes=None, sha256=None, reason=reason)
        )

    def _large(self, handle: int, path: bytes) -> str | None:
        """List a file above the limit, unless it is what is known to be there: then its id."""
        size = os.fstat(handle).st_size
        reason = f"larger than the limit of {self._limit} bytes"
        digest = None
        if size <= self._allowance:
            self._allowance -= size
            size, digest, oid = _digests(handle, size)
            if oid == self._known(path):
                return oid
        else:
            reason += ", and too large for a digest"
        self.omitted.append(
            OmittedFile(path=path_to_text(path), bytes=size, sha256=digest, reason=reason)
        )
        return None


@contextlib.contextmanager
def _opened(parent: int, name: bytes, flags: int) -> Iterator[int]:
    """Open below ``parent``; what its owner may not open is given the right to first."""
    try:
        handle = os.open(name, flags, dir_fd=parent)
    except PermissionError:
        handle = _open_anyway(parent, name, flags)
    try:
        yield handle
    finally:
        os.close(handle)


def _open_anyway(parent: int, name: bytes, flags: int) -> int:
    # By way of a descriptor that cannot be a link: chmod itself would follow one.
    pinned = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        Path(f"/proc/self/fd/{pinned}").chmod(0o700)
    finally:
        os.close(pinned)
    return os.open(name, flags, dir_fd=parent)


def _mode(status: os.stat_result) -> int:
    return EXECUTABLE if status.st_mode & stat.S_IXUSR else REGULAR


def _make_usable(handle: int) -> None:
    """Give an open folder the bits that are needed to look at what it holds."""
    mode = os.fstat(handle).st_mode
    if mode & stat.S_IRWXU != stat.S_IRWXU:
        # Not ours, or read-only: the look at the entries says so, entry by entry.
        with contextlib.suppress(OSError):
            os.fchmod(handle, stat.S_IMODE(mode) | stat.S_IRWXU)


def _read(handle: int, size: int, limit: int) -> bytes | None:
    """All of a file that had so many bytes, or None if it has more than ``limit``."""
    parts: list[bytes] = []
    read = 0
    while read <= limit:
        # One byte more than it had: where a read falls short of what it asks for, there is no more.
        wanted = size + 1 - read if read <= size else _CHUNK
        wanted = min(wanted, _CHUNK, limit + 1 - read)
        part = os.read(handle, wanted)
        parts.append(part)
        read += len(part)
        if len(part) < wanted:
            return b"".join(parts)
    os.lseek(handle, 0, os.SEEK_SET)
    return None


def _digests(handle: int, size: int) -> tuple[int, str, str]:
    """Length, sha256 and blob id of a file, in pieces; one that grows is not followed far."""
    digest = hashlib.sha256()
    blob = hashlib.sha1(b"blob %d\0" % size, usedforsecurity=False)
    seen = 0
    while seen < size + _CHUNK and (part := os.read(handle, _CHUNK)):
        digest.update(part)
        blob.update(part)
        seen += len(part)
    return seen, digest.hexdigest(), blob.hexdigest()


class IdsOnly:
    """A `Sink` that keeps nothing: for the id of a folder's tree alone."""

    def add_blob(self, data: bytes) -> str:
        """The id of a file's bytes."""
        return _object_id(b"blob", data)

    def add_tree(self, entries: Iterable[TreeEntry]) -> str:
        """The id of a folder's entries."""
        ordered = sorted(entries, key=lambda e: e.name + b"/" if e.mode == DIRECTORY else e.name)
        raw = [b"%o %s\0" % (e.mode, e.name) + bytes.fromhex(e.oid) for e in ordered]
        return _object_id(b"tree", b"".join(raw))


def _object_id(kind: bytes, data: bytes) -> str:
    header = b"%s %d\0" % (kind, len(data))
    return hashlib.sha1(header + data, usedforsecurity=False).hexdigest()
