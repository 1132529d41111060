from __future__ import annotations

import threading
from pathlib import Path

import pytest

from trialbook.api import Command, Ended, Limits, ProcessResult
from trialbook.execution.size_watch import watching
from trialbook.process import run


def start(
    tmp_path: Path, script: str, limit: float | None, cancel: threading.Event
) -> ProcessResult:
    folder = tmp_path / "workspace"
    folder.mkdir()
    command = Command(
        argv=("/bin/sh", "-c", script),
        cwd=folder,
        environment={"PATH": "/usr/bin:/bin"},
        stdout=tmp_path / "out",
        stderr=tmp_path / "err",
    )
    with watching((folder,), limit, cancel) as watch:
        return watch.judged(run(command, Limits(minutes=1.0, grace_seconds=0.1), cancel=watch))


@pytest.mark.slow
def test_a_workspace_over_its_size_ends_the_process_as_its_own_doing(tmp_path: Path) -> None:
    script = "head -c 30000000 /dev/zero > big; sleep 30"
    result = start(tmp_path, script, 20.0, threading.Event())
    assert (result.ended, result.signal) == (Ended.SIGNALLED, 9)
    assert "over the limit of 20 MB" in result.message
    assert result.seconds < 20


@pytest.mark.slow
def test_a_workspace_within_its_size_is_left_alone(tmp_path: Path) -> None:
    result = start(tmp_path, "head -c 1000000 /dev/zero > small; sleep 2", 20.0, threading.Event())
    assert result.ok


def test_without_a_limit_nothing_is_measured(tmp_path: Path) -> None:
    before = threading.active_count()
    assert start(tmp_path, "true", None, threading.Event()).ok
    assert threading.active_count() == before


def test_a_cancelled_run_is_still_cancelled(tmp_path: Path) -> None:
    cancel = threading.Event()
    threading.Timer(0.5, cancel.set).start()
    result = start(tmp_path, "sleep 30", 20.0, cancel)
    assert result.ended is Ended.CANCELLED
