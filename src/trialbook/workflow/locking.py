"""Protocol versions: locking a suite, opening the next number, and where a suite stands."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from trialbook.errors import EnvironmentProblem, UserError
from trialbook.formats.editing import edit_text
from trialbook.formats.records import to_json
from trialbook.model.lock import Difference, Lock, differences, lock_digest
from trialbook.model.plan import PlannedLock
from trialbook.model.suite import Suite
from trialbook.model.validation import MatrixRow, Waiver
from trialbook.registry import Registry
from trialbook.storage.files import write_atomic
from trialbook.storage.gitconfig import identity
from trialbook.storage.lock import (
    StoredLock,
    freeze,
    lock_path,
    locked_protocols,
    read_lock,
    uncommitted,
)
from trialbook.storage.repository import Repository
from trialbook.storage.suites import SUITE_FILE, load_suite
from trialbook.system import System, timestamp
from trialbook.workflow.host import this_runner
from trialbook.workflow.matrix import waived
from trialbook.workflow.validation import Room, Validation, validate


@dataclass(frozen=True, slots=True, kw_only=True)
class LockState:
    """A suite against its lock.

    ``stored`` is None without one, ``differing`` is what is not as locked, ``uncommitted`` what
    keeps the lock from being provable from git.
    """

    suite: str
    protocol: int
    stored: StoredLock | None
    differing: tuple[Difference, ...]
    uncommitted: tuple[Difference, ...]

    @property
    def draft_because(self) -> str:
        """Why a run of the suite as it is would be a draft; empty if it would not be."""
        if self.stored is None:
            return f"protocol {self.protocol} of the suite is not locked"
        if self.differing:
            return f"the suite is not as it was locked ({_listed(self.differing)})"
        if self.uncommitted:
            return f"the lock is not committed with what it locks ({_listed(self.uncommitted)})"
        return ""

    @property
    def planned(self) -> PlannedLock | None:
        """The lock as a plan names it."""
        if self.stored is None:
            return None
        return PlannedLock(path=self.stored.path, sha256=self.stored.sha256)

    @property
    def advice(self) -> tuple[str, ...]:
        """The commands that make the next run no draft."""
        if self.stored is None:
            return (f"trialbook suite lock {self.suite}",)
        return commit_commands(self.suite, self.protocol) if self.uncommitted else ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Locking:
    """What came of locking a suite.

    ``made`` is False if the suite was locked before, or is not now because ``blocking`` rows stand
    in the way. ``unneeded`` are waivers that no failing row needs.
    """

    state: LockState
    made: bool
    rows: tuple[MatrixRow, ...]
    unneeded: tuple[Waiver, ...]

    @property
    def blocking(self) -> list[MatrixRow]:
        """The rows that keep the suite from being locked."""
        return [row for row in self.rows if row.blocks]


@dataclass(frozen=True, slots=True, kw_only=True)
class Bump:
    """The number that was opened, the one before it, and what has changed since that was locked."""

    protocol: int
    before: int
    differing: tuple[Difference, ...]


def commit_commands(suite: str, protocol: int) -> tuple[str, ...]:
    """The git commands that commit a lock with what it locks."""
    return (
        f"git add suites/{suite}",
        f'git commit -m "Lock {suite}, protocol {protocol}" -- suites/{suite}',
    )


def lock_state(root: Path, suite: Suite, registry: Registry) -> LockState:
    """Where a suite stands: against its lock, and that against git. No snapshot is fetched.

    Raises:
        UserError: the lock is damaged.
    """
    stored = read_lock(root, suite.name, suite.protocol)
    differing: Sequence[Difference] = ()
    missing: Sequence[Difference] = ()
    if stored is not None:
        differing = differences(stored.lock, freeze(root, suite, registry))
        try:
            missing = uncommitted(root, stored)
        except EnvironmentProblem:
            missing = [Difference(where=stored.path, what="in no git repository")]
    return LockState(
        suite=suite.name,
        protocol=suite.protocol,
        stored=stored,
        differing=tuple(differing),
        uncommitted=tuple(missing),
    )


def refuse_drift(state: LockState, more: Iterable[Difference] = ()) -> None:
    """Let nothing pass that is not as locked.

    Raises:
        UserError: names everything that differs, and the two ways out.
    """
    wrong = [*state.differing, *more]
    if not wrong or state.stored is None:
        return
    path = state.stored.path
    told = "\n".join(f"  {difference}" for difference in wrong)
    never = any(one.where == path for one in state.uncommitted)
    third = f"; or, since no commit has this lock, delete {path} and lock again" if never else ""
    raise UserError(
        f"the suite {state.suite} is not as locked under protocol {state.protocol}:\n{told}",
        hint="put them back as they were (`git checkout COMMIT -- PATH` for files), or open the "
        f"next number for the change: trialbook suite bump {state.suite}{third}",
    )


def lock_suite(name: str, room: Room) -> Locking:
    """Validate a suite and write its lock, unless it is locked as it is, or a row blocks it.

    Raises:
        UserError: the suite has mistakes, or is not as it was locked.
        Refused, EnvironmentProblem: a snapshot or a toolchain cannot be prepared.
        KeyboardInterrupt: the room's ``cancel`` was set.
    """
    root = room.root
    suite = load_suite(root, name, room.registry)
    state = lock_state(root, suite, room.registry)
    refuse_drift(state)
    if state.stored is not None:
        matrix = state.stored.lock.matrix
        return Locking(state=state, made=False, rows=matrix, unneeded=())
    before = freeze(root, suite, room.registry)
    validation = validate(suite, room)
    rows, unneeded = waived(validation.rows, suite.waivers)
    made = not any(row.blocks for row in rows)
    if made:
        again = load_suite(root, name, room.registry)
        changed = differences(before, freeze(root, again, room.registry))
        if changed:
            told = "".join(f"\n  {one}" for one in changed)
            raise UserError(
                f"the suite {name} changed while it was validated:{told}",
                hint="let its files rest, and lock again",
            )
        lock = _lock(suite, validation, tuple(rows), room)
        write_atomic(root / lock_path(name, suite.protocol), to_json(lock))
        state = lock_state(root, suite, room.registry)
    return Locking(state=state, made=made, rows=tuple(rows), unneeded=tuple(unneeded))


def bump_suite(root: Path, name: str, registry: Registry) -> Bump:
    """Open the next protocol number in ``suite.yaml``; comments and order stay.

    Raises:
        UserError: the suite has mistakes, its number is not locked, or nothing differs.
    """
    suite = load_suite(root, name, registry)
    state = lock_state(root, suite, registry)
    if state.stored is None:
        raise UserError(
            f"protocol {suite.protocol} of the suite {name} is open already: it is not locked",
            hint=f"change what you like, then: trialbook suite lock {name}",
        )
    if not state.differing:
        raise UserError(
            f"nothing differs from the lock of protocol {suite.protocol}",
            hint="change the suite first: a new number says that results no longer compare",
        )
    number = max(suite.protocol, *locked_protocols(root, name)) + 1
    path = root / suite.folder / SUITE_FILE
    text = edit_text(path.read_bytes().decode("utf-8"), ("protocol",), number)
    write_atomic(path, text.encode(), mode=path.stat().st_mode & 0o777)
    return Bump(protocol=number, before=suite.protocol, differing=state.differing)


def _lock(
    suite: Suite,
    validation: Validation,
    rows: tuple[MatrixRow, ...],
    room: Room,
) -> Lock:
    frozen = freeze(room.root, suite, room.registry)
    tasks = {
        name: replace(
            task,
            source=validation.snapshots[name].source,
            tree=validation.snapshots[name].tree,
        )
        for name, task in frozen.tasks.items()
    }
    return Lock(
        suite=suite.name,
        protocol=suite.protocol,
        created=timestamp(room.system.now()),
        locked_by=_who(room.root, room.system),
        as_root=validation.as_root,
        sandbox=validation.sandbox,
        runner=this_runner(),
        digest=lock_digest(frozen.files),
        rules=frozen.rules,
        graders=frozen.graders,
        tasks=tasks,
        configurations=frozen.configurations,
        files=frozen.files,
        matrix=rows,
    )


def _who(root: Path, system: System) -> str | None:
    try:
        repository = Repository.discover(root)
    except EnvironmentProblem:
        return None
    try:
        setting = partial(repository.setting, environ=system.environ)
        found = identity(setting, system.environ)
    finally:
        repository.close()
    return None if found is None else f"{found[0]} <{found[1]}>"


def _listed(found: Sequence[Difference]) -> str:
    more = f", and {len(found) - 1} more" if len(found) > 1 else ""
    return f"{found[0]}{more}"
