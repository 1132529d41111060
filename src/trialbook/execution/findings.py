"""What is known of a trial while it goes through its stages, and what it hands to grading."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from trialbook.api import AgentResult, Command, Grade, Policy, ProcessResult
from trialbook.execution.change import Change
from trialbook.execution.session_done import DoneSession
from trialbook.model.evidence import Sighting
from trialbook.model.series_record import SeriesRecord
from trialbook.model.session import SessionRecord
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
from trialbook.model.usage import Usage, added
from trialbook.storage.trees import Objects
from trialbook.system import System, timestamp


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
TrySeries = Callable[[Subject, Sequence[SessionRecord]], SeriesRecord]


@dataclass(slots=True, kw_only=True)
class Findings:
    """What is known of a trial so far. Filled stage by stage; whatever is missing stays None.

    ``result`` and ``change`` are those of the last attempt. ``visible`` has what visible checks
    said after an attempt, ``patches`` the changes that a first attempt left, both by the attempt's
    folder. ``secrets`` are the values, by name, that were laid into the home of each attempt.
    ``cut_short`` says that the run was stopped while it was open whether another attempt
    follows. ``trouble`` is what went wrong on our side, if anything did; ``sightings`` is None
    until something looked for any. ``sessions`` are those of a series that are over,
    ``series`` is what was tried over all of them. ``ground`` is the starting tree with what was
    laid in between sessions, and ``own`` the change of that; both None if nothing was.
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
    change: Change | None = None
    grades: tuple[Grade, ...] = ()
    visible: dict[str, tuple[Grade, ...]] = field(default_factory=dict)
    patches: dict[str, bytes] = field(default_factory=dict)
    files: dict[str, bytes] = field(default_factory=dict)
    secrets: list[dict[str, str]] = field(default_factory=list)
    cut_short: bool = False
    sightings: list[Sighting] | None = None
    sessions: list[DoneSession] = field(default_factory=list)
    series: SeriesRecord | None = None
    ground: str | None = None
    own: Change | None = None
    trouble: str | None = None

    def see(self, sightings: Iterable[Sighting]) -> None:
        """Add what a look gave; that something looked is known from here on."""
        self.sightings = [*(self.sightings or ()), *sightings]

    @property
    def anything(self) -> bool:
        """Whether the agent changed anything; what was laid in is not its doing."""
        change = self.own or self.change
        return change is not None and change.anything

    @property
    def usage(self) -> Usage:
        """What all attempts used, as far as it is known of every one of them."""
        used = [attempt.usage or Usage() for attempt in self.attempts]
        unknown = [Usage() for one in self.sessions if one.record.interrupted]
        return added([*used, *unknown[:1]])

    @contextmanager
    def stage(self, name: str, system: System) -> Iterator[Watch]:
        """Time a stage; it is on record however it ends."""
        watch = Watch(system)
        try:
            yield watch
        finally:
            watch.stop()
            self.stages.append(Stage(name=name, started=watch.started, seconds=watch.seconds()))


class Watch:
    """Measures how long something takes, from when it is made on."""

    def __init__(self, system: System) -> None:
        self.started = timestamp(system.now())
        self._system = system
        self._began = system.monotonic()
        self._took: float | None = None

    def stop(self) -> None:
        """It is over."""
        self._took = self.seconds()

    def seconds(self) -> float:
        """How long it took, or has been taking."""
        if self._took is not None:
            return self._took
        return round(self._system.monotonic() - self._began, 3)
