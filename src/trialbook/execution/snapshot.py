"""From a snapshot as declared to a git tree in the store, and a sentence about where it came from.

What would lose something on the way, or lead out of the workspace, is refused unless the task
declares it.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from trialbook.errors import EnvironmentProblem, Refused, TrialbookError
from trialbook.formats.records import RecordError, from_json, to_json
from trialbook.model.digest import sha256
from trialbook.model.suite import Snapshot, SnapshotKind
from trialbook.storage.archives import tree_of_archive
from trialbook.storage.files import fresh_folder, read_regular, write_atomic
from trialbook.storage.objects import is_oid
from trialbook.storage.packages import fetch_sdist
from trialbook.storage.repository import Store, fetch_commit
from trialbook.storage.tree_survey import Survey, normal_tree, survey_tree
from trialbook.storage.trees import place, remove_paths, subtree, tree_of_folder
from trialbook.system import System

# Part of the key of the cache: to be raised when the same snapshot becomes another tree.
_RULES = 1
_SHOWN = 10
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
_SCP = re.compile(r"(?:[^/:@]+@)?[^/:@]+\.[^/:@]+:|[^/:@]+@[^/:@]+:")
_USER = re.compile(r"(?<=://)[^/?#@]*(?:@[^/?#@]*)*@")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResolvedSnapshot:
    """A starting tree. ``source`` says in words where it came from, without any credentials."""

    tree: str
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What the cache knows of a snapshot whose source can never change."""

    tree: str


def resolve(
    snapshot: Snapshot,
    *,
    folder: Path,
    store: Store,
    cache: Path,
    environ: Mapping[str, str] | None = None,
) -> ResolvedSnapshot:
    """Bring a snapshot's tree into the store.

    Args:
        snapshot: As the task declares it.
        folder: What relative locations are relative to: the task's folder.
        store: Where the objects go.
        cache: The cache folder; downloads and what is known of them are kept there.
        environ: The environment for pip; by default the runner's own.

    Raises:
        Refused: there is no such source, or it holds what cannot be handed over and is not
            declared; the message lists the paths.
        EnvironmentProblem: a repository or index cannot be reached.
    """
    source = _sentence(snapshot)
    # A folder may change at any time; all other sources are pinned by a digest.
    pinned = snapshot.kind is not SnapshotKind.FOLDER
    record = cache / "snapshots" / f"{_key(snapshot)}.json"
    kept = _kept(record, store) if pinned else None
    if kept is not None:
        return ResolvedSnapshot(tree=kept, source=source)
    tree = _fetched(snapshot, folder, store, cache, environ)
    tree = remove_paths(store, subtree(store, tree, snapshot.path), snapshot.remove)
    _check(snapshot, survey_tree(store, tree), source)
    tree = place(store, normal_tree(store, tree), snapshot.into)
    if pinned:
        write_atomic(record, to_json(_Kept(tree=tree)))
    return ResolvedSnapshot(tree=tree, source=source)


def _key(snapshot: Snapshot) -> str:
    """What the tree depends on. Commits and digests say it all: places may change."""
    parts = asdict(snapshot)
    del parts["location"]
    return sha256(to_json([_RULES, parts]))


def _kept(record: Path, store: Store) -> str | None:
    raw = read_regular(record)
    if raw is None:
        return None
    try:
        tree = from_json(_Kept, raw, record.name).tree
    except RecordError:
        return None
    return tree if is_oid(tree) and tree in store else None


def _fetched(
    snapshot: Snapshot,
    folder: Path,
    store: Store,
    cache: Path,
    environ: Mapping[str, str] | None,
) -> str:
    match snapshot.kind:
        case SnapshotKind.GIT:
            return _from_git(snapshot, folder, store, cache)
        case SnapshotKind.FOLDER:
            return _from_folder(snapshot, folder, store)
        case SnapshotKind.ARCHIVE:
            return _from_archive(folder / snapshot.location, snapshot, store)
        case SnapshotKind.PACKAGE:
            archive = fetch_sdist(
                snapshot.location,
                snapshot.revision or "",
                snapshot.sha256 or "",
                cache=cache,
                environ=System().environ if environ is None else environ,
            )
            return tree_of_archive(store, archive, archive.name)


