"""A task's known right answer, in the form that the replay agent takes.

Only for configurations that are declared to get it: controls that show that the graders can accept.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from trialbook.errors import Refused, UserError
from trialbook.execution.snapshot import resolve
from trialbook.formats.patch import parse_patch
from trialbook.model.suite import Task
from trialbook.storage.disk import doing
from trialbook.storage.files import copy_tree, read_regular, write_atomic
from trialbook.storage.repository import Store
from trialbook.storage.trees import materialise

OVERLAY = "overlay"
PATCH = "change.patch"


def reference_files(
    task: Task,
    *,
    task_folder: Path,
    store: Store,
    cache: Path,
    destination: Path,
    environ: Mapping[str, str] | None = None,
) -> None:
    """Write the reference of a task as a recording: ``overlay/`` or ``change.patch``.

    A task for which no change is right gets an empty recording. ``destination`` is made.

    Raises:
        UserError: the task has no reference.
        Refused: the reference cannot be read, or is damaged.
        EnvironmentProblem: its source cannot be reached.
    """
    with doing(f"make the folder {destination}"):
        destination.mkdir(parents=True, exist_ok=True)
    reference = task.reference
    if reference is None:
        if task.no_change_expected:
            return
        raise UserError(
            f"the task {task.name} has no reference to hand over",
            hint="add `reference:` to its task.yaml, or leave it out of the run: --task",
        )
    if reference.patch is not None:
        data = read_regular(task_folder / reference.patch)
        if data is None:
            raise Refused(f"cannot read the reference {reference.patch} of the task {task.name}")
        parse_patch(data)
        write_atomic(destination / PATCH, data)
    elif reference.overlay is not None:
        copy_tree(task_folder / reference.overlay, destination / OVERLAY)
    elif reference.snapshot is not None:
        found = resolve(
            reference.snapshot, folder=task_folder, store=store, cache=cache, environ=environ
        )
        materialise(store, found.tree, destination / OVERLAY)
