from __future__ import annotations

import threading
from pathlib import Path

import pytest

from trialbook.model.process import Command, Ended, ProcessResult
from trialbook.model.suite import Limits
from trialbook.process import run
from trialbook.supervision.stopping import stoppable, stopping


def ticking(folder: Path) -> Command:
    """Writes a line every tenth of a second."""
    return Command(
        argv=("sh", "-c", "while :; do echo tick; sleep 0.1; done"),
        cwd=folder,
        environment={"PATH": "/usr/bin:/bin"},
        stdout=folder / "stdout",
        stderr=folder / "stderr",
    )


def start(folder: Path, command: Command | None = None) -> object:
    return lambda cancel: run(
        command or ticking(folder), Limits(minutes=0.5, grace_seconds=0.5), cancel=cancel
    )


def test_a_command_is_stopped_for_what_it_writes_while_it_runs(tmp_path: Path) -> None:
    def look() -> str:
        lines = len((tmp_path / "stdout").read_bytes().splitlines())
        return f"{lines} ticks" if lines >= 3 else ""

    result = stoppable(start(tmp_path), look)  # type: ignore[arg-type]
    assert result.ended is Ended.STOPPED
    assert result.message.endswith(" ticks")
    assert result.seconds < 20


def test_a_command_that_ends_before_is_not_stopped(tmp_path: Path) -> None:
    command = ticking(tmp_path)
    quick = Command(**{n: getattr(command, n) for n in command.__dataclass_fields__}
                    | {"argv": ("true",)})  # fmt: skip
    assert stoppable(start(tmp_path, quick), lambda: "never").ok  # type: ignore[arg-type]
    assert stoppable(start(tmp_path, quick), None).ok  # type: ignore[arg-type]


def test_what_looking_raises_ends_the_command_and_is_raised(tmp_path: Path) -> None:
    def look() -> str:
        raise ValueError("broken")

    with pytest.raises(ValueError, match="broken"):
        stoppable(start(tmp_path), look)  # type: ignore[arg-type]


def test_a_run_that_is_cancelled_was_cancelled_and_not_stopped() -> None:
    cancel = threading.Event()
    with stopping(lambda: "why", cancel) as watch:
        cancel.set()
        watch.reason = "why"
        assert watch.is_set()
        ended = ProcessResult(ended=Ended.CANCELLED)
        assert watch.judged(ended) == ended
