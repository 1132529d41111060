import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def logs(tmp_path):
    """A folder with one log that is due, and its rule."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "app.log").write_text("x" * 100)
    (tmp_path / "rotor.ini").write_text("[app]\npath = logs/app.log\nsize = 100\nkeep = 2\n")
    return folder


@pytest.fixture
def run(tmp_path):
    """Runs `rotor` in the folder that has the logs in it."""

    def call(*argv, status=0):
        done = subprocess.run(
            [sys.executable, "-B", "-m", "rotor", *argv],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return call
