"""Works on trials in threads of this process."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor

from trialbook.api import Pool, TrialBundle, TrialSpec, Worker


class LocalExecutor:
    """As many threads as jobs. Waiting for an agent's process is all that most of them do."""

    name = "local"

    def open(self, worker: Worker, jobs: int) -> Pool:
        """A pool of at most ``jobs`` threads, each of which outlives every process it starts.

        Raises:
            ValueError: ``jobs`` is less than one.
        """
        return LocalPool(worker, jobs)


class LocalPool:
    """The threads of one run."""

    def __init__(self, worker: Worker, jobs: int) -> None:
        self._worker = worker
        self._threads = ThreadPoolExecutor(max_workers=jobs, thread_name_prefix="trial")

    def submit(self, spec: TrialSpec) -> Future[TrialBundle]:
        """Start the trial as soon as a thread is free, in the order of submission."""
        return self._threads.submit(self._worker, spec)

    def close(self) -> None:
        """Drop what has not begun (its futures are cancelled) and wait for what has."""
        self._threads.shutdown(wait=True, cancel_futures=True)
