"""What an agent did: the final state of its workspace against our own copy of the baseline.

The workspace's ``.git`` is never used in any way. It may be gone, enormous, a link, or full of
configuration that runs programs; it decides nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from pathlib import Path

from trialbook.api import ChangedFile
from trialbook.model.change import OmittedFile
from trialbook.model.paths import path_to_text, text_to_path
from trialbook.storage.folders import IdsOnly
from trialbook.storage.repository import DIRECTORY, Store, TreeEntry
from trialbook.storage.tree_diff import diff_trees
from trialbook.storage.trees import FolderTree, tree_of_folder

_MOST_COUNTED = 1_000
_MOST_BYTES_COUNTED = 100_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A workspace's final tree, and the patch that turns the baseline's tree into it.

    ``omitted`` lists what is in the folder but not in the tree: files above the limit with size and
    digest, and what git cannot store. ``lines_before`` has, by old path, how many lines the files
    had that lines are gone from.
    """

    tree: str
    patch: bytes
    changed: tuple[ChangedFile, ...]
    omitted: tuple[OmittedFile, ...]
    lines_before: Mapping[str, int] = field(default_factory=dict)

    @property
    def anything(self) -> bool:
        """Whether anything differs, be it in the patch or too large for it."""
        return bool(self.changed or self.omitted)

    @property
    def insertions(self) -> int:
        """How many lines are new, binary files left out."""
        return sum(file.insertions or 0 for file in self.changed)

    @property
    def deletions(self) -> int:
        """How many lines are gone, binary files left out."""
        return sum(file.deletions or 0 for file in self.changed)


class _New:
    """A sink that hands on to the store only what it is not known to have."""

    def __init__(self, store: Store, there: AbstractSet[str]) -> None:
        self._store = store
        self._there = there
        self._ids = IdsOnly()

    def add_blob(self, data: bytes) -> str:
        """Take a file's bytes; gives their id."""
        oid = self._ids.add_blob(data)
        return oid if oid in self._there else self._store.add_blob(data)

    def add_tree(self, entries: Iterable[TreeEntry]) -> str:
        """Take a folder's entries; gives the tree's id."""
        listed = list(entries)
        oid = self._ids.add_tree(listed)
        return oid if oid in self._there else self._store.add_tree(listed)


def capture(
    workspace: Path,
    baseline_tree: str,
    store: Store,
    *,
    file_limit_bytes: int | None,
    work: Path,
    there: AbstractSet[str] = frozenset(),
) -> Change:
    """Read a workspace that an agent has left; new objects go into the store.

    Files that git would ignore and work that the agent committed are part of it like any other. A
    file above the limit that is the baseline's own stays in the tree. Every file is read, whatever
    its times say: an agent may write to memory that a file is mapped into.

    Args:
        workspace: The folder.
        baseline_tree: What it held before.
        store: Where the objects are.
        file_limit_bytes: Larger files are listed, not stored.
        work: Where a folder can be made while it lasts.
        there: Ids of objects that the store has.

    Raises:
        EnvironmentProblem: the folder cannot be read, or git fails.
    """

    def known(path: bytes) -> str | None:
        return _file_at(store, baseline_tree, path)

    if workspace.is_dir() and not workspace.is_symlink():
        found = tree_of_folder(
            _New(store, there),
            workspace,
            file_limit_bytes=file_limit_bytes,
            skip_top=frozenset({b".git"}),
            known=known,
        )
    else:
        # An agent may remove or replace the very folder it was given: then nothing is left.
        found = FolderTree(tree=store.add_tree([]), omitted=())
    return change_between(store, baseline_tree, found, work=work)


def change_between(store: Store, baseline_tree: str, final: FolderTree, *, work: Path) -> Change:
    """The change from one tree to what a folder was found to hold; what git needs is in ``work``.

    Raises:
        EnvironmentProblem: git is missing or fails.
    """

    def known(path: bytes) -> str | None:
        return _file_at(store, baseline_tree, path)

    patch, changed = difference_of(store, baseline_tree, final.tree, work=work)
    return Change(
        tree=final.tree,
        patch=patch,
        changed=changed,
        omitted=final.omitted,
        lines_before=_lines_before(changed, known, store),
    )


def _file_at(store: Store, tree: str, path: bytes) -> str | None:
    """The id of the file or link at a path, or None."""
    entry = store.lookup(path, tree)
    return None if entry is None or entry.mode == DIRECTORY else entry.oid


def _lines_before(
    changed: Iterable[ChangedFile], known: Callable[[bytes], str | None], store: Store
) -> dict[str, int]:
    """How many lines the files had that lines are gone from, by their old paths."""
    found: dict[str, int] = {}
    read = 0
    for file in changed:
        path = file.old_path or file.path
        oid = known(text_to_path(path)) if file.deletions else None
        if oid is None:
            continue
        if len(found) >= _MOST_COUNTED or read > _MOST_BYTES_COUNTED:
            break
        data = store.blob(oid)
        read += len(data)
        found[path] = data.count(b"\n") + (not data.endswith(b"\n"))
    return found


def difference_of(
    store: Store, old: str, new: str, *, work: Path
) -> tuple[bytes, tuple[ChangedFile, ...]]:
    """The patch from one tree to another, and the files in it; made in a folder below ``work``.

    Raises:
        EnvironmentProblem: git is missing or fails.
    """
    difference = diff_trees(store, old, new, work=work)
    changed = tuple(
        ChangedFile(
            status=item.status,
            path=path_to_text(item.path),
            old_path=None if item.old_path is None else path_to_text(item.old_path),
            insertions=item.insertions,
            deletions=item.deletions,
        )
        for item in difference.differences
    )
    return difference.patch, changed
