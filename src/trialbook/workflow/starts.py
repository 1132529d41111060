"""Where trials start from: prepared for a run, or looked at to find what a run would refuse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

from trialbook.errors import EnvironmentProblem, Problem, Refused, TrialbookError
from trialbook.execution.prepare import Start, Supplies, starting_point
from trialbook.execution.snapshot import resolve
from trialbook.model.suite import SnapshotKind, Suite, Task
from trialbook.registry import Registry
from trialbook.reporting.wording import number_of
from trialbook.storage.folders import IdsOnly, tree_of_folder
from trialbook.storage.repository import Store
from trialbook.storage.suite_commits import REMOTE
from trialbook.storage.suites import Declared, check_suite, declared_sources
from trialbook.system import System

_PREPARING_AT_ONCE = 4
_SHOWN = 10


def prepared(
    suite: Suite, *, root: Path, system: System, say: Callable[[str], None]
) -> dict[str, dict[str, Start]]:
    """Configuration to task to starting point; downloads are done on the way.

    Raises:
        Refused, EnvironmentProblem: one cannot be prepared; says whose.
    """
    folder, cache = root / suite.folder, system.cache_folder()
    say(f"preparing {number_of(len(suite.tasks), 'snapshot')}")

    def prepare(task: Task) -> dict[str, Start]:
        supplies = Supplies(suite_folder=folder, store=Store.at(cache / "objects"), cache=cache)
        reference = task.reference.snapshot if task.reference else None
        with naming(task):
            if reference and any(item.gives_reference for item in suite.configurations):
                place = supplies.task_folder(task)
                resolve(reference, folder=place, store=supplies.store, cache=cache)
            return {
                configuration.name: starting_point(task, configuration, supplies)
                for configuration in suite.configurations
            }

    with ThreadPoolExecutor(_PREPARING_AT_ONCE) as pool:
        by_task = dict(
            zip(
                [task.name for task in suite.tasks],
                pool.map(prepare, suite.tasks),
                strict=True,
            )
        )
    return {
        configuration.name: {name: starts[configuration.name] for name, starts in by_task.items()}
        for configuration in suite.configurations
    }


@contextmanager
def naming(task: Task) -> Iterator[None]:
    """Let an error say whose snapshot it is about."""
    try:
        yield
    except (Refused, EnvironmentProblem) as error:
        message = f"{task.folder}/task.yaml: the task {task.name}: {error.message}"
        raise type(error)(message, hint=error.hint) from error


def check_whole_suite(root: Path, name: str, registry: Registry, cache: Path) -> list[Problem]:
    """Every mistake in a suite's files, and what its sources that are on this machine hold.

    What would have to be fetched (packages, repositories by URL) is not looked at.

    Raises:
        UserError: there is no suite of that name.
    """
    problems = check_suite(root, name, registry)
    store = Store.at(cache / "objects")
    for one in declared_sources(root, name, registry):
        problems += _look(one, store, cache)
    return sorted(set(problems))


def _look(one: Declared, store: Store, cache: Path) -> Iterator[Problem]:
    try:
        if one.snapshot is None:
            yield from _look_at_instructions(one)
        elif _is_here(one):
            resolve(one.snapshot, folder=one.folder, store=store, cache=cache)
    except TrialbookError as error:
        yield one.document.problem(one.pointer, error.message, error.hint)


def _is_here(one: Declared) -> bool:
    if one.snapshot is None or one.snapshot.kind is SnapshotKind.PACKAGE:
        return False
    return one.snapshot.kind is not SnapshotKind.GIT or not REMOTE.match(one.snapshot.location)


def _look_at_instructions(one: Declared) -> Iterator[Problem]:
    omitted = tree_of_folder(IdsOnly(), one.folder).omitted
    if omitted:
        more = f" and {len(omitted) - _SHOWN} more" if len(omitted) > _SHOWN else ""
        listed = ", ".join(f"{file.path}: {file.reason}" for file in omitted[:_SHOWN])
        message = f"the instructions hold what cannot be laid over a workspace ({listed}{more})"
        yield one.document.problem(one.pointer, message, "remove these from the folder")
