"""Recorded ledgers that people correct, and a world whose clock goes on by itself."""

from __future__ import annotations

import itertools
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from tests.conftest import git
from tests.recorded import mixed_run, new_ledger, record_run

from trialbook.storage.reader import Reader, RunRef
from trialbook.system import System

RUN = RunRef(suite="refunds", run="20261201-080000-aaaa")
START = datetime(2026, 12, 1, 9, 0, tzinfo=UTC)


@dataclass
class Clock:
    """Each look at it is a second later."""

    ticks: itertools.count[int] = field(default_factory=itertools.count)

    def now(self) -> datetime:
        return START + timedelta(seconds=next(self.ticks))


def a_system() -> System:
    """The world of these tests: the clock is ours, the rest is real."""
    return System(now=Clock().now)


def mixed_ledger(folder: Path, *, closed: bool) -> Path:
    """A ledger with one run in which nearly everything happened."""
    root = new_ledger(folder)
    record_run(root, *mixed_run(), closed=closed)
    return root


def reader(root: Path) -> Reader:
    return Reader.open(root)


def files(root: Path, ending: str = "") -> list[str]:
    """The ledger's files at HEAD that end so, below the run's folder."""
    base = f"runs/{RUN.path}/"
    names = git(root, "ls-tree", "-r", "--name-only", "HEAD", base).splitlines()
    return [name.removeprefix(base) for name in names if name.endswith(ending)]
