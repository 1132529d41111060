import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture
def log(tmp_path):
    """A folder with a small log of two months."""
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / "2026-02.log").write_text(
        "2026-02-26\n  09:00-11:15 acme/website New header #design\n  11:15-12:00 office Invoices\n"
    )
    (folder / "2026-03.log").write_text(
        "2026-03-02\n"
        "  09:00-10:30 acme/website Header overlaps the menu #bug\n"
        "  10:30-12:00 acme/shop Checkout\n"
        "2026-03-03\n"
        "  22:00-24:00 acme/ops Move to the new host #night #billed\n"
    )
    return folder


@pytest.fixture
def run(tmp_path):
    """Runs `worklog` in the folder that has the log in it."""

    def call(*argv, status=0):
        done = subprocess.run(
            [sys.executable, "-B", "-m", "worklog", *argv],
            cwd=tmp_path,
            env={"PYTHONPATH": str(ROOT), "PYTHONUTF8": "1"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return call
