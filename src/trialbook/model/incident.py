"""Something that went wrong around trials: what, when, which trials it touched, what was decided.

Rules, for everybody who reads or checks one (``incidents/`` in the run's folder):

- ``<id>.yaml`` is written once when it is opened. An incident of a whole suite is in every run that
  it touched, with the same ``incident`` and ``scope: suite``.
- ``<id>.closed-<n>.yaml`` is a file more that closes it. Two clones may both close one: then the
  last by ``closed`` stands, and all are shown.
- ``affected`` is every trial, of whatever configuration, whose time overlaps ``began`` to
  ``ended``; ``added`` names tasks and repetitions beyond that, each for every configuration.
- A decision to rerun or to invalidate is about at least two configurations, if the plan has two.
- A rerun's ``incident`` names one of its run that was closed with *rerun* before, and that is about
  its slot (`affected_slots`). A slot is run again once for an incident, and never after an outcome
  that is not rerunnable; beyond that, the plan's rerun policy does not count for it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from trialbook.model.plan import Plan, SlotKey
from trialbook.model.trial import Trial


class IncidentKind(StrEnum):
    """What went wrong."""

    PROVIDER = "provider"
    HOST = "host"
    NETWORK = "network"
    GRADER_BUG = "grader_bug"
    LEAK = "leak"
    OPERATOR_ERROR = "operator_error"
    BUDGET_STOP = "budget_stop"


class Decision(StrEnum):
    """What an incident means for the trials that it touched."""

    KEEP = "keep"
    RERUN = "rerun"
    INVALIDATE = "invalidate"

    @property
    def meaning(self) -> str:
        """One sentence for people."""
        return _MEANING[self]


_MEANING = {
    Decision.KEEP: "The trials count as they are.",
    Decision.RERUN: "Slots without a valid execution are run again, for every configuration alike.",
    Decision.INVALIDATE: "No number of this protocol version may be used.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedIncident:
    """An incident as it was opened. Times are UTC; ``began`` is when the trouble did."""

    schema: str = "trialbook/incident/1"
    incident: str
    scope: str
    suite: str
    run: str
    kind: IncidentKind
    began: str
    opened: str
    author: str
    reason: str
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Addition:
    """A task's repetition that was touched although the times do not say so, and why."""

    task: str
    repetition: int
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ClosedIncident:
    """How an incident was closed. ``affected`` are folders of trials in the run."""

    schema: str = "trialbook/incident-closing/1"
    incident: str
    suite: str
    run: str
    ended: str
    closed: str
    decision: Decision
    author: str
    reason: str
    evidence: tuple[str, ...] = ()
    affected: tuple[str, ...] = ()
    added: tuple[Addition, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """An incident of a run with all that closed it, oldest first."""

    opened: OpenedIncident
    closings: tuple[ClosedIncident, ...] = ()

    @property
    def id(self) -> str:
        """Its name."""
        return self.opened.incident

    @property
    def closing(self) -> ClosedIncident | None:
        """What stands; None while the incident is open."""
        return self.closings[-1] if self.closings else None

    @property
    def decision(self) -> Decision | None:
        """What was decided; None while the incident is open."""
        return self.closing.decision if self.closing else None


def overlapping(trials: Iterable[Trial], began: str, ended: str | None) -> list[Trial]:
    """The trials that ran at some moment between two times; ``ended`` is None for *not over yet*.

    Raises:
        ValueError: a time that is none.
    """
    first = datetime.fromisoformat(began)
    last = None if ended is None else datetime.fromisoformat(ended)
    return [
        trial
        for trial in trials
        if datetime.fromisoformat(trial.finished) >= first
        and (last is None or datetime.fromisoformat(trial.started) <= last)
    ]


def affected_slots(plan: Plan, incident: Incident) -> list[SlotKey]:
    """The slots that a closed incident is about, in the order of the schedule."""
    closing = incident.closing
    if closing is None:
        return []
    paths = set(closing.affected)
    turns = {(added.task, added.repetition) for added in closing.added}
    return [
        slot.key
        for slot in plan.schedule
        if (slot.task, slot.repetition) in turns
        or any(path == slot.key.path or path.startswith(f"{slot.key.path}.") for path in paths)
    ]


def one_sided(plan: Plan, slots: Iterable[SlotKey]) -> str | None:
    """The one configuration that all these slots belong to although the plan has more, or None."""
    names = {slot.configuration for slot in slots}
    return names.pop() if len(names) == 1 and len(plan.configurations) > 1 else None
