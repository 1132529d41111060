"""Decides whether a run may start trials while the model's provider is in trouble.

Knows no clock and no ledger: it is told what happened and what time it is.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum

from trialbook.model.outcome import Outcome
from trialbook.model.suite import STOP, OutagePolicy
from trialbook.model.trial import Trial

_SECONDS = 60
# These ends do not tell whether the provider is at work.
_TELLS_NOTHING = frozenset({Outcome.CANCELLED, Outcome.ENVIRONMENT_FAILURE})


class State(StrEnum):
    """Where a breaker is."""

    CLOSED = "closed"
    OPEN = "open"
    PROBING = "probing"
    STOPPED = "stopped"


class Change(StrEnum):
    """What the end of a trial changed."""

    TRIPPED = "tripped"
    STILL_DOWN = "still_down"
    RECOVERED = "recovered"
    GAVE_UP = "gave_up"


@dataclass(slots=True)
class Breaker:
    """One run's breaker; times are seconds of one clock. ``row`` has the outages that tripped it.

    Only the trial that was started as a probe says whether the provider is at work again: what was
    running when it tripped tells of the time before.
    """

    policy: OutagePolicy
    state: State = State.CLOSED
    row: list[Trial] = field(default_factory=list)
    wait_seconds: float = 0.0
    _until: float = 0.0
    _probe: str = ""
    _probed: int = 0

    def may_start(self, now: float) -> bool:
        """Whether one more trial may be started."""
        return self.state is State.CLOSED or (self.state is State.OPEN and now >= self._until)

    @property
    def stopped(self) -> bool:
        """Whether no trial is to be started any more."""
        return self.state is State.STOPPED

    def started(self, path: str) -> bool:
        """Take in that a trial was started; whether it is the probe."""
        if self.state is not State.OPEN:
            return False
        self.state, self._probe = State.PROBING, path
        return True

    def ended(self, trial: Trial, now: float) -> Change | None:
        """Take in that a trial ended; what that changed, if anything."""
        if self.state is State.CLOSED:
            return self._counted(trial, now)
        if self.state is not State.PROBING or trial.path != self._probe:
            return None
        self._probed += 1
        if trial.outcome not in _TELLS_NOTHING | {Outcome.PROVIDER_OUTAGE}:
            self.state, self.row, self._probed = State.CLOSED, [], 0
            return Change.RECOVERED
        if trial.outcome is Outcome.PROVIDER_OUTAGE:
            self.row.append(trial)
        if self._probed >= self.policy.probes:
            self.state = State.STOPPED
            return Change.GAVE_UP
        self._wait(self.wait_seconds * 2, now)
        return Change.STILL_DOWN

    def _counted(self, trial: Trial, now: float) -> Change | None:
        most = self.policy.in_a_row
        if most is None or trial.outcome in _TELLS_NOTHING:
            return None
        if trial.outcome is not Outcome.PROVIDER_OUTAGE:
            self.row = []
            return None
        self.row.append(trial)
        if len(self.row) < most:
            return None
        if self.policy.then == STOP:
            self.state = State.STOPPED
        else:
            self._wait(self.policy.wait_minutes * _SECONDS, now)
        return Change.TRIPPED

    def _wait(self, seconds: float, now: float) -> None:
        self.wait_seconds = min(seconds, self.policy.longest_wait_minutes * _SECONDS)
        self.state, self._until = State.OPEN, now + self.wait_seconds
