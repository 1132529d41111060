"""The one door to dulwich: objects, refs and identity of a git repository, as plain values.

Nothing here uses an index, a work tree, porcelain or hooks. Object ids are 40 hexadecimal digits as
`str`; paths and names inside git are `bytes`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dulwich.client import get_transport_and_path
from dulwich.config import ConfigFile, StackedConfig
from dulwich.errors import HangupException, NotGitRepository
from dulwich.file import FileLocked
from dulwich.object_store import DiskObjectStore
from dulwich.objects import Blob, Commit, ShaFile, Tree, parse_tree
from dulwich.refs import Ref, SymrefLoop
from dulwich.repo import Repo

from trialbook.errors import EnvironmentProblem, Refused

DIRECTORY = 0o040000
GITLINK = 0o160000
SYMLINK = 0o120000
EXECUTABLE = 0o100755
REGULAR = 0o100644

# The type numbers of git's pack format.
_COMMIT_TYPE = 1
_TREE_TYPE = 2
_BLOB_TYPE = 3


class TreeEntry(NamedTuple):
    """One entry of a git tree."""

    name: bytes
    mode: int
    oid: str


class Signature(NamedTuple):
    """Who, and when (seconds since 1970, offset from UTC in seconds)."""

    name: str
    email: str
    seconds: int
    offset: int = 0

    @property
    def line(self) -> bytes:
        """As git writes it in a commit."""
        return f"{self.name} <{self.email}>".encode()


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitInfo:
    """What a commit says. ``seconds`` is the committer's time."""

    oid: str
    tree: str
    parents: tuple[str, ...]
    author: str
    seconds: int
    message: str


class Store:
    """A git object database on disk. Open one per thread; several processes may share it."""

    def __init__(self, objects: DiskObjectStore) -> None:
        self._objects = objects

    @classmethod
    def at(cls, folder: Path) -> Store:
        """The bare object store in ``folder``, made if it is not there."""
        if not (folder / "pack").is_dir():
            folder.parent.mkdir(parents=True, exist_ok=True)
            folder.mkdir(exist_ok=True)
            for name in ("pack", "info"):
                (folder / name).mkdir(exist_ok=True)
        return cls(DiskObjectStore(str(folder)))

    @property
    def folder(self) -> Path:
        """Where the objects are."""
        return Path(self._objects.path)

    def __contains__(self, oid: str) -> bool:
        return self._objects.__contains__(oid.encode())  # type: ignore[arg-type]

    def blob(self, oid: str) -> bytes:
        """The bytes of a blob.

        Raises:
            KeyError: there is no such object.
        """
        return self._raw(oid, _BLOB_TYPE)

    def tree(self, oid: str) -> list[TreeEntry]:
        """The entries of a tree, in git's order.

        Raises:
            KeyError: there is no such object.
        """
        raw = self._raw(oid, _TREE_TYPE)
        return [TreeEntry(name, mode, sha.decode()) for name, mode, sha in parse_tree(raw, 20)]

    def commit(self, oid: str) -> CommitInfo:
        """What a commit says.

        Raises:
            KeyError: there is no such object.
        """
        commit = Commit.from_string(self._raw(oid, _COMMIT_TYPE))
        return CommitInfo(
            oid=oid,
            tree=commit.tree.decode(),
            parents=tuple(parent.decode() for parent in commit.parents),
            author=commit.author.decode("utf-8", "replace"),
            seconds=commit.commit_time,
            message=commit.message.decode("utf-8", "replace"),
        )

    def add_blob(self, data: bytes) -> str:
        """Store a blob; gives its id. Storing what is there is free."""
        return self._add(Blob.from_string(data))

    def add_tree(self, entries: Iterable[TreeEntry]) -> str:
        """Store a tree; gives its id."""
        tree = Tree()
        for entry in entries:
            tree.add(entry.name, entry.mode, entry.oid.encode())  # type: ignore[arg-type]
        return self._add(tree)

    def add_commit(self, tree: str, parents: Iterable[str], author: Signature, message: str) -> str:
        """Store a commit with one person as author and committer; gives its id."""
        commit = Commit()
        commit.tree = tree.encode()  # type: ignore[assignment]
        commit.parents = [parent.encode() for parent in parents]  # type: ignore[misc]
        commit.author = commit.committer = author.line
        commit.author_time = commit.commit_time = author.seconds
        commit.author_timezone = commit.commit_timezone = author.offset
        commit.encoding = b"UTF-8"
        commit.message = message.encode()
        return self._add(commit)

    def copy_from(self, other: Store, oids: Iterable[str]) -> None:
        """Copy objects, by id, from another store, as one pack."""
        wanted = [oid for oid in oids if oid not in self]
        objects = [(other._objects[oid.encode()], None) for oid in wanted]  # type: ignore[index]
        if objects:
            self._objects.add_objects(objects)

    def lookup(self, path: bytes, tree: str) -> TreeEntry | None:
        """The entry at a slash-separated path below a tree, or None."""
        entry = TreeEntry(b"", DIRECTORY, tree)
        for part in path.split(b"/") if path else []:
            if entry.mode != DIRECTORY:
                return None
            found = [child for child in self.tree(entry.oid) if child.name == part]
            if not found:
                return None
            entry = found[0]
        return entry

    def walk(self, tree: str, prefix: bytes = b"") -> Iterator[tuple[bytes, TreeEntry]]:
        """Every entry below a tree that is no tree itself, with its path, in git's order."""
        for entry in self.tree(tree):
            path = prefix + entry.name
            if entry.mode == DIRECTORY:
                yield from self.walk(entry.oid, path + b"/")
            else:
                yield path, entry

    def _add(self, item: ShaFile) -> str:
        if item.id not in self._objects:
            self._objects.add_object(item)
        return item.id.decode()

    def _raw(self, oid: str, kind: int) -> bytes:
        number, raw = self._objects.get_raw(oid.encode())  # type: ignore[arg-type]
        if number != kind:
            raise KeyError(f"{oid} is not of the wanted kind")
        return raw

    def close(self) -> None:
        """Free file handles."""
        self._objects.close()


