"""A log to ask about, and `worklog` in a process of its own."""

import csv
import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CANDIDATE = os.environ["TRIALBOOK_CANDIDATE"]


class Worklog:
    """A folder with a log in it."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def write(self, name, text):
        """Write a file below the folder."""
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def run(self, *argv, status=0):
        """What a command printed, as bytes, if it ended as it has to."""
        done = self.ended(*argv)
        assert done.returncode == status, (done.stdout + done.stderr).decode()
        return done.stdout

    def ended(self, *argv):
        """A command that has ended, however it did."""
        return subprocess.run(
            [sys.executable, "-B", "-m", "worklog", *argv],
            cwd=self.folder,
            env={"PYTHONPATH": CANDIDATE, "PYTHONUTF8": "1"},
            capture_output=True,
            stdin=subprocess.DEVNULL,
            timeout=60,
            check=False,
        )

    def refused(self, *argv):
        """The one line that a user's mistake ends with."""
        done = self.ended(*argv)
        assert done.returncode == 2, (done.stdout + done.stderr).decode()
        assert done.stdout == b""
        said = done.stderr.decode()
        assert "Traceback" not in said
        return said

    def rows(self, *argv):
        """The entries of an export to CSV, without totals."""
        return [row for row in csv.DictReader(io.StringIO(self.csv(*argv))) if row["date"]]

    def csv(self, *argv):
        """An export to CSV as text, with its line ends."""
        return self.run("export", *argv).decode("utf-8")

    def objects(self, *argv):
        """The entries of an export to JSON Lines, without totals."""
        text = self.run("export", "--format", "jsonl", *argv).decode("utf-8")
        return [one for one in map(json.loads, text.splitlines()) if one.get("date")]


@pytest.fixture
def worklog(tmp_path):
    """An empty log."""
    (tmp_path / "logs").mkdir()
    return Worklog(tmp_path)
