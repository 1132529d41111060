"""The difference of two trees as a patch, by C git on objects alone.

git runs with a git folder made for the occasion: no configuration but the defaults, no attributes,
no index, no work tree. Every option that changes a patch's bytes is given, so that two versions of
git and two operators get the same.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from trialbook.errors import EnvironmentProblem
from trialbook.process import git
from trialbook.storage.files import fresh_folder
from trialbook.storage.repository import Store

_RENAMES = ("-r", "--find-renames=50%", "-l1000", "--ignore-submodules=none")
_PATCH = (
    "--patch",
    "--binary",
    "--full-index",
    "--unified=3",
    "--inter-hunk-context=0",
    "--diff-algorithm=myers",
    "--indent-heuristic",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--submodule=short",
    "--no-ext-diff",
    "--no-textconv",
    "--no-color",
    "--no-relative",
)
_STATUS = {"A": "added", "D": "deleted", "M": "modified", "T": "modified", "R": "renamed"}


class Difference(NamedTuple):
    """One path that differs. Counts are None for binary files; ``old_path`` is for renames."""

    status: str
    path: bytes
    old_path: bytes | None
    insertions: int | None
    deletions: int | None


class TreeDiff(NamedTuple):
    """The patch from one tree to another, and the paths in it in git's order."""

    patch: bytes
    differences: tuple[Difference, ...]


def diff_trees(store: Store, old: str, new: str, *, work: Path) -> TreeDiff:
    """Compare two trees of a store; what git needs for it lies below ``work`` meanwhile.

    Raises:
        EnvironmentProblem: git is missing or fails.
    """
    if old == new:
        return TreeDiff(b"", ())
    with fresh_folder(work) as folder:
        _write_git_folder(folder)
        environment = {"GIT_OBJECT_DIRECTORY": str(store.folder.absolute())}

        def diff(*options: str) -> bytes:
            arguments = ["-c", "core.quotePath=true", "diff-tree", *_RENAMES, *options, old, new]
            return git(arguments, git_folder=folder, environment=environment)

        patch = diff(*_PATCH)
        listing = diff("--raw", "--numstat", "-z", "--no-abbrev", "--no-ext-diff", "--no-textconv")
    return TreeDiff(patch, tuple(_differences(listing)))


def _write_git_folder(folder: Path) -> None:
    (folder / "refs").mkdir()
    (folder / "HEAD").write_bytes(b"ref: refs/heads/none\n")
    (folder / "config").write_bytes(b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n")


def _differences(listing: bytes) -> list[Difference]:
    """Join the two halves of the listing: status and paths first, then counts in the same order."""
    fields = listing.split(b"\0")
    at = 0
    entries: list[tuple[str, bytes, bytes | None]] = []
    while fields[at].startswith(b":"):
        letter = chr(fields[at].rpartition(b" ")[2][0])
        if letter not in _STATUS:
            raise EnvironmentProblem(f"git reported a change of an unknown kind: {letter}")
        old = fields[at + 1] if letter == "R" else None
        at += 2 if old is None else 3
        entries.append((_STATUS[letter], fields[at - 1], old))
    counts: dict[bytes, tuple[int | None, int | None]] = {}
    while at < len(fields) and fields[at]:
        added, deleted, path = fields[at].split(b"\t", 2)
        if not path:
            path = fields[at + 2]
            at += 2
        counts[path] = (_count(added), _count(deleted))
        at += 1
    return [Difference(status, path, old, *counts[path]) for status, path, old in entries]


def _count(field: bytes) -> int | None:
    return None if field == b"-" else int(field)