def _from_git(snapshot: Snapshot, folder: Path, store: Store, cache: Path) -> str:
    location = snapshot.location
    is_remote = _URL.match(location) or _SCP.match(location)
    if not is_remote:
        location = str(folder / location)
        if not Path(location).is_dir():
            raise Refused(
                f"there is no repository at {snapshot.location}",
                hint=f"the path is relative to the task's folder; that makes it {location}",
            )
    try:
        with fresh_folder(cache) as scratch:
            commit = snapshot.revision or ""
            return fetch_commit(location, commit, store, scratch / "repository").tree
    except TrialbookError as error:
        # A URL may carry a password, and messages end up in logs and records.
        kind = EnvironmentProblem if isinstance(error, EnvironmentProblem) else Refused
        raise kind(_without_user(error.message, location), hint=error.hint) from None


def _without_user(message: str, location: str) -> str:
    shown = _shown_location(location)
    user = _USER.search(location)
    message = message.replace(location, shown)
    return message.replace(user.group(), "") if user else message


def _from_folder(snapshot: Snapshot, folder: Path, store: Store) -> str:
    found = tree_of_folder(store, folder / snapshot.location)
    if found.omitted:
        listed = [f"{file.path}: {file.reason}" for file in found.omitted]
        raise Refused(
            f"the folder {snapshot.location} holds what a snapshot cannot: {_listed(listed)}",
            hint="remove these from the folder; a snapshot has files, folders and links only",
        )
    return found.tree


def _from_archive(path: Path, snapshot: Snapshot, store: Store) -> str:
    try:
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise Refused(
            f"cannot read the archive {snapshot.location}: {error.strerror}",
            hint="the path is relative to the task's folder",
        ) from error
    if digest != snapshot.sha256:
        raise Refused(
            f"the archive {snapshot.location} has the sha256 {digest}, not {snapshot.sha256}",
            hint="it is another file than the task was made for; restore it, or correct the task",
        )
    return tree_of_archive(store, path, snapshot.location)


def _check(snapshot: Snapshot, found: Survey, source: str) -> None:
    kinds = (
        (found.unusable, False, "entries that no folder can hold", "`remove` takes them out"),
        (found.submodules, snapshot.submodules, "submodules", "`submodules: excluded`"),
        (found.lfs, snapshot.lfs, "Git LFS pointers instead of files", "`lfs: pointers_only`"),
        (found.links, snapshot.links, "links that leave the snapshot", "`links: allowed`"),
        (found.case, snapshot.case, "names that differ only in case", "`case: allowed`"),
    )
    open_kinds = [
        (paths, what, how) for paths, declared, what, how in kinds if paths and not declared
    ]
    if open_kinds:
        told = "; ".join(f"{what} ({_listed(paths)})" for paths, what, _ in open_kinds)
        ways = ", ".join(how for _, _, how in open_kinds)
        raise Refused(
            f"the snapshot {source} has {told}",
            hint=f"declare in the task's snapshot that this is meant ({ways}), "
            "or take the paths out with `remove`",
        )


def _listed(paths: list[str]) -> str:
    more = len(paths) - _SHOWN
    return ", ".join(paths[:_SHOWN]) + (f" and {more} more" if more > 0 else "")


def _sentence(snapshot: Snapshot) -> str:
    text = _origin(snapshot)
    if snapshot.path != ".":
        text += f", folder {snapshot.path}"
    if snapshot.remove:
        text += f", without {', '.join(snapshot.remove)}"
    if snapshot.submodules:
        text += ", submodules left out"
    return text


def _origin(snapshot: Snapshot) -> str:
    location, revision = snapshot.location, snapshot.revision
    match snapshot.kind:
        case SnapshotKind.GIT:
            return f"git {_shown_location(location)}@{revision}"
        case SnapshotKind.FOLDER:
            return f"folder {location}"
        case SnapshotKind.ARCHIVE:
            return f"archive {location} (sha256 {snapshot.sha256})"
        case SnapshotKind.PACKAGE:
            return f"package {location} {revision} (sha256 {snapshot.sha256})"


def _shown_location(location: str) -> str:
    """A repository's place without user, password and query."""
    if not _URL.match(location):
        return location
    return _USER.sub("", location).partition("?")[0].partition("#")[0]
