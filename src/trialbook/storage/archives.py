"""Tar and zip archives as git trees, read in memory: nothing is unpacked to disk.

An archive is somebody else's: every member that would land outside of the folder, twice, or as
something that is neither a file nor a link, is named and the whole archive refused.
"""

from __future__ import annotations

import io
import lzma
import os
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from trialbook.errors import Refused
from trialbook.model.paths import path_to_text
from trialbook.model.treepath import name_problem
from trialbook.storage.folders import LARGEST_BLOB_BYTES
from trialbook.storage.repository import EXECUTABLE, REGULAR, SYMLINK, Store, TreeEntry
from trialbook.storage.trees import Edit, edit_tree, replace_with

LARGEST_ARCHIVE_BYTES = 4 << 30
"""What an archive may unpack to, all files together."""

_SHOWN = 20
_ZIP_UNIX = 3
_ZIP_UTF8 = 0x800
_ZIP_ENCRYPTED = 1
_DAMAGE = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    UnicodeError,
    NotImplementedError,
    RuntimeError,
)


class _Member(NamedTuple):
    """One member: its raw name and what it is.

    ``mode`` is a git mode, or 0 for a folder; ``data`` is the content or a link's target;
    ``same_as`` names the member that a hard link repeats; ``problem`` says why it cannot be used.
    """

    name: bytes
    mode: int = 0
    data: bytes = b""
    same_as: bytes | None = None
    problem: str | None = None


def tree_of_archive(store: Store, path: Path, shown: str) -> str:
    """Store what an archive holds; a single folder at its top is stripped.

    Args:
        store: Where the objects go.
        path: A tar archive (plain, gzip, bzip2, xz) or a zip archive.
        shown: What messages call it.

    Raises:
        Refused: it cannot be read, is too large, or has members that cannot be used; the message
            names them.
    """
    reading = _Reading(store)
    try:
        with path.open("rb") as file:
            is_zip = file.read(4) in (b"PK\3\4", b"PK\5\6")
            file.seek(0)
            for member in _zip_members(file) if is_zip else _tar_members(file):
                reading.take(member)
    except _DAMAGE as error:
        raise Refused(f"{shown} cannot be read as an archive: {error}") from error
    if reading.problems:
        more = len(reading.problems) - _SHOWN
        listed = "; ".join(reading.problems[:_SHOWN]) + (f"; and {more} more" if more > 0 else "")
        raise Refused(f"{shown} has members that cannot be used: {listed}")
    if not reading.files:
        raise Refused(f"{shown} holds no files")
    return _tree(store, reading.files)


class _Reading:
    """The files read so far, by clean path with mode and blob, and everything that was wrong."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.files: dict[bytes, tuple[int, str]] = {}
        self.problems: list[str] = []
        self._folders: set[bytes] = set()
        self._bytes = 0

    def take(self, member: _Member) -> None:
        """Take one member in, or note what is wrong with it."""
        problem = member.problem or self._misplaced(member.name)
        path = _clean(member.name)
        if problem is None and member.mode:
            problem = self._add(path, member)
        elif problem is None and path:
            problem = self._add_folder(path)
        if problem is not None:
            self.problems.append(f"{path_to_text(member.name)} {problem}")

    @staticmethod
    def _misplaced(name: bytes) -> str | None:
        if name.startswith(b"/"):
            return "is absolute"
        parts = (part for part in name.split(b"/") if part not in (b"", b"."))
        return next((problem for part in parts if (problem := name_problem(part))), None)

    def _add(self, path: bytes, member: _Member) -> str | None:
        if not path:
            return "is no folder, but has the name of the top"
        if path in self.files:
            return "is there twice"
        if path in self._folders:
            return "is a file and a folder"
        self._bytes += len(member.data)
        if self._bytes > LARGEST_ARCHIVE_BYTES:
            raise Refused(f"the archive unpacks to more than {LARGEST_ARCHIVE_BYTES} bytes")
        if member.same_as is None:
            self.files[path] = (member.mode, self._store.add_blob(member.data))
        else:
            found = self.files.get(_clean(member.same_as))
            if found is None:
                shown = path_to_text(member.same_as)
                return f"is a hard link to {shown}, which is no file before it"
            self.files[path] = found
        return self._add_folder(path.rpartition(b"/")[0])

    def _add_folder(self, path: bytes) -> str | None:
        while path:
            if path in self.files:
                return f"needs a folder where the file or link {path_to_text(path)} is"
            self._folders.add(path)
            path = path.rpartition(b"/")[0]
        return None


def _clean(name: bytes) -> bytes:
    return b"/".join(part for part in name.split(b"/") if part not in (b"", b"."))


def _tree(store: Store, files: dict[bytes, tuple[int, str]]) -> str:
    tops = {path.partition(b"/")[0] for path in files}
    strip = len(tops) == 1 and all(b"/" in path for path in files)
    edits: dict[bytes, Edit] = {}
    for path, (mode, oid) in files.items():
        entry = TreeEntry(path.rpartition(b"/")[2], mode, oid)
        edits[path.partition(b"/")[2] if strip else path] = replace_with(entry)
    return edit_tree(store, store.add_tree([]), edits)


def _tar_members(file: io.BufferedReader) -> Iterator[_Member]:
    with tarfile.open(
        fileobj=file, mode="r:*", encoding="utf-8", errors="surrogateescape"
    ) as archive:
        for info in archive:
            yield _tar_member(archive, info)


def _tar_member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> _Member:
    name = os.fsencode(info.name)
    if info.isdir():
        return _Member(name)
    if info.issym():
        return _Member(name, SYMLINK, os.fsencode(info.linkname))
    if info.islnk():
        return _Member(name, REGULAR, same_as=os.fsencode(info.linkname))
    if not info.isreg():
        return _Member(name, problem="is a device, a pipe or another special file")
    content = archive.extractfile(info) if info.size <= LARGEST_BLOB_BYTES else None
    if content is None:
        return _Member(name, problem=f"is larger than {LARGEST_BLOB_BYTES} bytes")
    return _Member(name, _mode(info.mode), content.read())


def _zip_members(file: io.BufferedReader) -> Iterator[_Member]:
    with zipfile.ZipFile(file) as archive:
        for info in archive.infolist():
            yield _zip_member(archive, info)


def _zip_member(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> _Member:
    encoding = "utf-8" if info.flag_bits & _ZIP_UTF8 else "cp437"
    name = info.orig_filename.encode(encoding)
    mode = info.external_attr >> 16 if info.create_system == _ZIP_UNIX else 0
    kind = stat.S_IFMT(mode)
    if info.is_dir():
        return _Member(name)
    if info.flag_bits & _ZIP_ENCRYPTED:
        return _Member(name, problem="is encrypted")
    if kind not in (0, stat.S_IFREG, stat.S_IFLNK):
        return _Member(name, problem="is a device, a pipe or another special file")
    with archive.open(info) as content:
        data = content.read(LARGEST_BLOB_BYTES + 1)
    if len(data) > LARGEST_BLOB_BYTES:
        return _Member(name, problem=f"is larger than {LARGEST_BLOB_BYTES} bytes")
    return _Member(name, SYMLINK if kind == stat.S_IFLNK else _mode(mode), data)


def _mode(permissions: int) -> int:
    return EXECUTABLE if permissions & stat.S_IXUSR else REGULAR
