"""A bench that runs commands under supervision, and looks for what is left of them."""

from __future__ import annotations

import contextlib
import os
import secrets
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trialbook import process
from trialbook.model.process import Command, ProcessResult
from trialbook.model.suite import Limits

MARK = "TRIAL_MARK"
GENEROUS = Limits(minutes=1)


class Bench:
    """Runs things; every process of one bench carries its mark in its environment."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.mark = secrets.token_hex(8)
        self.environment = {"PATH": "/usr/local/bin:/usr/bin:/bin", MARK: self.mark}
        self.out = folder / "stdout.txt"
        self.err = folder / "stderr.txt"

    def command(self, *argv: str, **more: object) -> Command:
        fields: dict[str, object] = {
            "argv": argv,
            "cwd": self.folder,
            "environment": self.environment,
            "stdout": self.out,
            "stderr": self.err,
        }
        return Command(**{**fields, **more})  # type: ignore[arg-type]

    def run(
        self,
        *argv: str,
        limits: Limits = GENEROUS,
        cancel: threading.Event | None = None,
        **more: object,
    ) -> ProcessResult:
        return process.run(self.command(*argv, **more), limits, cancel=cancel)

    def shell(self, script: str, **more: object) -> ProcessResult:
        return self.run("/bin/sh", "-c", script, **more)  # type: ignore[arg-type]

    def python(self, script: str, *arguments: str, **more: object) -> ProcessResult:
        return self.run(sys.executable, "-S", "-c", script, *arguments, **more)  # type: ignore[arg-type]

    def alive(self) -> list[int]:
        """Every process that carries the mark and is not a zombie."""
        return [pid for pid in _pids() if self._is_ours(pid)]

    def kill_all(self) -> None:
        """End what carries the mark, and nothing else."""
        for pid in self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, 9)

    def wait_for(self, name: str, count: int = 1) -> None:
        """Until so many files of that name pattern are there."""
        wait_until(lambda: len(list(self.folder.glob(name))) >= count)

    def _is_ours(self, pid: int) -> bool:
        try:
            environment = Path(f"/proc/{pid}/environ").read_bytes()
            state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b") ")[2][:1]
        except OSError:
            return False
        return f"{MARK}={self.mark}".encode() in environment.split(b"\0") and state not in b"ZX"


def wait_until(holds: Callable[[], bool], seconds: float = 20.0) -> None:
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it did not come about in time"
        time.sleep(0.01)


def _pids() -> list[int]:
    return [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    """A bench, and the certainty that a failed test leaves no process."""
    bench = Bench(tmp_path)
    yield bench
    bench.kill_all()
