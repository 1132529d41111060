"""A change of the task's that is committed on top of what an agent left, before a session."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

from trialbook.errors import EnvironmentProblem, Refused
from trialbook.execution.baseline import BASELINE_AUTHOR
from trialbook.model.digest import sha256
from trialbook.model.series import LaidIn, Regression
from trialbook.model.session import PlantedChange, RepositoryState, SessionRecord, commits_of
from trialbook.model.suite import Task
from trialbook.process import git
from trialbook.storage.files import fresh_folder, read_regular
from trialbook.storage.patching import apply_to_tree
from trialbook.storage.repository import Signature, Store
from trialbook.storage.trees import overlay_tree, tree_of_folder

_MINUTE = 60
_SHOWN = 5


class ConflictError(Exception):
    """Two changes of one place; says where."""


def laid_in(
    store: Store,
    before: RepositoryState,
    regression: Regression,
    *,
    task_folder: Path,
    baseline_tree: str,
    work: Path,
) -> tuple[RepositoryState | None, PlantedChange]:
    """Commit a regression's change on top of what was left; None where that is not possible.

    The change is one of the task's starting tree. It is merged with what the agent made of that
    tree, in its commits and in its files alike; where both changed one place, nothing is laid in.

    Raises:
        EnvironmentProblem: the change cannot be read, or git fails.
    """
    change = regression.laid_in
    if change is None:
        raise EnvironmentProblem("a regression without a change has nothing to lay in")
    theirs, digest = with_change(store, change, task_folder, baseline_tree)
    planted = PlantedChange(kind=regression.kind, sha256=digest, commit=None)
    try:
        committed = store.commit(before.head).tree
        merged = merge_trees(store, baseline_tree, committed, theirs, work)
        files = merge_trees(store, baseline_tree, before.tree, theirs, work)
    except ConflictError as conflict:
        return None, replace(planted, reason=f"it is in conflict with the agent's work: {conflict}")
    commit = store.add_commit(merged, [before.head], _author(store, before), _message(change))
    commits = (*before.commits, *commits_of([(commit, merged, change.message)]))
    state = replace(before, tree=files, head=commit, commits=commits, lost="")
    return state, replace(planted, commit=commit)


def ground_of(
    store: Store,
    task: Task,
    records: Iterable[SessionRecord],
    *,
    task_folder: Path,
    baseline_tree: str,
    work: Path,
) -> str:
    """The starting tree with all that was laid in between sessions: the ground of the agents' work.

    Where two such changes are in conflict with each other, the later one is left out of it.

    Raises:
        EnvironmentProblem: a change of the task's cannot be read, or git fails.
    """
    ground = baseline_tree
    for before, record in pairwise(records):
        if record.regression is None or record.start.head == before.end.head:
            continue
        change = task.sessions[record.session - 1].regressions[record.regression - 1].laid_in
        if change is not None:
            theirs, _ = with_change(store, change, task_folder, baseline_tree)
            with suppress(ConflictError):
                ground = merge_trees(store, baseline_tree, ground, theirs, work)
    return ground


def merge_trees(store: Store, base: str, ours: str, theirs: str, work: Path) -> str:
    """The tree with both changes of ``base`` in it, merged on objects alone.

    Raises:
        ConflictError: both change one place.
        EnvironmentProblem: git is missing, is older than 2.39, or fails.
    """
    if base in (ours, theirs):
        return theirs if ours == base else ours
    root = store.add_commit(base, (), BASELINE_AUTHOR, "base\n")
    sides = [store.add_commit(tree, (root,), BASELINE_AUTHOR, "side\n") for tree in (ours, theirs)]
    with fresh_folder(work) as folder:
        (folder / "refs").mkdir()
        (folder / "HEAD").write_bytes(b"ref: refs/heads/none\n")
        text = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
        (folder / "config").write_bytes(text)
        said = git(
            ["merge-tree", "--stdin", "-z", "--name-only", "--no-messages"],
            git_folder=folder,
            environment={"GIT_OBJECT_DIRECTORY": str(store.folder.absolute())},
            stdin=" ".join(sides).encode() + b"\n",
        )
    clean, tree, *paths = said.split(b"\0")
    if clean == b"1":
        return tree.decode()
    listed = sorted({path.decode("utf-8", "replace") for path in paths if path})
    more = f" and {len(listed) - _SHOWN} more" if listed[_SHOWN:] else ""
    raise ConflictError(", ".join(listed[:_SHOWN]) + more)


def with_change(store: Store, change: LaidIn, folder: Path, base: str) -> tuple[str, str]:
    """The starting tree with a change in it, and the digest of the change.

    Raises:
        EnvironmentProblem: it cannot be read, or does not apply.
    """
    if change.patch is not None:
        data = read_regular(folder / change.patch)
        if data is None:
            raise EnvironmentProblem(f"cannot read {change.patch}", hint="restore the suite's file")
        try:
            return apply_to_tree(store, base, data), sha256(data)
        except Refused as error:
            raise EnvironmentProblem(
                f"{change.patch} does not apply to the task's starting tree: {error.message}",
                hint="write the patch against the snapshot, instruction files included",
            ) from error
    found = tree_of_folder(store, folder / (change.overlay or ""))
    return overlay_tree(store, base, found.tree), sha256(found.tree.encode())


def _author(store: Store, before: RepositoryState) -> Signature:
    """Who the newest commit is by, a minute later: nothing about the commit stands out."""
    info = store.commit(before.head)
    name, _, address = info.author.partition(" <")
    return Signature(name, address.rstrip(">"), info.seconds + _MINUTE)


def _message(change: LaidIn) -> str:
    return change.message.strip() + "\n"
