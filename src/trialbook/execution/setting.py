"""What all sessions of one trial share."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path

from trialbook.execution.attempt import AttemptRunner
from trialbook.execution.change import Change
from trialbook.execution.findings import Findings, GradeTrial, Subject
from trialbook.execution.network import Access
from trialbook.execution.prepare import Supplies
from trialbook.execution.room import Room
from trialbook.execution.subject import subject_of
from trialbook.execution.workspace import Template, TemplateObjects
from trialbook.model.session import RepositoryState
from trialbook.model.trial import TrialSpec
from trialbook.storage.repository import Store

OpenAccess = Callable[[TrialSpec, Room, str, Findings], AbstractContextManager[Access]]
"""Gives the network of one room, while it is needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """The trial that the sessions belong to, and what they are done with.

    ``python`` is for agents, ``graders_python`` for what looks at what they left.
    """

    runner: AttemptRunner
    check: GradeTrial
    grade: GradeTrial
    spec: TrialSpec
    made: Template
    supplies: Supplies
    python: str
    graders_python: str
    open_access: OpenAccess

    @property
    def first_state(self) -> RepositoryState:
        """The repository that the series begins with."""
        return RepositoryState(tree=self.made.tree, head=self.made.commit, branch="main")

    @property
    def store(self) -> Store:
        """Where all trees and commits are."""
        return self.supplies.store

    @property
    def work(self) -> Path:
        """Where fresh folders are made."""
        return Path(self.spec.work)

    def subject(self, spec: TrialSpec, change: Change, work: Path) -> Subject:
        """What graders get of a change; ``spec`` says which graders, and of which tree it is."""
        return subject_of(
            spec,
            change,
            work,
            objects=TemplateObjects(self.made, self.store),
            python=self.graders_python,
            launcher=self.runner.launcher,
        )

    def is_stopped(self) -> bool:
        """Whether the run is being ended."""
        return self.runner.launcher.cancel.is_set()
