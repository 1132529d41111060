"""What is known of a trial while it goes through its stages, and what it hands to grading."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

from trialbook.api import AgentResult, Command, Grade, Policy, ProcessResult
from trialbook.execution.change import Change
from trialbook.model.evidence import Sighting
from trialbook.model.toolchain import ToolchainUse
from trialbook.model.trial import (
    AgentRecord,
    Attempt,
    EgressRecord,
    Isolation,
    Stage,
    TrialSpec,
    WorkspaceRecord,
)
from trialbook.model.usage import Usage
from trialbook.storage.trees import Objects


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """What a trial hands to grading: artifacts, never the agent's own words about them.

    ``objects`` is where the change's trees are read from.
    """

    spec: TrialSpec
    change: Change
    python: str
    work: Path
    start: Callable[[Command, Policy], ProcessResult]
    objects: Objects


GradeTrial = Callable[[Subject], tuple[Grade, ...]]


@dataclass(slots=True, kw_only=True)
class Findings:
    """What is known of a trial so far. Filled stage by stage; whatever is missing stays None.

    ``trouble`` is what went wrong on our side, if anything did; ``sightings`` is None until
    something looked for any.
    """

    started: str
    stages: list[Stage] = field(default_factory=list)
    agent: AgentRecord | None = None
    isolation: Isolation | None = None
    egress: EgressRecord | None = None
    workspace: WorkspaceRecord | None = None
    toolchain: ToolchainUse | None = None
    attempts: list[Attempt] = field(default_factory=list)
    result: AgentResult | None = None
    used: Usage | None = None
    change: Change | None = None
    grades: tuple[Grade, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    sightings: list[Sighting] | None = None
    trouble: str | None = None

    def see(self, sightings: Iterable[Sighting]) -> None:
        """Add what a look gave; that something looked is known from here on."""
        self.sightings = [*(self.sightings or ()), *sightings]

    @property
    def usage(self) -> Usage:
        """What the agent used, as far as it is known."""
        return self.used or Usage()
