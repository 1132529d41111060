"""Exercises an executor: whether it keeps the promises of its seam."""

from __future__ import annotations

import threading
import uuid
from concurrent.futures import Future, wait
from pathlib import Path

from trialbook.api import Executor, Pool, TrialBundle, TrialSpec
from trialbook.model.outcome import Outcome
from trialbook.model.suite import Configuration, Limits, Snapshot, SnapshotKind, Task
from trialbook.testing.claims import claim, claim_name

_JOBS = 2
_PATIENCE_SECONDS = 60.0
_CRASH = "crash"
_STAMP = "2026-01-01T00:00:00.000Z"


def check_executor(executor: Executor, folder: Path) -> None:
    """Exercise an executor: every result to its trial, crashes told, no more at once than allowed.

    Args:
        executor: The executor.
        folder: An empty folder that its workers can write to.

    Raises:
        NotConforming: it breaks a promise.
    """
    claim_name(executor.name)
    _check_results(executor, folder)
    _check_crash(executor, folder)
    _check_close(executor, folder)


def sample_worker(spec: TrialSpec) -> TrialBundle:
    """A worker that needs no agent; it counts how many of its kind work at once.

    The task named *crash* raises.
    """
    busy = Path(spec.work) / "busy"
    busy.mkdir(exist_ok=True)
    mine = busy / uuid.uuid4().hex
    mine.touch()
    try:
        threading.Event().wait(0.1)
        at_once = len(list(busy.iterdir()))
        if spec.task.name == _CRASH:
            raise RuntimeError("a deliberate crash, größe")
    finally:
        mine.unlink()
    said = "größe \U0001f40d"
    record = spec.record(Outcome.ACCEPTED, said, started=_STAMP, finished=_STAMP)
    files = {"at-once.txt": str(at_once).encode(), "raw": bytes(range(256)) * 4000}
    return TrialBundle(record=record, files=files)


def sample_spec(folder: Path, task: str, repetition: int) -> TrialSpec:
    """A spec for `sample_worker`."""
    snapshot = Snapshot(kind=SnapshotKind.FOLDER, location="snapshot")
    return TrialSpec(
        run="20260101T000000Z-0000",
        suite="some-suite",
        protocol=1,
        status="draft",
        repetition=repetition,
        rerun=0,
        replaces=None,
        rerun_reason=None,
        plan_commit="0" * 40,
        plan_sha256="0" * 64,
        task=Task(
            name=task, folder=f"tasks/{task}", brief="Größe\n", snapshot=snapshot, graders=()
        ),
        configuration=Configuration(name="current", agent="command"),
        limits=Limits(),
        sandbox="none",
        accept="checks",
        limits_are_failures=True,
        source="a folder",
        snapshot_tree="0" * 40,
        workspace_tree="0" * 40,
        suite_folder=str(folder),
        cache=str(folder),
        work=str(folder),
    )


def _check_results(executor: Executor, folder: Path) -> None:
    pool = executor.open(sample_worker, _JOBS)
    specs = [sample_spec(folder, f"task-{number}", number) for number in range(1, 7)]
    futures = [pool.submit(spec) for spec in specs]
    bundles = [_result(future) for future in futures]
    pool.close()
    for spec, bundle in zip(specs, bundles, strict=True):
        claim(bundle.record.slot == spec.slot, f"{spec.slot.path} got the result of another trial")
        whole = bundle == sample_bundle(spec, bundle)
        claim(whole, f"the bundle of {spec.slot.path} did not come through whole")
    most = max(int(bundle.files["at-once.txt"]) for bundle in bundles)
    claim(most <= _JOBS, f"{most} trials were worked on at once, where {_JOBS} are allowed")


def sample_bundle(spec: TrialSpec, like: TrialBundle) -> TrialBundle:
    """What `sample_worker` makes of a spec, with the count of another bundle."""
    made = sample_worker(spec)
    count = like.files.get("at-once.txt", b"")
    return TrialBundle(record=made.record, files={**made.files, "at-once.txt": count})


def _check_crash(executor: Executor, folder: Path) -> None:
    pool = executor.open(sample_worker, 1)
    crashed = pool.submit(sample_spec(folder, _CRASH, 1))
    after = pool.submit(sample_spec(folder, "after", 1))
    wait([crashed, after], _PATIENCE_SECONDS)
    claim(crashed.done(), "the future of a worker that raised must be done")
    claim(crashed.exception() is not None, "a worker that raised must not come out as a result")
    claim("größe" in str(crashed.exception()), "the message of what a worker raised must be kept")
    claim(_result(after).record.task == "after", "a crash must not stop the trials after it")
    pool.close()


def _check_close(executor: Executor, folder: Path) -> None:
    pool = executor.open(sample_worker, 1)
    futures = [pool.submit(sample_spec(folder, "queued", number)) for number in range(1, 6)]
    _wait_for_one(folder, futures)
    _close(pool)
    left = [future for future in futures if not future.done()]
    claim(not left, f"after close() {len(left)} of {len(futures)} futures are still open")
    busy = list((folder / "busy").iterdir())
    claim(not busy, "after close() a worker was still at work")


def _wait_for_one(folder: Path, futures: list[Future[TrialBundle]]) -> None:
    for _ in range(1000):
        if any((folder / "busy").glob("*")) or any(future.done() for future in futures):
            return
        threading.Event().wait(0.01)


def _close(pool: Pool) -> None:
    thread = threading.Thread(target=pool.close, daemon=True)
    thread.start()
    thread.join(_PATIENCE_SECONDS)
    claim(not thread.is_alive(), f"close() did not come back in {_PATIENCE_SECONDS:.0f} seconds")


def _result(future: Future[TrialBundle]) -> TrialBundle:
    wait([future], _PATIENCE_SECONDS)
    claim(future.done(), f"a trial of a tenth of a second was not done in {_PATIENCE_SECONDS:.0f}")
    return future.result()
