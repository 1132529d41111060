"""What a task and a configuration need before a trial: workspace tree and the agent's files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trialbook.errors import EnvironmentProblem
from trialbook.execution.instructions import Place, lay_folder, lay_revision
from trialbook.execution.reference import reference_files
from trialbook.execution.snapshot import resolve
from trialbook.model.plan import TakenInstructions
from trialbook.model.suite import Configuration, Task
from trialbook.storage.files import copy_tree
from trialbook.storage.repository import Store


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A starting point: where it came from, and its tree before and after the instructions."""

    source: str
    snapshot_tree: str
    workspace_tree: str
    taken: TakenInstructions | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Supplies:
    """Where a trial's ingredients come from: the suite's folder, the objects, the cache."""

    suite_folder: Path
    store: Store
    cache: Path

    def task_folder(self, task: Task) -> Path:
        """The task's folder, private parts included."""
        return self.suite_folder / "tasks" / task.name


def starting_point(task: Task, configuration: Configuration, supplies: Supplies) -> Start:
    """Resolve the task's snapshot and lay the configuration's instruction files over it.

    Raises:
        Refused: the snapshot, or the instructions, hold what cannot be handled without loss.
        EnvironmentProblem: a source cannot be reached.
    """
    store = supplies.store
    folder = supplies.task_folder(task)
    found = resolve(task.snapshot, folder=folder, store=store, cache=supplies.cache)
    tree, taken = found.tree, None
    if configuration.instructions is not None:
        laid = supplies.suite_folder / "instructions" / configuration.instructions
        tree = lay_folder(store, tree, laid, configuration.instructions)
    if configuration.instructions_from is not None:
        place = Place(
            suite_folder=supplies.suite_folder,
            task=task,
            task_folder=folder,
            store=store,
            cache=supplies.cache,
        )
        tree, taken = lay_revision(tree, configuration.instructions_from, place)
    return Start(source=found.source, snapshot_tree=found.tree, workspace_tree=tree, taken=taken)


def agent_files(
    task: Task,
    configuration: Configuration,
    supplies: Supplies,
    destination: Path,
    *,
    repetition: int,
    session: str,
) -> Path | None:
    """Copy the agent's own files beside the workspace; None if it has none.

    Which folder they are in may depend on ``repetition``, and on the name of the ``session``.

    Raises:
        EnvironmentProblem: the folder that the configuration names is not there.
    """
    if configuration.gives_reference:
        destination.mkdir()
        reference_files(
            task,
            task_folder=supplies.task_folder(task),
            store=supplies.store,
            cache=supplies.cache,
            destination=destination,
        )
        return destination
    if configuration.files is None:
        return None
    name = configuration.files.format(task=task.name, repetition=repetition, session=session)
    if not (supplies.suite_folder / name).is_dir():
        raise EnvironmentProblem(
            f"configuration {configuration.name!r} names files that are not there: {name}",
            hint="add the folder, or change `files` in the configuration",
        )
    copy_tree(supplies.suite_folder / name, destination)
    return destination
