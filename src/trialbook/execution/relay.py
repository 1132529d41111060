"""A workspace for the next session: its files and its history written anew from objects."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

from trialbook.errors import EnvironmentProblem
from trialbook.execution.baseline import BASELINE_REF, CONFIG
from trialbook.formats.git_index import IndexEntry, index_bytes
from trialbook.model.session import RepositoryState
from trialbook.process import git
from trialbook.storage.folders import IdsOnly
from trialbook.storage.repository import GITLINK, Store
from trialbook.storage.trees import materialise, tree_of_folder

_NEVER = os.stat_result((0,) * 10, {"st_ctime_ns": 0, "st_mtime_ns": 0})


def lay_repository(store: Store, state: RepositoryState, baseline: str, destination: Path) -> None:
    """Write the files, and a repository that is new but for its commits.

    The index is that of the newest commit, so that work which was not committed shows as changes.

    Raises:
        EnvironmentProblem: the store lacks a part of it, or the folder is not what it should be.
    """
    try:
        materialise(store, state.tree, destination)
        _write_git(store, state, baseline, destination)
    except KeyError as error:
        raise EnvironmentProblem(
            f"the cache lacks a part of what the session before left: {error.args[0]}",
            hint="start the trial anew",
        ) from error
    found = tree_of_folder(IdsOnly(), destination, skip_top=frozenset({b".git"}))
    if found.tree != state.tree or found.omitted:
        raise EnvironmentProblem(
            f"the workspace that was laid has the tree {found.tree}, not {state.tree}",
            hint="check the file system that trials run on",
        )


def _write_git(store: Store, state: RepositoryState, baseline: str, workspace: Path) -> None:
    folder = workspace / ".git"
    for name in ("objects/info", "objects/pack", "refs/heads", "refs/tags", "refs/trialbook"):
        (folder / name).mkdir(parents=True)
    (folder / "config").write_bytes(CONFIG)
    head = state.head if state.branch is None else f"ref: refs/heads/{state.branch}"
    (folder / "HEAD").write_text(f"{head}\n")
    refs = {f"refs/heads/{name}": oid for name, oid in state.branches.items()}
    refs |= {f"refs/tags/{name}": oid for name, oid in state.tags.items()}
    refs[BASELINE_REF] = baseline
    if state.branch is not None:
        refs[f"refs/heads/{state.branch}"] = state.head
    wanted = "".join(f"{oid}\n" for oid in dict.fromkeys((state.head, *refs.values())))
    there = {"GIT_OBJECT_DIRECTORY": str(store.folder.absolute())}
    arguments = ["pack-objects", "-q", "--revs", "--stdout"]
    pack = git(arguments, git_folder=folder, environment=there, stdin=wanted.encode())
    git(["index-pack", "--stdin"], git_folder=folder, stdin=pack)
    for name, oid in refs.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{oid}\n")
    (folder / "index").write_bytes(index_bytes(_entries(store, state, workspace)))


def _entries(store: Store, state: RepositoryState, workspace: Path) -> Iterator[IndexEntry]:
    """The files of the newest commit; those that are as it has them with their own times."""
    now = {path: (entry.mode, entry.oid) for path, entry in store.walk(state.tree)}
    for path, entry in store.walk(store.commit(state.head).tree):
        same = entry.mode != GITLINK and now.get(path) == (entry.mode, entry.oid)
        status = os.lstat(os.fsencode(workspace) + b"/" + path) if same else _NEVER
        yield IndexEntry(path, entry.mode, entry.oid, status)
