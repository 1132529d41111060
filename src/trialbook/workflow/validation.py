"""The validation matrix of a suite: its graders, tried on answers of known worth. No agent runs.

Every tree is graded as a trial's would be; the snapshot and the reference several times, each time
under another hash seed. Then the answers are looked for where agents can read.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from trialbook.api import Command, Policy, ProcessResult
from trialbook.errors import TrialbookError
from trialbook.execution.candidate import (
    Workshop,
    answer_tree,
    candidate_tree,
    empty_change,
    touched,
)
from trialbook.execution.change import difference_of
from trialbook.execution.snapshot import ResolvedSnapshot, resolve
from trialbook.execution.toolchain import bare_python, in_image
from trialbook.grading.accept import decide
from trialbook.grading.grade import Subject, grade_artifacts
from trialbook.model.acceptance import parse_policy
from trialbook.model.outcome import Outcome
from trialbook.model.suite import NO_SANDBOX, Limits, Suite, Task, merge_limits
from trialbook.model.validation import MatrixRow
from trialbook.process import run
from trialbook.registry import Registry
from trialbook.storage.repository import Store
from trialbook.storage.rooms import rooms
from trialbook.system import System
from trialbook.workflow.leak_rows import LeakCase, leak_rows, shared_places
from trialbook.workflow.matrix import REPEATS, Findings, Tried, Verdict, answers_of, rows
from trialbook.workflow.planting import PlantCheck, plant_rows
from trialbook.workflow.sandboxes import sandbox_for_grading
from trialbook.workflow.starts import naming
from trialbook.workflow.toolchains import toolchains_of

Progress = Callable[[int, int, str], None]
"""Is told how many trees are graded, how many there are, and what the last one was."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Validation:
    """What the matrix found: its rows, and each task's snapshot by the task's name."""

    rows: tuple[MatrixRow, ...]
    snapshots: Mapping[str, ResolvedSnapshot]
    as_root: bool
    sandbox: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """What a validation needs. ``cancel`` ends every command that runs."""

    root: Path
    registry: Registry
    system: System
    jobs: int
    tell: Progress
    cancel: threading.Event


@dataclass(frozen=True, slots=True, kw_only=True)
class _Prepared:
    """A task with its trees by what they are (kind and name); a text where one has no tree."""

    task: Task
    snapshot: ResolvedSnapshot
    python: str
    limits: Limits
    trees: Mapping[tuple[str, str], str]
    troubles: Mapping[tuple[str, str], str]


_BASE = ("base", "")
_EMPTY = ("empty", "")
_REFERENCE = ("reference", "")
_REPEATED = (_BASE, _REFERENCE)


def validate(suite: Suite, room: Room) -> Validation:
    """Try the graders of every task.

    Raises:
        Refused, EnvironmentProblem: a snapshot or a toolchain cannot be prepared.
        KeyboardInterrupt: ``cancel`` was set.
    """
    as_root = os.geteuid() == 0
    sandbox = sandbox_for_grading(room.registry)
    with rooms(room.system) as work, ThreadPoolExecutor(room.jobs) as pool:
        try:
            prepared = list(pool.map(lambda task: _prepare(suite, task, room, work), suite.tasks))
            verdicts = _graded(suite, prepared, room, pool, work)
        except BaseException:
            room.cancel.set()
            pool.shutdown(cancel_futures=True)
            raise
    folder = room.root / suite.folder
    leaks = leak_rows(
        [_leak_case(one) for one in prepared],
        Store.at(room.system.cache_folder() / "objects"),
        shared_places(suite, folder, room.registry, room.system.home()),
    )
    found: list[MatrixRow] = []
    plants = PlantCheck(
        root=room.root, registry=room.registry, system=room.system, cancel=room.cancel
    )
    for one in prepared:
        open_host = as_root and sandbox == NO_SANDBOX
        found += rows(one.task, _findings(one, verdicts[one.task.name]), as_root=open_host)
        found += [leaks[one.task.name]] if one.task.name in leaks else []
        found += plant_rows(suite, one.task, plants)
        _stop_if_cancelled(room)
    snapshots = {one.task.name: one.snapshot for one in prepared}
    return Validation(rows=tuple(found), snapshots=snapshots, as_root=as_root, sandbox=sandbox)


