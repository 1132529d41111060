"""Sessions of a series that are over: all that is known of them, and who keeps it meanwhile."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Protocol

from trialbook.api import Grade
from trialbook.model.change import OmittedFile
from trialbook.model.evidence import Sighting
from trialbook.model.series import Moment, SessionPart
from trialbook.model.session import Handover, SessionRecord
from trialbook.model.trial import AgentRecord, Attempt, EgressRecord, Isolation, Stage


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenGrade:
    """What one part of a session's checks said at one moment."""

    part: SessionPart
    moment: Moment
    grade: Grade


@dataclass(frozen=True, slots=True, kw_only=True)
class DoneSession:
    """A session that is over.

    ``record`` and ``handover`` are as they will be on record, but for the lines on grades.
    ``files`` are artifacts by their path in the trial's folder. ``patch`` is what the session
    changed, ``planted`` what was laid in before it, ``notes`` what became of the notes; ``visible``
    and ``patches`` are of first attempts, by their folder. ``omitted`` are files of the final state
    that no tree holds. ``egress_lines`` is the log of its network.
    """

    record: SessionRecord
    handover: Handover
    attempts: tuple[Attempt, ...] = ()
    agent: AgentRecord | None = None
    isolation: Isolation | None = None
    grades: tuple[GivenGrade, ...] = ()
    files: dict[str, bytes] = field(default_factory=dict)
    patch: bytes = b""
    planted: bytes = b""
    notes: bytes = b""
    visible: dict[str, tuple[Grade, ...]] = field(default_factory=dict)
    patches: dict[str, bytes] = field(default_factory=dict)
    secrets: tuple[dict[str, str], ...] = ()
    omitted: tuple[OmittedFile, ...] = ()
    sightings: tuple[Sighting, ...] | None = None
    stages: tuple[Stage, ...] = ()
    egress: EgressRecord | None = None
    egress_lines: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class SoFar:
    """How far a series came before its runner ended.

    ``begun`` counts how often each session was begun, by its number.
    """

    started: str
    done: tuple[DoneSession, ...] = ()
    begun: dict[int, int] = field(default_factory=dict)


class Progress(Protocol):
    """Keeps what is done of one trial's series, for a runner that takes over."""

    def so_far(self) -> SoFar | None:
        """What an earlier runner left, or None if there was none."""
        ...

    def begin(self, session: int, started: str) -> None:
        """Note that a session begins; ``started`` is when the trial did."""
        ...

    def keep(self, done: DoneSession) -> None:
        """Keep a session that is over."""
        ...


class NoProgress:
    """Keeps nothing: a series that is interrupted begins anew."""

    def so_far(self) -> SoFar | None:
        """Nothing."""
        return None

    def begin(self, session: int, started: str) -> None:
        """Do nothing."""

    def keep(self, done: DoneSession) -> None:
        """Do nothing."""
