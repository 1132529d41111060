"""Real evidence: folders on disk, commands that really run."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import pytest

from trialbook.api import ChangedFile, Command, Evidence, Limits, ProcessResult
from trialbook.process import run


class MakeEvidence(Protocol):
    def __call__(
        self,
        files: dict[str, str] | None = None,
        *,
        baseline: dict[str, str] | None = None,
        changed: Sequence[ChangedFile] = (),
        minutes: float = 1.0,
    ) -> Evidence: ...


def write_files(folder: Path, files: dict[str, str]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


@pytest.fixture
def make_evidence(tmp_path: Path) -> MakeEvidence:
    """Evidence over a candidate (and a baseline) made of these files."""

    def make(
        files: dict[str, str] | None = None,
        *,
        baseline: dict[str, str] | None = None,
        changed: Sequence[ChangedFile] = (),
        minutes: float = 1.0,
    ) -> Evidence:
        limits = Limits(minutes=minutes, grace_seconds=0.2)

        def start(
            command: Command,
            *,
            minutes: float | None = None,
            writable: Sequence[Path] = (),
            readable: Sequence[Path] = (),
        ) -> ProcessResult:
            given = limits if minutes is None else Limits(minutes=minutes, grace_seconds=0.2)
            return run(command, given)

        scratch = tmp_path / "scratch"
        scratch.mkdir()
        return Evidence(
            task="task",
            brief="Do it.\n",
            candidate=write_files(tmp_path / "candidate", files or {}),
            baseline=None if baseline is None else write_files(tmp_path / "baseline", baseline),
            changed=tuple(changed),
            patch=b"",
            task_folder=write_files(tmp_path / "task", {}),
            scratch=scratch,
            python=sys.executable,
            limits=limits,
            start=start,
        )

    return make
