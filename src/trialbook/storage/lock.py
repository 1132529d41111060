"""Locks of suites on disk: what is frozen as it is now, reading a lock, and what git has of it.

A lock lies in the suite's own folder and is committed by whoever owns the suite.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import UserError
from trialbook.formats.records import RecordError, from_json
from trialbook.model.digest import digest_of_files, sha256
from trialbook.model.lock import (
    LINK,
    Difference,
    Frozen,
    Lock,
    LockedConfiguration,
    LockedGrader,
    LockedRules,
    LockedTask,
    lock_digest,
)
from trialbook.model.paths import path_to_text, text_to_path
from trialbook.model.planned_session import planned_session
from trialbook.model.suite import (
    DEFAULT_SANDBOX,
    Candidate,
    Snapshot,
    SnapshotKind,
    Suite,
    Task,
    merge_limits,
)
from trialbook.registry import Registry
from trialbook.storage.committed import Committed
from trialbook.storage.files import read_regular
from trialbook.storage.suite_judgement import planned_judgement

LOCKS_FOLDER = "locks"

_LOCK_FILE = re.compile(r"([1-9][0-9]{0,8})\.json")
_MOST_LINKS = 40


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredLock:
    """A lock that is on disk: its path from the ledger's root, its bytes' digest, what it says."""

    path: str
    sha256: str
    data: bytes
    lock: Lock


def lock_path(suite: str, protocol: int) -> str:
    """Where the lock of a protocol version is, from the ledger's root."""
    return f"suites/{suite}/{LOCKS_FOLDER}/{protocol}.json"


def read_lock(root: Path, suite: str, protocol: int) -> StoredLock | None:
    """The lock of a protocol version, or None if there is none.

    Raises:
        UserError: the file is damaged, or is the lock of something else.
    """
    path = lock_path(suite, protocol)
    data = read_regular(root / path)
    if data is None:
        return None
    hint = f"restore it: git checkout -- {path}"
    try:
        lock = from_json(Lock, data, path)
    except RecordError as error:
        raise UserError(error.message, hint=hint) from error
    if (lock.suite, lock.protocol) != (suite, protocol):
        said = f"{path} is the lock of {lock.suite}@{lock.protocol}"
        raise UserError(said, hint=hint)
    if lock_digest(lock.files) != lock.digest:
        raise UserError(f"{path}: its digest is not that of the files it lists", hint=hint)
    return StoredLock(path=path, sha256=sha256(data), data=data, lock=lock)


def locked_protocols(root: Path, suite: str) -> list[int]:
    """The protocol numbers of a suite that have a lock, in order."""
    folder = root / "suites" / suite / LOCKS_FOLDER
    names = [path.name for path in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(match[1]) for name in names if (match := _LOCK_FILE.fullmatch(name)))


def freeze(root: Path, suite: Suite, registry: Registry) -> Frozen:
    """Everything that measures in a suite, as it is now; no snapshot is fetched for it.

    Raises:
        UserError: a grader that a task names is not installed.
    """
    return Frozen(
        rules=LockedRules(
            accept=suite.accept,
            repetitions=suite.repetitions,
            limits=suite.limits,
            limits_are_failures=suite.limits_are_failures,
            rerun=dict(suite.rerun),
            compare=suite.compare,
            judgement=planned_judgement(root, suite),
        ),
        graders=_graders(suite, registry),
        tasks={task.name: _task(task, suite) for task in suite.tasks},
        configurations={
            configuration.name: LockedConfiguration(
                sandbox=configuration.sandbox or DEFAULT_SANDBOX,
                limits=merge_limits(suite.limits, configuration.limits),
                digest=digest_of_files(configuration.digests),
            )
            for configuration in suite.configurations
        },
        files=_files(root, suite),
    )


def uncommitted(root: Path, stored: StoredLock) -> list[Difference]:
    """What keeps a lock from being provable from git: files that HEAD has not, or has otherwise.

    The private files of tasks may be kept out of git: the lock stands for them by digest.

    Raises:
        EnvironmentProblem: the ledger is in no git repository.
    """
    committed = Committed.at_head(root)
    try:
        data = committed.data(stored.path.encode())
        if data != stored.data:
            what = "not committed" if data is None else "committed with other bytes"
            return [Difference(where=stored.path, what=what)]
        return list(_not_as_locked(stored.lock, committed))
    finally:
        committed.close()


