"""The runs of a ledger checked one by one, on several processors where there are many."""

from __future__ import annotations

import gc
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path

from trialbook.errors import EnvironmentProblem
from trialbook.formats.records import prepare
from trialbook.model.grade import Grade
from trialbook.model.plan import Plan
from trialbook.model.trial import Trial
from trialbook.storage.files import fresh_folder
from trialbook.storage.raw_objects import RawObjects
from trialbook.verify.findings import Findings
from trialbook.verify.run import RunAnswer, RunCheck
from trialbook.verify.trees import Trees
from trialbook.workflow.verify_rules import Sources, rules_of

_MOST_READ = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class RunJob:
    """One run to check: ``<suite>/<run>``, its tree, and where everything is."""

    path: str
    tree: bytes
    head: bytes
    prefix: bytes
    objects: Path
    cache: Path
    work: Path


class RunChecker:
    """Checks runs, one after the other. What it learns of where objects are serves the next one."""

    def __init__(self) -> None:
        self._folder: Path | None = None
        self._objects: RawObjects | None = None

    def check(self, job: RunJob) -> RunAnswer:
        """Check one run as it is at the head."""
        findings = Findings()
        objects = self._opened(job.objects)
        before = objects.count
        with fresh_folder(job.work) as scratch, no_collection():
            sources = Sources(
                cache=job.cache, ledger=job.objects, scratch=scratch, prefix=job.prefix
            )
            trees = Trees(objects, findings, b"")
            check = RunCheck(job.path, trees, findings, rules_of(sources))
            answer = check.check(job.tree, job.head)
        answer.objects = objects.count - before
        return answer

    def close(self) -> None:
        """Free the files."""
        if self._objects is not None:
            self._objects.close()
        self._folder = self._objects = None

    def _opened(self, folder: Path) -> RawObjects:
        if self._objects is None or self._folder != folder or self._objects.count > _MOST_READ:
            # Anew now and then: what is known of a very large ledger takes memory.
            self.close()
            self._folder, self._objects = folder, RawObjects(folder)
        return self._objects


_checker = RunChecker()


def _check_there(job: RunJob) -> RunAnswer:
    """Check a run in a process that does nothing else."""
    return _checker.check(job)


@contextmanager
def running(jobs: Sequence[RunJob], *, several: bool) -> Iterator[Iterator[RunAnswer]]:
    """The answers to jobs as they come; ``several`` lets other processes work on them meanwhile.

    Inside the block the caller can do work of its own before it asks for the first answer.
    """
    if not several or not jobs:
        checker = RunChecker()
        try:
            yield map(checker.check, jobs)
        finally:
            checker.close()
        return
    workers = min(os.cpu_count() or 1, len(jobs))
    prepare(Plan, Trial, Grade)
    # Forked processes have everything imported already; with threads about, forking is not safe.
    alone = sys.platform == "linux" and threading.active_count() == 1
    context = get_context("fork" if alone else "spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        try:
            futures = [pool.submit(_check_there, job) for job in jobs]
            yield map(_result, as_completed(futures))
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _result(future: Future[RunAnswer]) -> RunAnswer:
    try:
        return future.result()
    except BrokenProcessPool as error:
        raise EnvironmentProblem(
            "a process that checked a run was killed",
            hint="perhaps for its memory; `trialbook verify --run RUN` checks one run at a time",
        ) from error


@contextmanager
def no_collection() -> Iterator[None]:
    """Without the search for cycles: it goes through all that is kept, again and again, in vain."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()
