"""The ledger read from git objects: no work tree, no index, no git executable.

A reader sees one commit. Trees and records are kept by their object ids, which never change, so
that reading the same run again costs nothing. Files below ``runs/`` that are none of ours are
passed over.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from pathlib import Path
from typing import TypeVar, cast

from trialbook.errors import EnvironmentProblem, UserError
from trialbook.formats.records import from_json
from trialbook.model.grade import Grade
from trialbook.model.plan import Plan
from trialbook.model.runfiles import rerun_of
from trialbook.model.trial import Trial
from trialbook.storage.answers import Answers
from trialbook.storage.collection import no_collection
from trialbook.storage.history import additions
from trialbook.storage.raw_objects import (
    BLOB,
    DamagedObject,
    MissingObject,
    RawObjects,
    entry_of,
)
from trialbook.storage.refs import commit_of, ledger_ref
from trialbook.storage.repository import DIRECTORY, Repository, Store, TreeEntry
from trialbook.storage.runname import RunRef, resolve

__all__ = ["Reader", "RunRef"]

T = TypeVar("T")


class Reader:
    """The ledger at one commit. One per thread.

    ``head`` is the commit's id; empty if the branch has no commit yet, and then there are no runs.
    ``name`` is how git commands name it: the ledger's branch if it has one of its own, or HEAD.
    """

    def __init__(
        self,
        store: Store,
        head: str,
        prefix: bytes,
        *,
        name: str = "HEAD",
        cache: Path | None = None,
    ) -> None:
        self._store = store
        self._prefix = prefix
        self._places: dict[bytes, Mapping[bytes, TreeEntry]] = {}
        self.head = head
        self.name = name
        self._root = _root_of(store, head, prefix)
        self._answers = None if cache is None else Answers(cache)
        self._trees: dict[str, dict[bytes, TreeEntry]] = {}
        self._records: dict[tuple[str, type], object] = {}
        self._listed: dict[str, list[str]] = {}
        self._added: dict[RunRef, dict[bytes, str]] = {}

    @classmethod
    def open(cls, root: Path, ref: str | None = None, *, cache: Path | None = None) -> Reader:
        """The ledger whose root is the folder ``root``.

        Args:
            root: Where ``runs/`` would be; the top of the repository if that is bare.
            ref: A branch, a tag's ref or a full commit id; by default the ledger's own (see
                `ledger_ref`).
            cache: Where to keep what was read, and to find what was read before; None where the
                ledger itself is in question, and nothing but it shall be believed.

        Raises:
            EnvironmentProblem: no repository there.
            UserError: no such ref or commit.
        """
        repository = Repository.discover(root)
        top = repository.work_tree
        inside = "." if top is None else os.path.relpath(root.resolve(), top.resolve())
        prefix = b"" if inside == "." else os.fsencode(inside) + b"/"
        own = ledger_ref(repository)
        name = "HEAD" if own == repository.head_ref() else own.removeprefix("refs/heads/")
        head = commit_of(repository, ref or own)
        return cls(repository.store, head, prefix, name=name, cache=cache)

    def runs(self) -> list[RunRef]:
        """Every run that has a plan, by suite and name."""
        found: list[RunRef] = []
        for suite, folder in self._folders(self._folder(b"runs")):
            for run, inside in self._folders(self._entries(folder)):
                plan = self._entries(inside).get(b"plan.json")
                if plan is not None and plan.mode != DIRECTORY:
                    found.append(RunRef(suite, run))
        return sorted(found)

    def plan_bytes(self, run: RunRef) -> bytes:
        """The run's ``plan.json`` as it is in git.

        Raises:
            UserError: there is no such run.
        """
        data = self.file(run, "plan.json")
        if data is None:
            raise UserError(
                f"there is no run {run.path}", hint="`trialbook status` lists the runs there are"
            )
        return data

    def plan(self, run: RunRef) -> Plan:
        """The run's plan.

        Raises:
            UserError: there is no such run.
            RecordError: the file cannot be read as a plan.
        """
        if self._entry(run, "plan.json") is None:
            self.plan_bytes(run)
        return self._record(Plan, run, "plan.json")

    def trials(self, run: RunRef) -> list[Trial]:
        """Every trial of a run, by task, configuration, repetition and rerun.

        Raises:
            RecordError: a ``trial.json`` that cannot be read as a trial.
        """
        with no_collection():
            found = self.answer_each(run, "trial", Trial, lambda path: self.trial(run, path))
        return sorted(found.values(), key=lambda trial: (*trial.slot, trial.rerun))

    def records(self, run: RunRef, kind: type[T]) -> list[tuple[str, T]]:
        """Every ``trial.json`` of a run as some kind of value, with the trial's folder, by name.

        Raises:
            RecordError: one that cannot be read as that kind.
        """
        with no_collection():
            return [
                (path, self._decoded(kind, entry.oid, f"runs/{run.path}/{path}/trial.json"))
                for path, entry in self._trial_entries(run)
            ]

    def answer(self, run: RunRef, question: str, kind: type[T], compute: Callable[[], T]) -> T:
        """What follows from a run's folder alone: from the cache if it is known, else worked out.

        ``question`` names it, and must be asked in one meaning only; ``kind`` is what it is.
        """
        entry = self._lookup(os.fsencode(f"runs/{run.path}"))
        if self._answers is None or entry is None:
            return compute()
        return self._answers.answer((question, run.path), entry.oid, kind, compute)

    def answer_each(
        self, run: RunRef, question: str, kind: type[T], compute: Callable[[str], T]
    ) -> dict[str, T]:
        """What follows from each trial's own folder alone, by its path: only new ones are read."""
        kept = dict[str, tuple[str, kind]]  # type: ignore[valid-type]

        def read() -> dict[str, tuple[str, T]]:
            known = self._answers.last((question, run.path), kept) if self._answers else None
            found: dict[str, tuple[str, T]] = {}
            for path in self.trial_paths(run):
                oid, before = (
                    self.object_id(f"runs/{run.path}/{path}") or "",
                    (known or {}).get(path),
                )
                found[path] = before if before and before[0] == oid else (oid, compute(path))
            return found

        return {path: value for path, (_, value) in self.answer(run, question, kept, read).items()}

    def forget(self) -> None:
        """Free what was read; it is read again when it is asked for."""
        self._records, self._trees, self._places, self._listed = {}, {}, {}, {}

    def trial_paths(self, run: RunRef) -> list[str]:
        """The folders of a run's trials, in the run's folder; by name, not by meaning."""
        return [path for path, _ in self._trial_entries(run)]

    def trial(self, run: RunRef, trial_path: str) -> Trial:
        """One trial by its folder in the run: ``<task>/<configuration>/r<k>``.

        Raises:
            UserError: there is no such trial.
            RecordError: its ``trial.json`` cannot be read as a trial.
        """
        return self._record(Trial, run, f"{trial_path}/trial.json")

    def grade(self, run: RunRef, trial_path: str, grader: str) -> Grade:
        """What one grader said of a trial.

        Raises:
            UserError: there is no such grade.
            RecordError: the file cannot be read as a grade.
        """
        return self._record(Grade, run, f"{trial_path}/grades/{grader}.json")

    def file(self, run: RunRef, path: str) -> bytes | None:
        """The bytes of a file of the run, by its path in the run's folder, or None."""
        return self.ledger_file(f"runs/{run.path}/{path}")

    def files(self, run: RunRef, trial_path: str) -> list[str]:
        """The files of a trial, by their paths in the trial's folder, sorted.

        A name that is no text is written with surrogate escapes, as the operating system does.
        """
        entry = self._entry(run, trial_path)
        if entry is None or entry.mode != DIRECTORY:
            return []
        known = self._listed.get(entry.oid)
        if known is None:
            known = self._listed[entry.oid] = sorted(map(os.fsdecode, self._below(entry.oid, b"")))
        return list(known)

    def names(self, run: RunRef, folder: str) -> list[str]:
        """The names in a folder of the run, sorted; empty if there is no such folder."""
        return self.ledger_names(f"runs/{run.path}/{folder}")

    def ledger_file(self, path: str) -> bytes | None:
        """The bytes of any file of the ledger, by its path from the root down, or None."""
        entry = self._lookup(os.fsencode(path))
        return None if entry is None or entry.mode == DIRECTORY else self._blob(entry.oid)

    def ledger_names(self, folder: str) -> list[str]:
        """The names in any folder of the ledger, sorted; empty if there is no such folder."""
        return sorted(map(os.fsdecode, self._folder(os.fsencode(folder))))

    def has(self, path: str) -> bool:
        """Whether the ledger has a file or folder at a path."""
        return self._lookup(os.fsencode(path)) is not None

    def record(self, kind: type[T], run: RunRef, path: str) -> T:
        """Any JSON record of the run, by its path in the run's folder.

        Raises:
            UserError: there is no such file.
            RecordError: it cannot be read as that kind.
        """
        return self._record(kind, run, path)

    def object_id(self, path: str) -> str | None:
        """The id of a file or folder of the ledger, by its path from the root down, or None.

        It stands for all that is in there: the same id, the same content.
        """
        entry = self._lookup(os.fsencode(path))
        return None if entry is None else entry.oid

    def is_closed(self, run: RunRef) -> bool:
        """Whether the run's results are written, which is the last thing that happens to it."""
        return self._entry(run, "results.csv") is not None

    def commit_of(self, run: RunRef, path: str) -> str | None:
        """The commit that added a file of the run, or None if the file is not there.

        Where a merge brought it, that is the commit on the other side. The history of a run is
        walked once, back to where the run begins.
        """
        if run not in self._added:
            folder = self._prefix + f"runs/{run.path}".encode()
            self._added[run] = additions(self._store, self.head, folder) if self.head else {}
        return self._added[run].get(os.fsencode(path))

    def record_added(self, path: str) -> str | None:
        """The commit that added a record beside the runs, by its path from the root down."""
        folder, _, name = path.rpartition("/")
        where = self._prefix + os.fsencode(folder)
        found = additions(self._store, self.head, where) if self.head else {}
        return found.get(os.fsencode(name))

    def committed(self) -> float:
        """When the commit was made that this is the ledger at, in seconds since 1970."""
        return self._store.commit(self.head).seconds

    def resolve(self, text: str) -> RunRef | tuple[RunRef, str]:
        """What an argument RUN or TRIAL means.

        A run is ``<suite>/<run>`` or ``<run>``, or the beginning of either that fits only one; a
        trial is a run, and behind a slash its folder: ``<task>/<configuration>/r<k>``.

        Raises:
            UserError: nothing fits, or more than one does; candidates are listed.
        """
        return resolve(text, self.runs(), self.trial_paths)

    def resolve_run(self, text: str) -> RunRef:
        """What an argument RUN means (see `resolve`).

        Raises:
            UserError: nothing fits, more than one does, or it is a trial.
        """
        found = self.resolve(text)
        if isinstance(found, RunRef):
            return found
        raise UserError(
            f"{text} is a trial, and a run is asked for", hint=f"its run is {found[0].path}"
        )

    def close(self) -> None:
        """Free file handles."""
        self._store.close()
        self._objects.close()

    def _trial_entries(self, run: RunRef) -> Iterator[tuple[str, TreeEntry]]:
        for task, in_task in self._folders(self._folder(os.fsencode(f"runs/{run.path}"))):
            for configuration, in_configuration in self._folders(self._entries(in_task)):
                for name, inside in self._folders(self._entries(in_configuration)):
                    record = self._entries(inside).get(b"trial.json")
                    if record is not None and rerun_of(name):
                        yield f"{task}/{configuration}/{name}", record

    def _entry(self, run: RunRef, path: str) -> TreeEntry | None:
        return self._lookup(os.fsencode(f"runs/{run.path}/{path}"))

    def _lookup(self, path: bytes) -> TreeEntry | None:
        folder, _, name = path.rpartition(b"/")
        return self._folder(folder).get(name)

    def _folder(self, path: bytes) -> Mapping[bytes, TreeEntry]:
        """What is in a folder of the ledger; nothing if there is no such folder."""
        known = self._places.get(path)
        if known is None:
            if path:
                entry = self._lookup(path)
                top = "" if entry is None or entry.mode != DIRECTORY else entry.oid
            else:
                top = self._root
            known = self._places[path] = self._entries(top) if top else {}
        return known

    def _entries(self, tree: str) -> Mapping[bytes, TreeEntry]:
        if tree not in self._trees:
            try:
                found = map(entry_of, self._objects.tree(bytes.fromhex(tree)))
            except (MissingObject, DamagedObject) as error:
                raise _damage(tree, error) from error
            self._trees[tree] = {
                name: TreeEntry(name, mode, oid.hex()) for name, mode, oid in found
            }
        return self._trees[tree]

    def _blob(self, oid: str) -> bytes:
        try:
            return self._objects.read(bytes.fromhex(oid), BLOB)
        except (MissingObject, DamagedObject) as error:
            raise _damage(oid, error) from error

    @cached_property
    def _objects(self) -> RawObjects:
        # Reads in bulk what the store reads one by one.
        return RawObjects(self._store.folder)

    def _below(self, tree: str, folder: bytes) -> Iterator[bytes]:
        for entry in self._entries(tree).values():
            if entry.mode == DIRECTORY:
                yield from self._below(entry.oid, folder + entry.name + b"/")
            else:
                yield folder + entry.name

    def _folders(self, entries: Mapping[bytes, TreeEntry]) -> Iterator[tuple[str, str]]:
        for name, mode, oid in entries.values():
            if mode == DIRECTORY:
                yield os.fsdecode(name), oid

    def _record(self, kind: type[T], run: RunRef, path: str) -> T:
        entry = self._entry(run, path)
        if entry is None or entry.mode == DIRECTORY:
            raise UserError(
                f"the run {run.path} has no {path}",
                hint=f"`trialbook show {run.path}` shows what it has",
            )
        return self._decoded(kind, entry.oid, f"runs/{run.path}/{path}")

    def _decoded(self, kind: type[T], oid: str, where: str) -> T:
        key = (oid, kind)
        if key not in self._records:
            self._records[key] = from_json(kind, self._blob(oid), where)
        return cast("T", self._records[key])


def _root_of(store: Store, head: str, prefix: bytes) -> str:
    """The tree of the ledger's root in a commit; empty if there is none."""
    if not head:
        return ""
    entry = store.lookup(prefix.rstrip(b"/"), store.commit(head).tree)
    return "" if entry is None or entry.mode != DIRECTORY else entry.oid


def _damage(oid: str, error: Exception) -> EnvironmentProblem:
    return EnvironmentProblem(
        f"the git object {oid} {error}",
        hint="`git fsck` says what else is wrong; fetch it again from a clone that has it",
    )
