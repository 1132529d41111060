"""What graders get of what an agent left."""

from __future__ import annotations

from pathlib import Path

from trialbook.execution.change import Change
from trialbook.execution.findings import Subject
from trialbook.execution.launch import Launcher
from trialbook.model.trial import TrialSpec
from trialbook.storage.trees import Objects


def subject_of(
    spec: TrialSpec,
    change: Change,
    work: Path,
    *,
    objects: Objects,
    python: str,
    launcher: Launcher,
) -> Subject:
    """The artifacts, with a way to start commands in the trial's sandbox.

    Args:
        spec: The trial, with the graders that are asked and the tree that the change is of.
        change: The change.
        work: A folder for fresh folders.
        objects: Where the change's trees are.
        python: The interpreter of the task.
        launcher: Starts processes.
    """
    return Subject(
        spec=spec,
        change=change,
        python=python,
        work=work,
        start=lambda command, policy: launcher.in_sandbox(spec, command, policy),
        objects=objects,
    )
