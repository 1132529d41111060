"""Finished trials on their way into the ledger: several that end together share one write.

A trial that waits here is on disk in the run's journal, so that nothing is lost if the runner dies.
Waiting costs less than writing: where a commit takes long, as in a work tree with very many files,
more trials share one, and writing never takes more than about a twentieth of the time.
"""

from __future__ import annotations

from collections.abc import Callable

from trialbook.model.trial import Trial, TrialBundle
from trialbook.storage.ledger import Ledger
from trialbook.storage.messages import trial_message
from trialbook.system import System
from trialbook.workflow.journal import Journal
from trialbook.workflow.worker import bundle_files

MOST_TRIALS = 256
MOST_BYTES = 32 << 20
_SHARE = 19


class Landing:
    """The trials of one run that are finished and not committed yet.

    Args:
        ledger: Where they go.
        journal: The run's journal, which forgets each trial when it is in the ledger.
        folder: The run's folder in the ledger.
        system: The clock.
        landed: Is told each trial that is in the ledger.
    """

    def __init__(
        self,
        ledger: Ledger,
        journal: Journal,
        folder: str,
        system: System,
        landed: Callable[[Trial], None],
    ) -> None:
        self._ledger = ledger
        self._journal = journal
        self._folder = folder
        self._system = system
        self._landed = landed
        self._waiting: list[TrialBundle] = []
        self._bytes = 0
        self._not_before = 0.0

    def add(self, bundle: TrialBundle) -> None:
        """Take a finished trial, which is in the journal."""
        self._waiting.append(bundle)
        self._bytes += sum(map(len, bundle.files.values()))
        if len(self._waiting) >= MOST_TRIALS or self._bytes >= MOST_BYTES:
            self.commit()

    def commit_if_due(self) -> None:
        """Commit what waits, unless the last commit was so dear that more should come together."""
        if self._waiting and self._system.monotonic() >= self._not_before:
            self.commit()

    def commit(self) -> None:
        """Commit what waits: one commit for each trial, in the order in which they came.

        Raises:
            Refused: a trial cannot be in the ledger.
            EnvironmentProblem: the ledger cannot be written; the journal keeps the trials.
        """
        if not self._waiting:
            return
        began = self._system.monotonic()
        for bundle in self._waiting:
            self._ledger.large.add(bundle.large)
        self._ledger.commit_many(
            [
                (bundle_files(bundle, self._folder), trial_message(bundle.record))
                for bundle in self._waiting
            ]
        )
        done, self._waiting, self._bytes = self._waiting, [], 0
        for bundle in done:
            self._journal.committed(bundle.record.path)
            self._landed(bundle.record)
        ended = self._system.monotonic()
        self._not_before = ended + (ended - began) * _SHARE