def _not_as_locked(lock: Lock, committed: Committed) -> Iterator[Difference]:
    private = re.compile(rf"suites/{re.escape(lock.suite)}/tasks/[^/]+/private/")
    for path, entry in lock.files.items():
        there = committed.entry(text_to_path(path))
        if there is None and not private.match(path):
            yield Difference(where=path, what="not committed")
        elif there is not None and there != entry:
            yield Difference(where=path, what="committed with other bytes or another mode")


def _graders(suite: Suite, registry: Registry) -> tuple[LockedGrader, ...]:
    names = sorted({use.grader for task in suite.tasks for use in task.graders})
    found = []
    for name in names:
        plugin = registry.plugin("graders", name)
        found.append(
            LockedGrader(
                name=name,
                version=str(registry.grader(name).version),
                distribution=plugin.distribution,
                distribution_version=plugin.version,
            )
        )
    return tuple(found)


def _task(task: Task, suite: Suite) -> LockedTask:
    return LockedTask(
        source="",
        tree="",
        brief_sha256=sha256(task.brief.encode()),
        limits=merge_limits(suite.limits, task.limits),
        requirements_sha256=task.toolchain.requirements_sha256 if task.toolchain else None,
        digest=digest_of_files(task.files),
        sessions=tuple(map(planned_session, task.sessions)),
    )


def _files(root: Path, suite: Suite) -> dict[str, str]:
    """Mode and digest of every frozen file, sources inside the suite included."""
    found: dict[bytes, str] = {}
    for name in suite.every_file():
        _add(root, text_to_path(name), found)
    for task in suite.tasks:
        for source in _sources(task):
            inner = source.path if source.kind is SnapshotKind.FOLDER else "."
            place = os.path.normpath(os.path.join(task.folder, source.location, inner))  # noqa: PTH118
            for path in _below(root, os.fsencode(place)):
                _add(root, path, found)
    return {path_to_text(path): found[path] for path in sorted(found)}


def _sources(task: Task) -> Iterator[Snapshot]:
    """The folders and archives of the suite that a task is made from."""
    tried: tuple[Candidate, ...] = (*task.near_misses, *task.variants)
    answers = [task.reference, *(candidate.answer for candidate in tried)]
    snapshots = [task.snapshot, *(answer.snapshot for answer in answers if answer)]
    for snapshot in snapshots:
        if snapshot and snapshot.kind in (SnapshotKind.FOLDER, SnapshotKind.ARCHIVE):
            yield snapshot


def _below(root: Path, path: bytes) -> Iterator[bytes]:
    """A file itself, or every file and link below a folder, from the root down."""
    top = os.fsencode(root)
    place = os.path.join(top, path)  # noqa: PTH118 - names may be no text
    if not os.path.isdir(place):  # noqa: PTH112
        yield path
        return
    for folder, names, files in os.walk(place):
        names[:] = [name for name in names if name != b".git"]
        links = [name for name in names if os.path.islink(os.path.join(folder, name))]  # noqa: PTH114, PTH118
        for name in (*files, *links):
            yield os.path.relpath(os.path.join(folder, name), top)  # noqa: PTH118


def _add(root: Path, path: bytes, found: dict[bytes, str], links: int = 0) -> None:
    """Add a file as git would store it; a link on the way is added, and what it leads to."""
    parts = path.split(b"/")
    for length in range(1, len(parts) + 1):
        here = b"/".join(parts[:length])
        place = os.path.join(os.fsencode(root), here)  # noqa: PTH118
        try:
            mode = os.lstat(place).st_mode
        except OSError:
            return
        if stat.S_ISLNK(mode):
            target = os.readlink(place)  # noqa: PTH115
            found[here] = f"{LINK} {sha256(target)}"
            end = os.path.join(os.path.dirname(place), target, *parts[length:])  # noqa: PTH118, PTH120
            onward = os.path.relpath(os.path.normpath(end), os.fsencode(root))
            if links < _MOST_LINKS and not onward.startswith(b"../"):
                _add(root, onward, found, links + 1)
            return
        if stat.S_ISREG(mode):
            kind = stat.S_IFREG | (0o755 if mode & stat.S_IXUSR else 0o644)
            found[here] = f"{kind:06o} {sha256(Path(os.fsdecode(place)).read_bytes())}"
