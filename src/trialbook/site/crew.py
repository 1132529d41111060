"""Several processes that make units side by side; one if there is little to do."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from multiprocessing import get_context
from typing import NamedTuple

from trialbook.errors import EnvironmentProblem, Problem, TrialbookError, UserError
from trialbook.registry import Registry
from trialbook.site.workshop import Done, Setting, Unit, Workshop

FEW_UNITS = 60
"""As many units are made sooner than other processes are started."""


class Chunk(NamedTuple):
    """Units of one group that one process makes."""

    group: str
    units: tuple[Unit, ...]


class _Fault(NamedTuple):
    """An error of a process, in parts that can be sent."""

    kind: type[TrialbookError]
    message: str
    hint: str
    problems: tuple[Problem, ...]


class Crew:
    """Makes chunks of units, in as many processes as there are jobs.

    Args:
        setting: What the processes need to know.
        registry: The plugins.
        workshop: Where this process makes units itself.
        jobs: How many processes may work at once.
    """

    def __init__(self, setting: Setting, registry: Registry, workshop: Workshop, jobs: int) -> None:
        self._setting = setting
        self._registry = registry
        self._workshop = workshop
        self._jobs = jobs
        self._pool: ProcessPoolExecutor | None = None

    def make(self, chunks: Sequence[Chunk]) -> Iterator[tuple[str, Done]]:
        """What was made of each chunk with its group, as it comes.

        Raises:
            UserError: a template is missing or wrong.
            RecordError: a record that cannot be read.
            EnvironmentProblem: a process was killed.
        """
        units = sum(len(chunk.units) for chunk in chunks)
        if self._jobs == 1 or (self._pool is None and units <= FEW_UNITS):
            for chunk in chunks:
                prime = units > FEW_UNITS
                yield chunk.group, self._workshop.make(chunk.units, prime=prime)
            return
        pool = self._started()
        waiting = {pool.submit(_make_there, chunk.units): chunk.group for chunk in chunks}
        for future in as_completed(waiting):
            # Not kept: what was made of a large ledger is large.
            yield waiting.pop(future), _result(future)

    def close(self) -> None:
        """End the processes; what they have not begun is not made."""
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
            self._pool = None

    def _started(self) -> ProcessPoolExecutor:
        if self._pool is None:
            # Forked processes have everything imported and every template compiled; with threads
            # about, forking is not safe, and a new interpreter finds the plugins itself.
            alone = sys.platform == "linux" and threading.active_count() == 1
            self._pool = ProcessPoolExecutor(
                self._jobs,
                mp_context=get_context("fork" if alone else "spawn"),
                initializer=_begin,
                initargs=(self._setting, self._registry if alone else None),
            )
        return self._pool


_there: list[Workshop] = []
"""The workshop of a process that does nothing else."""


def _begin(setting: Setting, registry: Registry | None) -> None:
    _there[:] = [Workshop.open(setting, registry or Registry())]


def _make_there(units: Sequence[Unit]) -> Done | _Fault:
    try:
        return _there[0].make(units)
    except TrialbookError as error:
        problems = error.problems if isinstance(error, UserError) else ()
        return _Fault(type(error), error.message, error.hint, problems)


def _result(future: Future[Done | _Fault]) -> Done:
    try:
        found = future.result()
    except BrokenProcessPool as error:
        raise EnvironmentProblem(
            "a process that made pages was killed",
            hint="perhaps for its memory; `trialbook site build --jobs 1` takes less of it",
        ) from error
    if isinstance(found, Done):
        return found
    if issubclass(found.kind, UserError):
        raise UserError(found.message, hint=found.hint, problems=found.problems)
    raise found.kind(found.message, hint=found.hint)
