"""The one door to dulwich: objects, refs and identity of a git repository, as plain values.

Nothing here uses an index, a work tree, porcelain or hooks. Object ids are 40 hexadecimal digits as
`str`; paths and names inside git are `bytes`.
"""

from __future__ import annotations

import os
import struct
import weakref
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from dulwich.client import get_transport_and_path
from dulwich.config import ConfigFile, StackedConfig
from dulwich.errors import ChecksumMismatch, FileFormatException, GitProtocolError, NotGitRepository
from dulwich.file import adjust_shared_perm
from dulwich.object_store import DiskObjectStore
from dulwich.objects import Blob, Commit, ObjectID, ShaFile, Tree, parse_tree
from dulwich.pack import apply_delta
from dulwich.refs import DiskRefsContainer, Ref, SymrefLoop
from dulwich.repo import (
    InvalidWorktreeConfiguration,
    Repo,
    UnsupportedExtension,
    UnsupportedVersion,
)

from trialbook.errors import EnvironmentProblem, Refused
from trialbook.storage.disk import doing
from trialbook.storage.gitconfig import config_files, is_url
from trialbook.storage.loose import write_loose
from trialbook.storage.objects import (
    DIRECTORY,
    EXECUTABLE,
    GITLINK,
    REGULAR,
    SYMLINK,
    CommitInfo,
    Signature,
    TreeEntry,
    check_oid,
    commit_bytes,
    is_oid,
    reachable,
)

__all__ = ["DIRECTORY", "EXECUTABLE", "GITLINK", "REGULAR", "SYMLINK", "CommitInfo", "Signature"]
__all__ += ["Repository", "Store", "TreeEntry", "closure", "fetch_commit"]
__all__ += ["apply_delta", "parse_tree"]

_KINDS = (UnsupportedExtension, UnsupportedVersion, InvalidWorktreeConfiguration)
_MALFORMED = (ValueError, AssertionError, AttributeError, EOFError, IndexError)
_DAMAGE = (zlib.error, struct.error, ChecksumMismatch, FileFormatException, *_MALFORMED)


