"""Applying a patch to files held as bytes: strict, at the exact place, without any guessing.

Knows neither trees nor folders: whoever applies a patch says how a file is read, and gets back what
every touched path becomes.
"""

from __future__ import annotations

import hashlib
import stat
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

from trialbook.errors import Refused
from trialbook.formats.patch import FilePatch, FileStatus, Hunk
from trialbook.model.paths import path_to_text
from trialbook.model.treepath import path_problem

_FULL_OID = 40


class Content(NamedTuple):
    """A file as git sees it: mode and bytes (of a link: its target)."""

    mode: int
    data: bytes


Read = Callable[[bytes], Content | None]
"""Gives the file at a path before the patch, None if there is nothing.

May raise `Refused` for what is there but is no file.
"""


def apply_patch(files: Sequence[FilePatch], read: Read) -> dict[bytes, Content | None]:
    """What every path that a patch touches becomes (None: it is gone).

    Renames and copies are made from the files as they were before the patch, as git does; a file
    that two parts of a patch modify gets both, in their order.

    Raises:
        Refused: a path is unsafe, a file or its context is not what the patch expects, or the patch
            is damaged. The message names file and hunk.
    """
    return _Application(files, read).result()


class _Application:
    """A patch on its way: what was there, what will be."""

    def __init__(self, files: Sequence[FilePatch], read: Read) -> None:
        self._files = files
        self._read = read
        self._gone = {
            file.old_path
            for file in files
            if file.status in (FileStatus.DELETED, FileStatus.RENAMED) and file.old_path is not None
        }
        self._written: dict[bytes, Content] = {}
        self._left: set[bytes] = set()

    def result(self) -> dict[bytes, Content | None]:
        for file in self._files:
            _check_paths(file)
            self._apply(file)
        return {**dict.fromkeys(self._gone), **self._written}

    def _apply(self, file: FilePatch) -> None:
        if file.status is FileStatus.ADDED:
            old = Content(file.new_mode or 0, b"")
        else:
            old = self._before(file)
        mode = _mode(file, old.mode)
        data = _new_data(file, old.data)
        if file.new_path is None:
            if data:
                raise _refused(file, "the patch deletes the file but leaves part of it")
            self._written.pop(file.path, None)
            self._left.add(file.path)
            return
        if file.new_path != file.old_path and self._occupied(file.new_path):
            raise _refused(file, "the file is there already")
        if file.status is FileStatus.RENAMED and file.old_path is not None:
            self._left.add(file.old_path)
        self._written[file.new_path] = Content(mode, data)

    def _before(self, file: FilePatch) -> Content:
        path = file.old_path or b""
        moved = file.status in (FileStatus.RENAMED, FileStatus.COPIED)
        old = None if moved else self._written.get(path)
        if old is None and (moved or path not in self._left):
            old = self._read(path)
        if old is None:
            raise _refused(file, f"there is no file {path_to_text(path)}")
        if file.old_mode is not None and stat.S_IFMT(file.old_mode) != stat.S_IFMT(old.mode):
            raise _refused(file, "the patch expects another kind of file")
        return old

    def _occupied(self, path: bytes) -> bool:
        if path in self._written:
            return True
        return path not in self._gone and self._read(path) is not None


def _check_paths(file: FilePatch) -> None:
    for path in (file.old_path, file.new_path):
        if path is not None and (problem := path_problem(path)):
            raise Refused(f"the patch names the path {path_to_text(path)}, which {problem}")


def _mode(file: FilePatch, old: int) -> int:
    mode = old
    if file.status is FileStatus.ADDED or file.mode_changed:
        mode = file.new_mode or 0
    if stat.S_ISREG(mode):
        return 0o100755 if mode & stat.S_IXUSR else 0o100644
    if stat.S_ISLNK(mode):
        return stat.S_IFLNK
    raise _refused(file, "it is a submodule, or has a mode that no file has")


def _new_data(file: FilePatch, old: bytes) -> bytes:
    if file.unreadable_binary:
        raise _refused(
            file,
            "the patch says that two binary files differ, but not how",
            hint="make the patch with `git diff --binary`",
        )
    if file.binary is None:
        return _apply_hunks(file, old)
    _check_oid(file, file.old_oid, old, "is not the file that the patch was made for")
    try:
        data = file.binary.apply(old)
    except Refused as error:
        raise _refused(file, error.message) from error
    _check_oid(file, file.new_oid, data, "does not become what the patch says")
    return data


def _check_oid(file: FilePatch, oid: str | None, data: bytes, problem: str) -> None:
    """Compare with the object id that the patch names, if it names a full one of a file."""
    if oid is None or len(oid) != _FULL_OID or not oid.strip("0"):
        return
    header = b"blob %d\0" % len(data)
    if hashlib.sha1(header + data, usedforsecurity=False).hexdigest() != oid:
        raise _refused(file, problem)


def _apply_hunks(file: FilePatch, old: bytes) -> bytes:
    lines = _lines(old)
    out: list[bytes] = []
    at = 0
    for number, hunk in enumerate(file.hunks, start=1):
        start = hunk.old_start - 1 if hunk.old_count else hunk.old_start
        before = [line.text for line in hunk.lines if line.kind != "+"]
        if start < at or lines[start : start + len(before)] != before:
            raise _refused(file, f"hunk {number}: {_mismatch(hunk, lines, start, before)}")
        out += lines[at:start]
        out += [line.text for line in hunk.lines if line.kind != "-"]
        at = start + len(before)
    out += lines[at:]
    data = b"".join(out)
    # Every line has one newline, at its end; only the last may have none.
    if data.count(b"\n") != len(out) - bool(out and not out[-1].endswith(b"\n")):
        raise _refused(file, "a line without an end comes before the end of the file")
    return data


@lru_cache(maxsize=16)
def _lines(data: bytes) -> list[bytes]:
    """The lines with their ends; only a newline ends one. Not to be changed: it is kept.

    Many patches, one after the other, are often made for the same files.
    """
    parts = data.split(b"\n")
    last = parts.pop()
    lines = [part + b"\n" for part in parts]
    return [*lines, last] if last else lines


def _mismatch(hunk: Hunk, lines: list[bytes], start: int, before: list[bytes]) -> str:
    for offset, wanted in enumerate(before):
        index = start + offset
        found = lines[index] if 0 <= index < len(lines) else None
        if found != wanted:
            if found is None:
                return f"the file has no line {index + 1}; the patch expects {wanted[:80]!r}"
            return f"line {index + 1} is {found[:80]!r}; the patch expects {wanted[:80]!r}"
    return f"it is out of order (line {hunk.old_start})"


def _refused(file: FilePatch, problem: str, *, hint: str = "") -> Refused:
    return Refused(
        f"the patch does not apply to {path_to_text(file.path)}: {problem}",
        hint=hint or "a patch applies to exactly the files that it was made for",
    )
