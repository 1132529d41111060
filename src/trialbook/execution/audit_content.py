"""What the audit says of a workspace's objects and files: they are the baseline's, all of them.

What stands just as it was written (in number, size and times) is not read back; whatever does not
is read and hashed.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Mapping
from functools import cached_property
from pathlib import Path

from trialbook.execution.baseline import BASELINE_REF, BRANCH
from trialbook.formats.git_index import IndexEntry
from trialbook.model.paths import path_to_text
from trialbook.model.treepath import leaving_links
from trialbook.storage.files import read_regular
from trialbook.storage.folders import IdsOnly, tree_of_folder
from trialbook.storage.object_ids import object_ids
from trialbook.storage.objects import blob_oid
from trialbook.storage.raw_objects import COMMIT, RawObjects, entry_of
from trialbook.storage.repository import DIRECTORY, SYMLINK


class Content:
    """The rules about objects and about the files of the workspace itself."""

    def __init__(
        self, workspace: Path, git: Path, commit: str, written: Mapping[bytes, IndexEntry]
    ) -> None:
        self._workspace = workspace
        self._git = git
        self._commit = commit
        self._written = written
        self._there = _There(workspace)

    def rules(self) -> dict[str, Callable[[], list[str]]]:
        """The rules that need the repository, by name."""
        return {
            "baseline": self._baseline,
            "objects": self._objects,
            "extra_files": self._extra_files,
            "tree": self._tree,
        }

    def links(self) -> list[str]:
        """Every symlink that leaves the workspace."""
        targets = self._there.links
        return [
            f"{path_to_text(path)} -> {path_to_text(targets[path])}"
            for path in leaving_links(targets)
        ]

    def _baseline(self) -> list[str]:
        wrong = []
        for ref in (BRANCH, BASELINE_REF):
            data = read_regular(self._git / ref)
            if data is None or data.strip() != self._commit.encode():
                wrong.append(f"{ref} is not the baseline commit")
        if self._repository.has_parents:
            wrong.append("the baseline commit has parents")
        return wrong

    def _objects(self) -> list[str]:
        wanted = {self._commit} | self._repository.objects
        found = object_ids(self._git / "objects")
        extra = [f"{oid} does not belong to the baseline" for oid in sorted(found - wanted)]
        return extra + [f"{oid} is missing" for oid in sorted(wanted - found)]

    def _extra_files(self) -> list[str]:
        extra = self._there.files.keys() - self._repository.files.keys()
        return [path_to_text(path) for path in sorted(extra)]

    def _tree(self) -> list[str]:
        if self._as_written():
            return []
        found = tree_of_folder(IdsOnly(), self._workspace, skip_top=frozenset({b".git"}))
        omitted = [f"{file.path}: {file.reason}" for file in found.omitted]
        tree = self._repository.tree
        if found.tree == tree:
            return omitted
        return [f"the files are the tree {found.tree}, the baseline's is {tree}", *omitted]

    def _as_written(self) -> bool:
        """Whether the folder is, entry by entry, what was written, and that is the baseline."""
        there, files, links = self._there, self._repository.files, self._there.links
        if not (there.files.keys() == self._written.keys() == files.keys()):
            return False
        if there.folders != _folders_of(files):
            return False
        for path, (_, mode, oid, status) in self._written.items():
            if not _same(status, there.files[path]) or files[path] != (mode, oid):
                return False
            if mode == SYMLINK and blob_oid(links.get(path, b"")) != oid:
                return False
        return True

    @cached_property
    def _repository(self) -> _Baseline:
        return _Baseline(self._git / "objects", self._commit)


class _Baseline:
    """The commit of a workspace's repository, and all of its tree by what the objects say.

    Raises:
        TrialbookError: an object is missing, or is not what its name says.
        ValueError: the commit is none.
    """

    def __init__(self, folder: Path, commit: str) -> None:
        objects = RawObjects(folder)
        try:
            head = objects.read(bytes.fromhex(commit), COMMIT).partition(b"\n\n")[0].split(b"\n")
            kind, _, tree = head[0].partition(b" ")
            if kind != b"tree":
                raise ValueError("the baseline commit names no tree")
            self.tree = tree.decode()
            self.has_parents = any(line.startswith(b"parent ") for line in head)
            self.objects: set[str] = set()
            self.files: dict[bytes, tuple[int, str]] = {}
            self._read(objects)
        finally:
            objects.close()

    def _read(self, objects: RawObjects) -> None:
        pending = [(b"", self.tree)]
        while pending:
            prefix, tree = pending.pop()
            self.objects.add(tree)
            for name, mode, raw in map(entry_of, objects.tree(bytes.fromhex(tree))):
                oid = raw.hex()
                if mode == DIRECTORY:
                    pending.append((prefix + name + b"/", oid))
                else:
                    self.objects.add(oid)
                    self.files[prefix + name] = mode, oid


class _There:
    """Everything in a workspace but its ``.git``: status of what is no folder, targets of links.

    ``folders`` are the paths of its folders, each with a slash at its end.
    """

    def __init__(self, top: Path) -> None:
        self.files: dict[bytes, os.stat_result] = {}
        self.links: dict[bytes, bytes] = {}
        self.folders: set[bytes] = set()
        pending = [(os.fsencode(top), b"")]
        while pending:
            folder, prefix = pending.pop()
            with os.scandir(folder) as listing:
                for entry in listing:
                    path = prefix + entry.name
                    if path == b".git":
                        continue
                    status = entry.stat(follow_symlinks=False)
                    if stat.S_ISDIR(status.st_mode):
                        self.folders.add(path + b"/")
                        pending.append((entry.path, path + b"/"))
                        continue
                    self.files[path] = status
                    if stat.S_ISLNK(status.st_mode):
                        self.links[path] = os.readlink(entry.path)  # noqa: PTH115 - may be no text


def _folders_of(files: Mapping[bytes, object]) -> set[bytes]:
    """Every folder that files with these paths are in, with a slash at its end."""
    found: set[bytes] = set()
    for path in files:
        at = path.rfind(b"/") + 1
        while at and path[:at] not in found:
            found.add(path[:at])
            at = path.rfind(b"/", 0, at - 1) + 1
    return found


def _same(one: os.stat_result, other: os.stat_result) -> bool:
    return (
        one.st_ino == other.st_ino
        and one.st_ctime_ns == other.st_ctime_ns
        and one.st_mtime_ns == other.st_mtime_ns
        and one.st_size == other.st_size
        and one.st_mode == other.st_mode
        and one.st_dev == other.st_dev
    )