# --- the trees -----------------------------------------------------------------------------------


def _prepare(suite: Suite, task: Task, room: Room, work: Path) -> _Prepared:
    _stop_if_cancelled(room)
    cache = room.system.cache_folder()
    shop = Workshop(
        suite_folder=room.root / suite.folder,
        store=Store.at(cache / "objects"),
        cache=cache,
        work=work,
        start=_starter(room, task),
    )
    folder = shop.task_folder(task)
    with naming(task):
        snapshot = resolve(task.snapshot, folder=folder, store=shop.store, cache=cache)
    toolchains = toolchains_of(suite, room.root, room.registry, room.system)
    grading = sandbox_for_grading(room.registry, task.toolchain)
    python = toolchains.python(task.toolchain, grading)
    limits = merge_limits(suite.limits, task.limits)
    base = snapshot.tree
    makers: dict[tuple[str, str], Callable[[], str]] = {
        _BASE: lambda: base,
        _EMPTY: lambda: empty_change(shop.store, base),
    }
    reference = task.reference
    if reference is not None:
        makers[_REFERENCE] = lambda: answer_tree(task, reference, base, shop)
    for kind, candidates in (("near miss", task.near_misses), ("variant", task.variants)):
        for one in candidates:
            makers[kind, one.name] = lambda one=one: candidate_tree(  # type: ignore[misc]
                task, one, base, shop, python=python, limits=limits
            )
    if task.must_escalate and reference is not None:
        for path in task.protected:
            makers["touched", path] = lambda path=path: touched(  # type: ignore[misc]
                shop.store, answer_tree(task, reference, base, shop), path
            )
    trees, troubles = _made(makers)
    return _Prepared(
        task=task,
        snapshot=snapshot,
        python=python,
        limits=limits,
        trees=trees,
        troubles=troubles,
    )


def _made(
    makers: Mapping[tuple[str, str], Callable[[], str]],
) -> tuple[dict[tuple[str, str], str], dict[tuple[str, str], str]]:
    """Every tree that can be made, and why the others cannot."""
    trees: dict[tuple[str, str], str] = {}
    troubles: dict[tuple[str, str], str] = {}
    for key, make in makers.items():
        try:
            tree = make()
        except TrialbookError as error:
            hint = f" ({error.hint})" if error.hint else ""
            troubles[key] = f"it cannot be made: {error.message}{hint}"
            continue
        if key != _BASE and tree == trees.get(_BASE):
            troubles[key] = "it changes nothing in the snapshot"
        elif key[0] == "variant" and tree == trees.get(_REFERENCE):
            troubles[key] = "it is the reference itself"
        elif key[0] == "near miss" and tree == trees.get(_REFERENCE):
            troubles[key] = "it is the reference"
        else:
            trees[key] = tree
    return trees, troubles


# --- the verdicts --------------------------------------------------------------------------------


def _graded(
    suite: Suite, prepared: Sequence[_Prepared], room: Room, pool: ThreadPoolExecutor, work: Path
) -> dict[str, dict[tuple[str, str], tuple[Verdict, ...]]]:
    jobs: dict[Future[Verdict], tuple[str, tuple[str, str], int]] = {}
    for one in prepared:
        for key in one.trees:
            for turn in range(1, (REPEATS if key in _REPEATED else 1) + 1):
                future = pool.submit(partial(_verdict, suite, one, key, room=room, work=work), turn)
                jobs[future] = (one.task.name, key, turn)
    found: dict[tuple[str, tuple[str, str], int], Verdict] = {}
    for number, future in enumerate(as_completed(jobs), start=1):
        task, (kind, name), turn = jobs[future]
        verdict = found[task, (kind, name), turn] = future.result()
        label = " ".join(filter(None, (task, kind, name)))
        count = f" {turn}/{REPEATS}" if (kind, name) in _REPEATED else ""
        room.tell(number, len(jobs), f"{label}{count}: {verdict.outcome}")
    by_task: dict[str, dict[tuple[str, str], tuple[Verdict, ...]]] = {
        one.task.name: {} for one in prepared
    }
    for task, key, turn in sorted(found):
        by_task[task][key] = (*by_task[task].get(key, ()), found[task, key, turn])
    return by_task


