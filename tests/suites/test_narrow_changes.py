"""The suite of changes that tests cannot tell apart: what is recorded, played on plain git."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import git

SUITE = Path(__file__).resolve().parents[2] / "suites" / "narrow-changes"
TASKS = sorted(path.name for path in (SUITE / "tasks").iterdir())


def patched(folder: Path, patch: Path) -> Path:
    """The snapshot with a patch applied, as git applies it."""
    shutil.copytree(SUITE / "snapshots" / "pantry", folder)
    git(folder.parent, "init", "-q", str(folder))
    git(folder, "apply", "--whitespace=error", str(patch))
    return folder


def own_tests(folder: Path) -> int:
    command = [sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=folder, capture_output=True, check=False)
    return done.returncode


@pytest.mark.parametrize("task", TASKS)
def test_a_reference_comes_with_a_test_that_passes(task: str, tmp_path: Path) -> None:
    patch = SUITE / "tasks" / task / "private" / "reference.patch"
    assert own_tests(patched(tmp_path / "tree", patch)) == 0


def test_every_recording_applies_to_the_snapshot(tmp_path: Path) -> None:
    patches = sorted((SUITE / "recordings").rglob("change.patch"))
    assert len(patches) == len(TASKS) * (3 + 3 + 1)
    for number, patch in enumerate(patches):
        patched(tmp_path / str(number), patch)
        assert (patch.parent / "stdout.txt").read_text().startswith("Done: ")


def test_the_two_configurations_that_are_alike_replay_the_same_recordings() -> None:
    one, again = (
        (SUITE / "configurations" / f"{name}.yaml").read_text().splitlines()
        for name in ("current", "current-again")
    )
    assert one[1:5] == again[1:5]
    assert one[4] == "files: recordings/current/{task}/{repetition}"


def test_the_instructions_differ_by_the_line_in_question() -> None:
    current, narrow = (
        (SUITE / "instructions" / name / "AGENTS.md").read_text() for name in ("current", "narrow")
    )
    line = "Change only what the brief names. Leave the lines around it as they are"
    assert narrow == f"{current}- {line}.\n"
    assert line in " ".join((SUITE / "suite.yaml").read_text().split())