class Store:
    """A git object database on disk. Open one per thread; several processes may share it.

    Objects are written as git does: to a temporary file that is then renamed, so that a process
    that dies leaves no lock and no half an object. They reach the disk when the kernel decides, as
    with git's defaults, or at once where the repository sets core.fsyncObjectFiles.
    """

    def __init__(self, objects: DiskObjectStore) -> None:
        self._objects = objects
        weakref.finalize(self, objects.close)  # dulwich warns when open packs are dropped

    @classmethod
    def at(cls, folder: Path) -> Store:
        """The bare object store in ``folder``, made if it is not there."""
        with doing(f"make the object store {folder}"):
            for name in ("pack", "info"):
                (folder / name).mkdir(parents=True, exist_ok=True)
        return cls(DiskObjectStore(str(folder)))

    @property
    def folder(self) -> Path:
        """Where the objects are."""
        return Path(self._objects.path)

    def __contains__(self, oid: str) -> bool:
        return ObjectID(oid.encode()) in self._objects

    def blob(self, oid: str) -> bytes:
        """The bytes of a blob.

        Raises:
            KeyError: there is no such object.
        """
        return self._raw(oid, Blob.type_num)

    def tree(self, oid: str) -> list[TreeEntry]:
        """The entries of a tree, in git's order.

        Raises:
            KeyError: there is no such object.
        """
        raw = self.tree_bytes(oid)
        with _undamaged(oid):
            return [TreeEntry(name, mode, sha.decode()) for name, mode, sha in parse_tree(raw, 20)]

    def commit(self, oid: str) -> CommitInfo:
        """What a commit says.

        Raises:
            KeyError: there is no such object.
        """
        with _undamaged(oid):
            commit = Commit.from_string(self._raw(oid, Commit.type_num))
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
            tree.add(entry.name, entry.mode, ObjectID(entry.oid.encode()))
        return self._add(tree)

    def add_commit(
        self,
        tree: str,
        parents: Iterable[str],
        author: Signature,
        message: str,
        sign: Callable[[bytes], bytes | None] = lambda _: None,
    ) -> str:
        """Store a commit by one person; gives its id. ``sign`` gives a signature for its bytes."""
        raw = commit_bytes(tree, parents, author, message, sign)
        return self._add(ShaFile.from_raw_string(Commit.type_num, raw))

    def copy_from(self, other: Store, oids: Iterable[str]) -> None:
        """Copy objects, by id, from another store, as one pack."""
        wanted = [oid for oid in dict.fromkeys(oids) if oid not in self]
        objects = [(other._objects[ObjectID(oid.encode())], None) for oid in wanted]
        if objects:
            self._objects.add_objects(objects)

    def lookup(self, path: bytes, tree: str) -> TreeEntry | None:
        """The entry at a slash-separated path below a tree, or None."""
        entry = TreeEntry(b"", DIRECTORY, tree)
        for part in path.split(b"/") if path else []:
            inside = self.tree(entry.oid) if entry.mode == DIRECTORY else []
            found = [child for child in inside if child.name == part]
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

    @property
    def durable(self) -> bool:
        """Whether core.fsyncObjectFiles asks for every object to be on the disk at once."""
        return self._objects.fsync_object_files

    def tree_bytes(self, oid: str) -> bytes:
        """A tree as git stores it; as `tree` for the rest."""
        return self._raw(oid, Tree.type_num)

    def share(self, path: Path) -> None:
        """Give a new file of the git folder the permissions that core.sharedRepository wants."""
        adjust_shared_perm(path, self._objects.shared_perm)

    def _add(self, item: ShaFile) -> str:
        oid = item.id.decode()
        target = self.folder / oid[:2] / oid[2:]
        with suppress(OSError):
            # A fresh time keeps a pruning `git gc` away from an object that nothing refers to yet.
            os.utime(target)
            return oid
        with suppress(OSError):
            if item.id in self._objects:
                return oid
        write_loose(target, item.as_legacy_object(), durable=self.durable, share=self.share)
        return oid

    def _raw(self, oid: str, kind: int) -> bytes:
        with _undamaged(oid):
            number, raw = self._objects.get_raw(ObjectID(oid.encode()))
            check_oid(oid, number, raw)
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
        self._config = repo.get_config()
        self.store = Store(repo.object_store)

    @classmethod
    def discover(cls, start: Path) -> Repository:
        """The repository that ``start`` is in: its own folder, a linked work tree, a bare one.

        Raises:
            EnvironmentProblem: there is none, or it is of a kind that cannot be written safely.
        """
        try:
            repo = Repo.discover(str(start))
        except NotGitRepository:
            raise EnvironmentProblem(
                f"{start} is not in a git repository",
                hint="run `git init` there, or `trialbook init FOLDER` for a new ledger",
            ) from None
        except (*_KINDS, *_DAMAGE, OSError) as error:
            raise EnvironmentProblem(f"cannot open the repository of {start}: {error}") from error
        _check_kind(repo)
        return cls(repo)

    @classmethod
    def init(cls, folder: Path, *, branch: str = "main") -> Repository:
        """Make a new repository with a work tree in an existing folder."""
        return cls(Repo.init(str(folder), default_branch=branch.encode()))

    @property
    def work_tree(self) -> Path | None:
        """The top of the work tree, or None for a bare repository."""
        linked = self.git_folder.resolve() != self.common_folder.resolve()
        bare = self._repo.bare or (not linked and self.flag("core", "bare", default=False))
        return None if bare else Path(self._repo.path)

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
        return self.resolve_ref("HEAD")

    def resolve_ref(self, name: str) -> str:
        """The ref that a symbolic ref comes to in the end, or the ref itself."""
        try:
            names, _ = self._repo.refs.follow(Ref(name.encode()))
        except SymrefLoop as error:
            raise EnvironmentProblem(f"{name} names itself", hint="repair .git/HEAD") from error
        return names[-1].decode()

    def read_ref(self, name: str) -> str | None:
        """The commit that a ref holds, or None if there is no such ref.

        Raises:
            EnvironmentProblem: the ref is there and holds no object id.
        """
        value = ""
        with suppress(KeyError):
            value = self._repo.refs[Ref(name.encode())].decode("ascii", "replace")
        if is_oid(value):
            return value
        if not ((file := self.ref_file(self.resolve_ref(name))).is_file() or value):
            return None
        raise EnvironmentProblem(
            f"{name} is damaged: {file} holds no object id",
            hint="restore it, for instance from `git reflog`; `git fsck` says what else is damaged",
        )

    def ref_file(self, name: str, *, below: str = ".") -> Path:
        """Where a ref is kept when it is not packed; its log is ``below`` the folder "logs"."""
        top = self.common_folder if name.startswith("refs/") else self.git_folder
        return top / below / name

    def flag(self, section: str, key: str, *, default: bool) -> bool:
        """A yes or no of the repository's own configuration; any other word counts as yes."""
        try:
            return self._config.get_boolean((section.encode(),), key.encode(), default)
        except ValueError:
            return True

    def setting(self, section: str, key: str, environ: Mapping[str, str]) -> str | None:
        """One value of git's configuration: of the repository, else the user, else the system.

        Raises:
            EnvironmentProblem: a file of the configuration cannot be read.
        """
        files: list[ConfigFile] = [self._repo.get_config()]
        matchers = self._repo._get_config_condition_matchers()  # noqa: SLF001 - for includeIf
        try:
            files += [
                ConfigFile.from_path(str(path), condition_matchers=matchers)
                for path in config_files(environ)
            ]
        except (OSError, ValueError) as error:
            raise EnvironmentProblem(f"cannot read git's configuration: {error}") from error
        names = (*map(str.encode, section.split(".", 1)),)
        with suppress(KeyError):
            return StackedConfig(files).get(names, key.encode()).decode("utf-8", "replace")
        return None

    def close(self) -> None:
        """Free file handles."""
        self._repo.close()


