"""Instruction files: what a configuration lays over every workspace, and where it comes from.

Either a folder of the suite, or some paths of a revision of a git repository, so that the version
of a pull request can be compared with that of the main branch. A path that the revision does not
have is taken out of the workspace: that is the version without it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import EnvironmentProblem, Refused
from trialbook.model.digest import sha256
from trialbook.model.instructions import WORK_TREE, InstructionsFrom
from trialbook.model.paths import path_to_text
from trialbook.model.plan import TakenInstructions
from trialbook.model.suite import SnapshotKind, Task
from trialbook.process import git
from trialbook.storage.files import fresh_folder
from trialbook.storage.objects import is_oid
from trialbook.storage.repository import (
    DIRECTORY,
    Repository,
    Store,
    TreeEntry,
    fetch_commit,
)
from trialbook.storage.trees import edit_tree, overlay_tree, replace_with, tree_of_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where instructions are taken from and brought to: the suite, the task, objects, cache."""

    suite_folder: Path
    task: Task
    task_folder: Path
    store: Store
    cache: Path


def lay_folder(store: Store, tree: str, folder: Path, name: str) -> str:
    """Lay a folder of the suite over a workspace's tree.

    Raises:
        Refused: it holds what git cannot store.
    """
    top = tree_of_folder(store, folder)
    if top.omitted:
        listed = ", ".join(f"{file.path}: {file.reason}" for file in top.omitted[:5])
        raise Refused(
            f"the instructions {name} hold what cannot be laid over a workspace: {listed}",
            hint="remove these from the folder",
        )
    return overlay_tree(store, tree, top.tree)


def lay_revision(
    tree: str, wanted: InstructionsFrom, place: Place
) -> tuple[str, TakenInstructions]:
    """Lay paths of a revision over a workspace's tree; say what was taken.

    Raises:
        Refused: there is no such repository or revision, or the task names no repository.
        EnvironmentProblem: git is missing, or an object is damaged.
    """
    location = _repository(wanted, place)
    commit = None
    if wanted.revision == WORK_TREE:
        source = tree_of_folder(place.store, location, skip_top=frozenset({b".git"})).tree
    else:
        commit = commit_of(location, wanted.revision)
        with fresh_folder(place.cache) as scratch:
            source = fetch_commit(str(location), commit, place.store, scratch / "r").tree
    files: dict[str, str] = {}
    for path in wanted.paths:
        raw = path.strip("/").encode()
        entry = place.store.lookup(raw, source)
        if entry is not None or place.store.lookup(raw, tree) is not None:
            tree = edit_tree(place.store, tree, {raw: replace_with(entry)})
        if entry is not None:
            files |= dict(_files(place.store, raw, entry))
    taken = TakenInstructions(
        repository=wanted.repository or place.task.snapshot.location,
        revision=wanted.revision,
        commit=commit,
        paths=wanted.paths,
        files=dict(sorted(files.items())),
    )
    return tree, taken


def commit_of(location: Path, revision: str) -> str:
    """The full id of the commit that a revision names in a repository on this machine.

    Raises:
        Refused: it names none.
    """
    if is_oid(revision):
        return revision
    repository = Repository.discover(location)
    try:
        folder = repository.git_folder
    finally:
        repository.close()
    asked = ["rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}"]
    try:
        said = git(asked, git_folder=folder)
    except EnvironmentProblem:
        raise Refused(
            f"{location} has no revision {revision!r}",
            hint="name a branch, a tag or a commit; fetch it first if it is elsewhere",
        ) from None
    return said.decode().strip()


def _repository(wanted: InstructionsFrom, place: Place) -> Path:
    if wanted.repository is not None:
        found = place.suite_folder / wanted.repository
    elif place.task.snapshot.kind is SnapshotKind.GIT:
        found = place.task_folder / place.task.snapshot.location
    else:
        raise Refused(
            f"the task {place.task.name} has no git snapshot to take instructions from",
            hint="name a `repository`, relative to the suite's folder",
        )
    if not found.is_dir():
        raise Refused(
            f"there is no repository at {found} to take instructions from",
            hint="a revision can only be taken from a repository on this machine; clone it",
        )
    return found


def _files(store: Store, path: bytes, entry: TreeEntry) -> Iterator[tuple[str, str]]:
    if entry.mode == DIRECTORY:
        for below in store.tree(entry.oid):
            yield from _files(store, path + b"/" + below.name, below)
    elif entry.oid in store:
        yield path_to_text(path), sha256(store.blob(entry.oid))
