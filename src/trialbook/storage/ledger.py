"""The ledger's single writer: files into commits on the ledger's branch.

A commit changes nothing but its own paths, in runs and among the records beside them: whatever else
is staged, modified or untracked stays. It is signed if git's configuration says so, and runs no
hook. Several processes may write at once.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

from trialbook.errors import EnvironmentProblem, Refused
from trialbook.model.paths import path_to_text
from trialbook.storage.batch import Batch
from trialbook.storage.claims import Claims
from trialbook.storage.collection import no_collection
from trialbook.storage.gitconfig import identity
from trialbook.storage.graft import graft, missing
from trialbook.storage.large import LargeStore
from trialbook.storage.locks import exclusive_or_none
from trialbook.storage.own_packs import OwnPacks
from trialbook.storage.patience import Patience
from trialbook.storage.refs import ledger_ref, move_ref
from trialbook.storage.repository import Repository, Signature
from trialbook.storage.runpath import RUN_ATTRIBUTES, checked_path, path_problem, run_folder
from trialbook.storage.signing import signing_of
from trialbook.storage.worktree import WorkTree
from trialbook.system import System

__all__ = ["RUN_ATTRIBUTES", "Identity", "Ledger", "path_problem"]

_LEDGER_SECONDS = 120.0
_REF_SECONDS = 10.0
_INDEX_SECONDS = 10.0
_KNOWN_TROUBLE_SECONDS = 0.2


class Identity(NamedTuple):
    """In whose name commits are made; ``fallback`` if git has no identity configured."""

    name: str
    email: str
    fallback: bool


class Ledger:
    """A ledger that is written to. One per thread.

    ``ref`` is the branch that git's setting ``trialbook.branch`` names, which then gets nothing but
    commits; else what HEAD named when the ledger was opened: a branch, or ``HEAD`` itself when it
    was detached. All commits go there, even if the user checks out another branch meanwhile.
    ``large`` is where contents go of which a commit only holds a pointer; before that commit.
    ``behind`` says what keeps the work tree or the index from showing what the branch has; empty
    while they are in step.
    """

    def __init__(self, repository: Repository, root: Path, system: System) -> None:
        self._repository = repository
        self._system = system
        self._common = repository.common_folder.resolve()
        self._claims = Claims(self._common)
        self.large = LargeStore(self._common)
        top = repository.work_tree
        self._prefix = b"" if top is None else _prefix(root, top.resolve())
        self._tree = None if top is None else WorkTree(repository, top.resolve(), root, system)
        self._batch = Batch(repository.store)
        self._packs = OwnPacks(repository.store, self._common / "trialbook" / "packs")
        self._last: str | None = None
        self._built: tuple[str | None, str | None] = (None, None)
        self._runs: set[bytes] = set()
        self.ref = ledger_ref(repository)
        self._existed = self.head() is not None
        self.behind = ""
        self._warnings: list[str] = []
        setting = partial(repository.setting, environ=system.environ)
        self.identity = self._identity()
        who = f"{self.identity.name} <{self.identity.email}>"
        self._sign = signing_of(setting, system.environ, who, self._warn)

    @classmethod
    def open(cls, root: Path, system: System) -> Ledger:
        """The ledger in the folder ``root``, which may be anywhere in a repository.

        Raises:
            EnvironmentProblem: no repository there, or one that cannot be written safely.
        """
        return cls(Repository.discover(root), root.resolve(), system)

    @property
    def warnings(self) -> list[str]:
        """What a person should hear of, each once, ``behind`` last; commits are safe anyway."""
        return [*self._warnings, self.behind] if self.behind else list(self._warnings)

    def head(self) -> str | None:
        """The newest commit of the ledger's branch, or None if it has none yet."""
        return self._repository.read_ref(self.ref)

    def state_folder(self, suite: str, run: str) -> Path:
        """Where the runner keeps its own notes on a run: in the git folder, never committed."""
        return self._common / "trialbook" / "runs" / suite / run

    def commit(self, files: Mapping[str, bytes], message: str) -> str:
        """Add files, all at once, in one commit; gives its id. As `commit_many` with one group."""
        return self.commit_many([(files, message)])[0]

    def commit_many(self, groups: Sequence[tuple[Mapping[str, bytes], str]]) -> list[str]:
        """Add groups of files, each in a commit of its own, all or none; gives the commits' ids.

        In this order: git objects (one pack), files of the work tree, entries of the index, the
        branch. So a ``git commit`` of the user's at any moment never drops them, and a crash at any
        moment leaves either nothing or all. If the branch moves meanwhile, the files are grafted
        onto what it holds then. The branch's new value is on the disk when this returns; objects
        are, too, if they are many, or where the repository sets core.fsyncObjectFiles.

        Files that are in the ledger already with the same bytes are left out; if that leaves
        nothing of a group, no commit is made for it and the one before is given. Trouble with the
        work tree or the index does not keep the commits from being made: it becomes a warning, and
        the next commit (or `sync`) makes up for it.

        Args:
            groups: For each commit its files (bytes by path relative to the ledger's root, below
                ``runs/<suite>/<run>/`` or a folder of records), and its whole message.

        Raises:
            Refused: a path that cannot be in the ledger, or is there with other bytes.
            EnvironmentProblem: the repository cannot be written, or somebody keeps the branch
                locked. Nothing is committed then.
        """
        checked = [
            ({self._prefix + checked_path(path, data): data for path, data in files.items()}, text)
            for files, text in groups
        ]
        if not checked or not all(files for files, _ in checked):
            raise Refused("a commit without files was asked for")
        with self._exclusive():
            self._settle(_KNOWN_TROUBLE_SECONDS)
            self._runs |= {self._run_of(path) for files, _ in checked for path in files}
            with no_collection():
                return self._commit(checked)

    def sync(self, run_path: str | None = None) -> bool:
        """Bring the work tree and the index back into step after a crash or a locked index.

        Only what an interrupted or hindered commit has put there, or should have, is touched.

        Args:
            run_path: ``runs/<suite>/<run>``, to look at one run only.

        Returns:
            Whether they are in step now; if not, a warning says why.
        """
        with self._exclusive():
            below = None
            if run_path is not None:
                below = self._prefix + run_path.encode() + b"/"
                self._runs.add(self._run_of(below))
            seconds = _KNOWN_TROUBLE_SECONDS if self.behind else _INDEX_SECONDS
            return self._settle(seconds, below)

    def close(self) -> None:
        """Free file handles."""
        self._repository.close()

    def _commit(self, groups: Sequence[tuple[Mapping[bytes, bytes], str]]) -> list[str]:
        notes: list[Path] = []
        try:
            made = self._land(groups, notes)
        except BaseException:
            # What was put in place for a commit that is not made goes again.
            self._batch.forget()
            self._settle(0.0)
            raise
        self._last = made[-1]
        self._batch.written()
        self._finish(notes)
        self._tidy()
        return made

    def _land(
        self, groups: Sequence[tuple[Mapping[bytes, bytes], str]], notes: list[Path]
    ) -> list[str]:
        patience = Patience(self._system, _REF_SECONDS)
        placed: set[bytes] = set()
        while True:
            head = self._current_head()
            if head != self._last:
                self._batch.forget()
            who = self._signature()
            made, added = self._build(groups, head, who)
            if not added:
                return made
            self._packs.write(self._batch.objects(set(added.values())))
            notes += self._place({path: oid for path, oid in added.items() if path not in placed})
            placed |= added.keys()
            why = f"trialbook: {groups[-1][1].partition(chr(10))[0]}"
            if len(groups) > 1:
                why += f" (and {len(groups) - 1} before it)"
            if move_ref(self._repository, self.ref, (head, made[-1]), (who, why)):
                return made
            if not patience.wait():
                raise self._stuck()

    def _build(
        self, groups: Sequence[tuple[Mapping[bytes, bytes], str]], head: str | None, who: Signature
    ) -> tuple[list[str], dict[bytes, str]]:
        """The commits on top of a head, in memory, and the files that they add."""
        tree = self._tree_of(head)
        lost = self._dropped(head, tree)
        made: list[str] = []
        added: dict[bytes, str] = {}
        for files, message in groups:
            oids = {path: self._batch.add_blob(data, path) for path, data in files.items()}
            grafted = graft(self._batch, tree, lost | oids)
            lost = {}
            if head is None or grafted.added:
                head = self._batch.add_commit(grafted.tree, head, who, message, self._sign)
            tree = grafted.tree
            added |= grafted.added
            made.append(head)
        self._built = (made[-1], tree)
        return made, added

    def _tree_of(self, head: str | None) -> str | None:
        if head is None:
            return None
        made, tree = self._built
        return tree if head == made else self._repository.store.commit(head).tree

    def _current_head(self) -> str | None:
        if self.ref == "HEAD" and (branch := self._repository.head_ref()) != "HEAD":
            raise EnvironmentProblem(
                f"HEAD was detached when the run began and now names {branch}",
                hint=f"`git checkout --detach {self._last or branch}`, then `trialbook resume`",
            )
        head = self.head()
        if head is None and self._existed:
            raise EnvironmentProblem(
                f"{self.ref}, which the run commits to, is gone",
                hint=f"bring it back: `git update-ref {self.ref} {self._last or 'COMMIT'}`",
            )
        return head

    def _dropped(self, head: str | None, tree: str | None) -> dict[bytes, str]:
        """Files of our runs that our last commit had and the branch, moved by others, lacks."""
        if self._last is None or self._last == head:
            return {}
        before = self._repository.store.commit(self._last).tree
        lost: dict[bytes, str] = {}
        for run in sorted(self._runs):
            lost |= missing(self._repository.store, before, tree, run)
        if lost:
            self._warn(
                f"{self.ref} had lost {len(lost)} files of this run, {path_to_text(min(lost))} "
                f"among them, by commit {head}; they are back with the next commit"
            )
        return lost

    def _place(self, files: dict[bytes, str]) -> list[Path]:
        """Put files into the work tree and index, if they show our branch; gives the notes."""
        if self._tree is None or not files or self._repository.head_ref() != self.ref:
            return []
        known = bool(self._tree.notes())
        note = self._tree.note(files)
        try:
            seconds = _KNOWN_TROUBLE_SECONDS if known else _INDEX_SECONDS
            self._tree.place(files, self._batch.blob, seconds=seconds)
        except (EnvironmentProblem, OSError) as problem:
            self._warn_of(problem)
            return []
        return [note]

    def _finish(self, notes: list[Path]) -> None:
        if self._tree is None or not notes:
            return
        if self._repository.head_ref() == self.ref:
            try:
                for note in notes:
                    note.unlink(missing_ok=True)
            except OSError as problem:
                self._warn_of(problem)
        else:
            # Another branch was checked out in the middle, and took our files along.
            self._settle(_KNOWN_TROUBLE_SECONDS)

    def _settle(self, seconds: float, below: bytes | None = None) -> bool:
        if self._tree is None:
            return True
        try:
            self._tree.settle(below, seconds=seconds)
        except (EnvironmentProblem, OSError) as problem:
            self._warn_of(problem)
            return False
        if not self._tree.notes():
            self.behind = ""
        return True

    def _tidy(self) -> None:
        try:
            self._packs.tidy()
        except EnvironmentProblem as problem:
            self._warn(f"commits are safe, but packs could not be put together: {problem}")

    @contextmanager
    def _exclusive(self) -> Iterator[None]:
        path = self._common / "trialbook" / "ledger.lock"
        patience = Patience(self._system, _LEDGER_SECONDS)
        while True:
            with ExitStack() as stack:
                if stack.enter_context(exclusive_or_none(path)):
                    self._claims.heal()
                    yield
                    return
            if not patience.wait():
                raise EnvironmentProblem(
                    f"another trialbook process has held {path} for {_LEDGER_SECONDS:.0f} seconds",
                    hint="look for a stopped one (`fuser` on that file names it) and end it",
                )

    def _stuck(self) -> EnvironmentProblem:
        file = self._repository.ref_file(self.ref)
        lock = file.with_name(file.name + ".lock")
        try:
            age = self._system.now().timestamp() - lock.stat().st_mtime
        except OSError:
            return EnvironmentProblem(
                f"{self.ref} keeps moving; gave up after {_REF_SECONDS:.0f} seconds",
                hint="`trialbook resume` goes on when it has come to rest",
            )
        return EnvironmentProblem(
            f"{self.ref} is locked: {lock} has been there for {age:.0f} seconds",
            hint="if no git command is at work, one was killed: remove that file, then go on with "
            "`trialbook resume`",
        )

    def _identity(self) -> Identity:
        environ = self._system.environ
        found = identity(partial(self._repository.setting, environ=environ), environ)
        if found is not None:
            return Identity(*found, fallback=False)
        self._warn(
            "git has no identity configured, so commits are made as trialbook "
            "<trialbook@localhost>; set one with `git config user.name` and `user.email`"
        )
        return Identity("trialbook", "trialbook@localhost", fallback=True)

    def _signature(self) -> Signature:
        seconds = int(self._system.now().timestamp())
        return Signature(self.identity.name, self.identity.email, seconds)

    def _run_of(self, path: bytes) -> bytes:
        return self._prefix + run_folder(path.removeprefix(self._prefix))

    def _warn_of(self, problem: EnvironmentProblem | OSError) -> None:
        hint = f"; {problem.hint}" if isinstance(problem, EnvironmentProblem) else ""
        runs = {os.fsdecode(run.rpartition(b"/")[2]) for run in self._runs} or {"RUN"}
        repair = " and ".join(f"`trialbook resume {run}`" for run in sorted(runs))
        self.behind = (
            f"commits are safe, but the work tree or the index could not follow: {problem}{hint}. "
            "Until that is repaired, `git status` shows files of runs/ as deleted: do not commit "
            f"that. {repair} repairs it"
        )

    def _warn(self, text: str) -> None:
        if text not in self._warnings:
            self._warnings.append(text)


def _prefix(root: Path, top: Path) -> bytes:
    if not root.is_relative_to(top):
        raise EnvironmentProblem(
            f"{root} is not inside of the work tree {top}", hint="run from inside of the work tree"
        )
    inside = root.relative_to(top).as_posix()
    return b"" if inside == "." else os.fsencode(inside) + b"/"
