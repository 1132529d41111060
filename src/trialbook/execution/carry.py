"""The history that an agent left in its workspace, taken over as objects and nothing else.

The agent's ``.git`` is untrusted: it may be gone, a link, enormous, or full of settings that run
programs. Files of objects are copied from it byte by byte, never through a link; what they say is
read by git in a folder of our own, checked, and written anew. Its configuration, hooks, index,
logs and alternates are not looked at.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path

from trialbook.errors import EnvironmentProblem
from trialbook.model.session import RepositoryState, commits_of
from trialbook.process import git
from trialbook.storage.files import fresh_folder, read_regular, write_atomic
from trialbook.storage.repository import Store

MOST_COMMITS = 1000
MOST_BRANCHES = 50
MOST_BYTES = 200_000_000
MOST_UNPACKED = 1_000_000_000
_MOST_FILES = 200_000
_SECONDS = 120.0
_OID = re.compile(r"[0-9a-f]{40}")
_FAN = re.compile(r"[0-9a-f]{2}")
_LOOSE = re.compile(r"[0-9a-f]{38}")
_PACK = re.compile(r"pack-[0-9a-f]{40}\.pack")
_BRANCH = re.compile(r"(?![.-])[A-Za-z0-9._+@/-]{1,100}")
_BAD_BRANCH = re.compile(r"\.\.|//|/\.|\.lock(/|$)|[./]$|@\{")
_HEADS, _TAGS = "refs/heads/", "refs/tags/"
_QUIET = ("-c", "core.bigFileThreshold=16m", "-c", "pack.threads=1", "-c", "gc.auto=0")


class _LostError(Exception):
    """The history cannot be carried; says why."""


def left_repository(
    workspace: Path, tree: str, baseline: str, store: Store, work: Path
) -> RepositoryState:
    """The state of a repository whose agent has ended; its commits go into the store.

    Where the history cannot be had, the state is that of a repository in which nothing was
    committed, and says why: the files themselves are never lost.

    Args:
        workspace: The folder. No process of the agent runs any more.
        tree: What its files were found to be.
        baseline: The commit that the series began with.
        store: Where objects are kept; it has those of the baseline.
        work: Where a folder can be made meanwhile.
    """
    with fresh_folder(work) as folder:
        try:
            return _History(workspace / ".git", folder, baseline, store).state(tree)
        except (_LostError, OSError, ValueError, KeyError) as error:
            lost = str(error) if isinstance(error, _LostError) else f"it cannot be read: {error!r}"
        except EnvironmentProblem as error:
            lost = f"git refuses what is in it: {error.message}"
        lost = lost.replace(str(folder), "").replace(str(workspace), "")[:300]
    return RepositoryState(tree=tree, head=baseline, branch="main", lost=lost)


class _History:
    """Reads one repository; ``folder`` is our own, to copy into."""

    def __init__(self, theirs: Path, folder: Path, baseline: str, store: Store) -> None:
        self._theirs, self._folder = theirs, folder
        self._baseline, self._store = baseline, store
        self._objects = folder / "objects"
        self._git_folder = folder / "git"

    def state(self, tree: str) -> RepositoryState:
        _need_folder(self._theirs, "the repository")
        branch, head, others = self._heads()
        self._copy()
        self._own_folder()
        self._index_packs()
        self._measure()
        others = {name: oid for name, oid in others.items() if self._is_commit(oid)}
        if not self._is_commit(head):
            raise _LostError("the newest commit is not there")
        listed = self._git("rev-list", "--topo-order", "--reverse", head, f"^{self._baseline}")
        commits = listed.decode().split()
        if len(commits) > MOST_COMMITS:
            raise _LostError(f"it has more than {MOST_COMMITS} commits")
        tags = {name: oid for name, oid in self._tags().items() if self._names_commit(oid)}
        self._take_over([head, *others.values()])
        try:
            self._take_over([*tags.values(), head])
        except EnvironmentProblem:
            tags = {}  # git refuses one of them: no history hangs on it.
        return RepositoryState(
            tree=tree,
            head=head,
            branch=branch,
            commits=commits_of(map(self._message, commits)),
            branches=others,
            tags=tags,
        )

    # --- what is there ---

    def _heads(self) -> tuple[str | None, str, dict[str, str]]:
        """The branch, the newest commit, and the other branches."""
        known = self._refs(_HEADS)
        text = self._text("HEAD") or ""
        if not text.startswith("ref: "):
            if _OID.fullmatch(text) is None:
                raise _LostError("its HEAD names nothing")
            return None, text, dict(sorted(known.items())[:MOST_BRANCHES])
        name = text.removeprefix("ref: ").strip().removeprefix(_HEADS)
        if name not in known:
            raise _LostError("its HEAD names a branch without a commit")
        head = known.pop(name)
        return name, head, dict(sorted(known.items())[:MOST_BRANCHES])

    def _tags(self) -> dict[str, str]:
        return dict(sorted(self._refs(_TAGS).items())[:MOST_BRANCHES])

    def _refs(self, kind: str) -> dict[str, str]:
        """The branches or the tags, by name."""
        known = dict(self._packed_refs(kind))
        return known | dict(self._loose_refs(kind, self._theirs / kind, ""))

    def _packed_refs(self, kind: str) -> Iterator[tuple[str, str]]:
        data = read_regular(self._theirs / "packed-refs", MOST_BYTES) or b""
        for line in data.decode("utf-8", "replace").splitlines():
            oid, _, name = line.partition(" ")
            if name.startswith(kind) and _is_branch(name.removeprefix(kind), oid):
                yield name.removeprefix(kind), oid

    def _loose_refs(self, kind: str, folder: Path, prefix: str) -> Iterator[tuple[str, str]]:
        if not _is_folder(folder) or prefix.count("/") > MOST_BRANCHES:
            return
        for entry in sorted(os.scandir(folder), key=lambda one: one.name)[:_MOST_FILES]:
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from self._loose_refs(kind, folder / entry.name, f"{name}/")
                continue
            oid = self._text(f"{kind}{name}")
            if oid is not None and _is_branch(name, oid):
                yield name, oid

    def _text(self, name: str) -> str | None:
        data = read_regular(self._theirs / name, 4096)
        return None if data is None else data.decode("utf-8", "replace").strip()

    # --- taking it over ---

    def _copy(self) -> None:
        """Copy loose objects and packs, within bounds; indexes of packs are made anew."""
        source, read = self._theirs / "objects", 0
        (self._objects / "pack").mkdir(parents=True)
        _need_folder(source, "the folder of its objects")
        for path in _object_files(source):
            data = read_regular(path, MOST_BYTES + 1 - read)
            read += len(data or b"")
            if data is None or read > MOST_BYTES:
                raise _LostError(f"its objects have more than {MOST_BYTES // 1_000_000} MB")
            write_atomic(self._objects / path.relative_to(source), data)

    def _own_folder(self) -> None:
        (self._git_folder / "refs").mkdir(parents=True)
        (self._git_folder / "HEAD").write_bytes(b"ref: refs/heads/none\n")
        text = b"[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
        (self._git_folder / "config").write_bytes(text)

    def _index_packs(self) -> None:
        beside = {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self._store.folder.absolute())}
        for pack in sorted((self._objects / "pack").glob("*.pack")):
            self._git("index-pack", str(pack), environment=beside)

    def _measure(self) -> None:
        """Refuse what would be enormous once it is unpacked."""
        listing = self._git(
            *("cat-file", "--batch-all-objects", "--unordered", "--batch-check=%(objectsize)")
        )
        if sum(int(size) for size in listing.split() if size.isdigit()) > MOST_UNPACKED:
            raise _LostError(f"its objects unpack to more than {MOST_UNPACKED // 10**9} GB")

    def _is_commit(self, oid: str) -> bool:
        try:
            return self._git("cat-file", "-t", oid, environment=self._both).strip() == b"commit"
        except EnvironmentProblem:
            return False

    def _names_commit(self, oid: str) -> bool:
        try:
            self._git("cat-file", "-e", f"{oid}^{{commit}}", environment=self._both)
        except EnvironmentProblem:
            return False
        return True

    def _take_over(self, heads: list[str]) -> None:
        """Write everything that the heads need into the store, checked object by object."""
        wanted = "".join(f"{oid}\n" for oid in (*dict.fromkeys(heads), f"^{self._baseline}"))
        pack = self._git(
            *("pack-objects", "-q", "--revs", "--stdout"),
            environment=self._both,
            stdin=wanted.encode(),
        )
        target = {"GIT_OBJECT_DIRECTORY": str(self._store.folder.absolute())}
        self._git("unpack-objects", "-q", "--strict", environment=target, stdin=pack)

    def _message(self, oid: str) -> tuple[str, str, str]:
        info = self._store.commit(oid)
        return oid, info.tree, info.message

    @property
    def _both(self) -> Mapping[str, str]:
        return {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(self._store.folder.absolute())}

    def _git(
        self,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        stdin: bytes | None = None,
    ) -> bytes:
        own = {"GIT_OBJECT_DIRECTORY": str(self._objects.absolute())}
        both = self._both if arguments[0] == "rev-list" else {}
        try:
            return git(
                [*_QUIET, *arguments],
                git_folder=self._git_folder,
                environment={**own, **both, **(environment or {})},
                stdin=stdin,
                timeout=_SECONDS,
            )
        except EnvironmentProblem as error:
            message = error.message.replace(f"git {_QUIET[0]} ", f"git {arguments[0]} ", 1)
            raise EnvironmentProblem(message) from error


def _object_files(source: Path) -> Iterator[Path]:
    count = 0
    for folder in sorted(os.scandir(source), key=lambda one: one.name):
        wanted = _PACK if folder.name == "pack" else _LOOSE
        fits = folder.name == "pack" or _FAN.fullmatch(folder.name)
        if not fits or not folder.is_dir(follow_symlinks=False):
            continue
        for entry in os.scandir(folder.path):
            if wanted.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
                count += 1
                if count > _MOST_FILES:
                    raise _LostError(f"it has more than {_MOST_FILES} files of objects")
                yield source / folder.name / entry.name


def _need_folder(path: Path, what: str) -> None:
    if not _is_folder(path):
        there = path.is_symlink() or path.exists()
        raise _LostError(f"{what} is {'no folder any more' if there else 'gone'}")


def _is_folder(path: Path) -> bool:
    try:
        return stat.S_ISDIR(path.lstat().st_mode)
    except OSError:
        return False


def _is_branch(name: str, oid: str) -> bool:
    fits = _BRANCH.fullmatch(name) is not None and _BAD_BRANCH.search(name) is None
    return fits and _OID.fullmatch(oid) is not None
