"""Trouble of the provider in a run: no more starts, an incident on record, one trial as a probe."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

from trialbook.model.incident import IncidentKind
from trialbook.model.plan import Plan
from trialbook.model.suite import OutagePolicy
from trialbook.model.trial import Trial
from trialbook.reporting.wording import duration, number_of, words
from trialbook.storage.corrections import incidents
from trialbook.storage.ledger import Ledger
from trialbook.storage.reader import Reader, RunRef
from trialbook.system import System, timestamp
from trialbook.workflow.breaker import Breaker, Change
from trialbook.workflow.incidents import OpenRequest, open_incident

_NEVER = OutagePolicy(in_a_row=None)
_MOST_NAMED = 20


class Outages:
    """Watches how a run's trials end. ``stopped`` says why the run ends, if it does for this.

    ``to_close`` is the command that closes the incident that was opened, or empty.

    Args:
        plan: The run's plan, with its policy.
        root: The ledger's root.
        ledger: The run's ledger.
        system: The clock.
        say: Is told what a person should know, in a sentence.
    """

    def __init__(
        self, plan: Plan, root: Path, ledger: Ledger, system: System, say: Callable[[str], None]
    ) -> None:
        self.stopped = ""
        self.to_close = ""
        self._plan = plan
        self._root = root
        self._ledger = ledger
        self._system = system
        self._say = say
        self._breaker = Breaker(plan.outages or _NEVER)
        self._incident = ""

    def may_start(self) -> bool:
        """Whether one more trial may be started now."""
        return self._breaker.may_start(self._system.monotonic())

    def started(self, path: str) -> None:
        """A trial was started."""
        if self._breaker.started(path):
            self._say(f"trying whether the provider answers again: {path}")

    def ended(self, trial: Trial, land: Callable[[], None]) -> None:
        """A trial ended; ``land`` commits what is not committed yet.

        Raises:
            EnvironmentProblem: the ledger cannot be written.
        """
        change = self._breaker.ended(trial, self._system.monotonic())
        if change is Change.TRIPPED:
            land()
            self._open()
            self._tell_trip()
        elif change is Change.STILL_DOWN:
            wait = duration(self._breaker.wait_seconds)
            self._say(f"the provider does not answer yet; the next try is in {wait}")
        elif change is Change.RECOVERED:
            self._tell_how_to_close(timestamp(self._system.now()))
            self._say(
                "the provider answers again, the run goes on; when it is done, close the incident: "
                + self.to_close
            )
        elif change is Change.GAVE_UP:
            tries = number_of(self._breaker.policy.probes, "try", "tries")
            self._stop(f"the provider did not answer in {tries}")

    def _open(self) -> None:
        """Put an incident on record, unless one of this kind is open."""
        ref = RunRef(suite=self._plan.suite, run=self._plan.run)
        reader = Reader.open(self._root, self._ledger.ref)
        for known in incidents(reader, ref):
            if known.closing is None and known.opened.kind is IncidentKind.PROVIDER:
                self._incident = known.id
                return
        row = self._breaker.row
        kinds = Counter(
            attempt.trouble.value for trial in row for attempt in trial.attempts if attempt.trouble
        )
        told = ", ".join(f"{words(kind)} ({count})" for kind, count in kinds.items())
        request = OpenRequest(
            where=ref.path,
            kind=IncidentKind.PROVIDER,
            began=min(trial.started for trial in row),
            reason=f"{number_of(len(row), 'trial')} in a row ended as provider outages"
            + (f": {told}" if told else "")
            + "; no more were started",
            evidence=tuple(f"{trial.path}/trial.json" for trial in row[:_MOST_NAMED]),
        )
        self._incident = open_incident(self._root, self._system, request).id

    def _tell_trip(self) -> None:
        self._tell_how_to_close("TIME")
        row = number_of(len(self._breaker.row), "trial")
        why = f"{row} in a row ended as provider outages; incident {self._incident} is open"
        if self._breaker.stopped:
            self._stop(why)
            return
        wait = duration(self._breaker.wait_seconds)
        self._say(f"no more trials are started: {why}; one is tried in {wait} (Ctrl-C stops)")

    def _tell_how_to_close(self, until: str) -> None:
        what = "--decision DECISION --reason REASON"
        self.to_close = f"trialbook incident close {self._incident} --until {until} {what}"

    def _stop(self, why: str) -> None:
        self.stopped = why
        self._say(f"the run ends here: {why}; `trialbook resume {self._plan.run}` goes on")