def fetch_commit(location: str, commit: str, into: Store, scratch: Path) -> CommitInfo:
    """Copy one commit's tree from a repository (a local path or a URL) into a store.

    Only the commit object's facts and the closure of its tree are taken: no parents, no refs.
    ``scratch`` is a folder that is not there yet, for what a URL serves.

    Raises:
        Refused: no such repository or commit.
        EnvironmentProblem: an object of it is damaged.
    """
    if not is_oid(commit):
        raise Refused(f"{commit!r} is not a full commit id", hint="`git rev-parse` prints it")
    if not (here := Path(location).is_dir()) and not is_url(location):
        raise Refused(f"cannot read the repository {location}: no such folder, and no URL")
    try:
        source = Repo(location) if here else _fetched(location, commit, scratch)
    except (*_KINDS, NotGitRepository, GitProtocolError, OSError, ValueError) as error:
        why = str(error) or "there is none"
        raise Refused(f"cannot read the repository {location}: {why}") from error
    try:
        _check_kind(source)
        store = Store(source.object_store)
        info = store.commit(commit)
        into.copy_from(store, closure(store, info.tree))
    except KeyError:
        raise Refused(f"{location} has no commit {commit}, or not all of its files") from None
    finally:
        source.close()
    return info


def closure(store: Store, tree: str) -> Iterator[str]:
    """The ids of a tree and everything below it, each once, gitlinks left out."""
    return reachable(store.tree, tree)


def _check_kind(repo: Repo) -> None:
    in_files = isinstance(repo.refs, DiskRefsContainer)
    kind = repo.object_format.name if in_files else "reftable"
    if kind != "sha1":
        repo.close()
        raise EnvironmentProblem(
            f"the repository {repo.path} is of the kind {kind}, which cannot be written safely",
            hint="use a repository with sha1 object ids and refs in files: a plain `git init`",
        )


@contextmanager
def _undamaged(oid: str) -> Iterator[None]:
    try:
        yield
    except _DAMAGE as error:
        raise EnvironmentProblem(
            f"the git object {oid} is damaged: {error}",
            hint="`git fsck` says what else is; fetch it again from a clone that has it",
        ) from error


def _fetched(location: str, commit: str, scratch: Path) -> Repo:
    client, path = get_transport_and_path(location)
    target = Repo.init_bare(str(scratch), mkdir=True)

    def wants(refs: Mapping[Any, Any], depth: int | None = None) -> list[Any]:
        del depth  # some servers only serve what a ref names: they are asked for all heads
        heads = {oid for oid in refs.values() if oid is not None}
        return [commit.encode()] if commit.encode() in heads else sorted(heads)

    try:
        client.fetch(path, target, determine_wants=wants)
    finally:
        getattr(client, "pool_manager", {}).clear()  # which closes connections by HTTP
    return target