class Repository:
    """A git repository: its store, refs, configuration, and where its work tree is."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo
        self.store = Store(repo.object_store)  # type: ignore[arg-type]

    @classmethod
    def discover(cls, start: Path) -> Repository:
        """The repository that ``start`` is in (linked worktrees included).

        Raises:
            EnvironmentProblem: there is none.
        """
        try:
            return cls(Repo.discover(str(start)))
        except NotGitRepository:
            raise EnvironmentProblem(
                f"{start} is not in a git repository",
                hint="run `git init` there, or `trialbook init FOLDER` for a new ledger",
            ) from None

    @classmethod
    def init(cls, folder: Path, *, branch: str = "main") -> Repository:
        """Make a new repository with a work tree in an existing folder."""
        return cls(Repo.init(str(folder), default_branch=branch.encode()))

    @property
    def work_tree(self) -> Path | None:
        """The top of the work tree, or None for a bare repository."""
        return None if self._repo.bare else Path(self._repo.path)

    @property
    def git_folder(self) -> Path:
        """The git folder of the work tree itself (index and HEAD are here)."""
        return Path(self._repo.controldir())

    @property
    def common_folder(self) -> Path:
        """The git folder that all work trees share (objects and branches are here)."""
        return Path(self._repo.commondir())

    def head_ref(self) -> str:
        """What HEAD names: ``refs/heads/...``, or ``HEAD`` itself when it is detached."""
        try:
            names, _ = self._repo.refs.follow(Ref(b"HEAD"))
        except SymrefLoop as error:
            raise EnvironmentProblem("HEAD names itself", hint="repair .git/HEAD") from error
        return names[-1].decode()

    def read_ref(self, name: str) -> str | None:
        """The commit that a ref holds, or None."""
        try:
            return self._repo.refs[Ref(name.encode())].decode()
        except KeyError:
            return None

    def move_ref(self, name: str, old: str | None, new: str) -> bool:
        """Compare and swap: set ``name`` to ``new`` only if it holds ``old`` (None: is not there).

        False when it did not hold, or when another process has it locked: read again and retry.
        """
        ref = Ref(name.encode())
        try:
            if old is None:
                return self._repo.refs.add_if_new(ref, new.encode())  # type: ignore[arg-type]
            return self._repo.refs.set_if_equals(ref, old.encode(), new.encode())  # type: ignore[arg-type]
        except FileLocked:
            return False

    def identity(self, environ: Mapping[str, str]) -> tuple[str, str] | None:
        """Name and email as git would take them for a commit, or None if none is configured."""
        name = environ.get("GIT_AUTHOR_NAME") or self.setting("user", "name", environ)
        email = environ.get("GIT_AUTHOR_EMAIL") or self.setting("user", "email", environ)
        return (name, email) if name and email else None

    def setting(self, section: str, key: str, environ: Mapping[str, str]) -> str | None:
        """One value of git's configuration: the repository's, then the user's."""
        files: list[ConfigFile] = [self._repo.get_config()]
        home = environ.get("HOME")
        candidates = [Path(home) / ".gitconfig"] if home else []
        if chosen := environ.get("GIT_CONFIG_GLOBAL"):
            candidates = [Path(chosen)]
        files += [ConfigFile.from_path(str(path)) for path in candidates if path.is_file()]
        try:
            return StackedConfig(files).get((section.encode(),), key.encode()).decode()
        except KeyError:
            return None

    def close(self) -> None:
        """Free file handles."""
        self._repo.close()


def fetch_commit(location: str, commit: str, into: Store, scratch: Path) -> CommitInfo:
    """Copy one commit's tree from a repository (a local path or a URL) into a store.

    Only the commit object's facts and the closure of its tree are taken: no parents, no refs.

    Raises:
        Refused: no such repository or commit.
    """
    try:
        source = Repo(location) if Path(location).is_dir() else _fetched(location, commit, scratch)
    except (NotGitRepository, HangupException, OSError, ValueError) as error:
        raise Refused(f"cannot read the repository {location}: {error}") from error
    try:
        store = Store(source.object_store)  # type: ignore[arg-type]
        info = store.commit(commit)
        into.copy_from(store, closure(store, info.tree))
    except KeyError:
        raise Refused(
            f"{location} has no commit {commit}",
            hint="name a full commit id that this repository has",
        ) from None
    finally:
        source.close()
    return info


def closure(store: Store, tree: str) -> Iterator[str]:
    """The ids of a tree and everything below it, gitlinks left out."""
    yield tree
    for entry in store.tree(tree):
        if entry.mode == DIRECTORY:
            yield from closure(store, entry.oid)
        elif entry.mode != GITLINK:
            yield entry.oid


def _fetched(location: str, commit: str, scratch: Path) -> Repo:
    client, path = get_transport_and_path(location)
    target = Repo.init_bare(str(scratch), mkdir=True)

    def wants(refs: Mapping[Any, Any], depth: int | None = None) -> list[Any]:
        del depth
        # Servers that only serve what a ref names get asked for all heads instead.
        heads = set(refs.values())
        return [commit.encode()] if commit.encode() in heads else sorted(heads)

    client.fetch(path, target, determine_wants=wants)
    return target
