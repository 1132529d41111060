"""Trials in threads."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from trialbook.api import TrialBundle, TrialSpec
from trialbook.testing import check_executor
from trialbook.testing.executors import sample_spec, sample_worker
from trialbook_executors.local import LocalExecutor


def test_it_conforms(tmp_path: Path) -> None:
    check_executor(LocalExecutor(), tmp_path)


def test_trials_begin_in_the_order_of_submission(tmp_path: Path) -> None:
    begun: list[str] = []

    def worker(spec: TrialSpec) -> TrialBundle:
        begun.append(spec.task.name)
        return sample_worker(spec)

    pool = LocalExecutor().open(worker, 1)
    names = [f"task-{number}" for number in range(5)]
    futures = [pool.submit(sample_spec(tmp_path, name, 1)) for name in names]
    for future in futures:
        future.result()
    pool.close()
    assert begun == names


def test_as_many_as_jobs_are_worked_on_at_once(tmp_path: Path) -> None:
    together = threading.Barrier(3, timeout=20)

    def worker(spec: TrialSpec) -> TrialBundle:
        together.wait()
        return sample_worker(spec)

    pool = LocalExecutor().open(worker, 3)
    futures = [pool.submit(sample_spec(tmp_path, "t", number)) for number in range(3)]
    assert [future.result().record.repetition for future in futures] == [0, 1, 2]
    pool.close()


def test_the_thread_that_starts_a_process_lives_until_the_pool_is_closed(tmp_path: Path) -> None:
    threads: list[threading.Thread] = []

    def worker(spec: TrialSpec) -> TrialBundle:
        threads.append(threading.current_thread())
        return sample_worker(spec)

    pool = LocalExecutor().open(worker, 1)
    pool.submit(sample_spec(tmp_path, "t", 1)).result()
    assert threads[0].is_alive()
    pool.close()
    assert not threads[0].is_alive()


def test_closing_waits_for_what_has_begun_and_drops_the_rest(tmp_path: Path) -> None:
    begun, go_on = threading.Event(), threading.Event()

    def worker(spec: TrialSpec) -> TrialBundle:
        begun.set()
        go_on.wait(20)
        return sample_worker(spec)

    pool = LocalExecutor().open(worker, 1)
    first, *others = [pool.submit(sample_spec(tmp_path, "t", number)) for number in range(4)]
    begun.wait(20)
    threading.Timer(0.2, go_on.set).start()
    pool.close()
    assert first.result().record.repetition == 0
    assert all(future.cancelled() for future in others)
    pool.close()
    with pytest.raises(RuntimeError):
        pool.submit(sample_spec(tmp_path, "t", 9))


def test_no_jobs_are_refused() -> None:
    with pytest.raises(ValueError, match="max_workers"):
        LocalExecutor().open(sample_worker, 0)