def _verdict(
    suite: Suite, one: _Prepared, key: tuple[str, str], turn: int, *, room: Room, work: Path
) -> Verdict:
    _stop_if_cancelled(room)
    store = Store.at(room.system.cache_folder() / "objects")
    patch, changed = difference_of(store, one.snapshot.tree, one.trees[key], work=work)
    subject = Subject(
        task=one.task,
        task_folder=room.root / one.task.folder,
        baseline_tree=one.snapshot.tree,
        candidate_tree=one.trees[key],
        patch=patch,
        changed=changed,
        python=one.python,
        limits=one.limits,
    )
    grades = grade_artifacts(
        subject,
        store=store,
        registry=room.registry,
        start=_starter(room, one.task, hash_seed=str(turn)),
        work=work,
    )
    _stop_if_cancelled(room)
    policy = parse_policy(suite.accept)
    outcome, reason = decide(policy, {grade.grader: grade for grade in grades})
    if outcome is Outcome.NEEDS_REVIEW:
        # Graders are what is tried here, and they have nothing against it.
        outcome = Outcome.ACCEPTED
    return Verdict(outcome=outcome, reason=reason, answers=answers_of(grades))


def _findings(one: _Prepared, verdicts: Mapping[tuple[str, str], tuple[Verdict, ...]]) -> Findings:
    def tried(key: tuple[str, str]) -> Tried:
        return Tried(verdicts=verdicts.get(key, ()), trouble=one.troubles.get(key, ""))

    def all_of(kind: str) -> dict[str, Tried]:
        keys = sorted(key for key in {*one.trees, *one.troubles} if key[0] == kind)
        return {name: tried((kind, name)) for _, name in keys}

    return Findings(
        base=tried(_BASE),
        empty=tried(_EMPTY),
        reference=tried(_REFERENCE) if one.task.reference is not None else None,
        near_misses=all_of("near miss"),
        variants=all_of("variant"),
        touched=all_of("touched"),
    )


def _leak_case(one: _Prepared) -> LeakCase:
    return LeakCase(
        task=one.task,
        base=one.snapshot.tree,
        reference=one.trees.get(_REFERENCE),
        trouble=one.troubles.get(_REFERENCE, ""),
        python=_python_of_agents(one),
    )


def _python_of_agents(one: _Prepared) -> str | None:
    """The interpreter that agents of a task get; None if an image is what they see."""
    if one.task.toolchain is None:
        return bare_python()
    return one.python if one.task.toolchain.image is None else None


def _starter(
    room: Room, task: Task, hash_seed: str = "0"
) -> Callable[[Command, Policy], ProcessResult]:
    sandbox = room.registry.sandbox(sandbox_for_grading(room.registry, task.toolchain))

    def spawn(command: Command, limits: Limits) -> ProcessResult:
        return run(command, limits, cancel=room.cancel)

    def start(command: Command, policy: Policy) -> ProcessResult:
        seeded = {**command.environment, "PYTHONHASHSEED": hash_seed}
        policy = in_image(policy, command, task.toolchain)
        return sandbox.start(replace(command, environment=seeded), policy, spawn)

    return start


def _stop_if_cancelled(room: Room) -> None:
    if room.cancel.is_set():
        raise KeyboardInterrupt
