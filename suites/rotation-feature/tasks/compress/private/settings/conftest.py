"""A folder to look after, and `rotor` in a process of its own."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

CANDIDATE = os.environ["TRIALBOOK_CANDIDATE"]


class Rotor:
    """A folder with a configuration in it."""

    def __init__(self, folder):
        self.folder = Path(folder)

    def configure(self, text):
        """Write the configuration."""
        (self.folder / "rotor.ini").write_text(text)

    def fill(self, name, text):
        """Write a file; one that ends with .gz is compressed."""
        data = text.encode()
        (self.folder / name).write_bytes(gzip.compress(data) if name.endswith(".gz") else data)

    def text(self, name):
        """What a file holds, without its compression."""
        data = (self.folder / name).read_bytes()
        return (gzip.decompress(data) if name.endswith(".gz") else data).decode()

    def names(self):
        """All files but those of rotor itself."""
        own = ("rotor.ini", "rotor.journal")
        return sorted(path.name for path in self.folder.iterdir() if path.name not in own)

    def run(self, *argv, status=0):
        """What a command printed, if it ended as it has to."""
        done = self.ended(*argv)
        assert done.returncode == status, (done.stdout + done.stderr).decode()
        return done.stdout.decode()

    def rotate(self, second=0, text="a line\n"):
        """Fill the log and set it aside at a second of one minute."""
        self.fill("app.log", text)
        return self.run("run", "--now", f"2026-03-02T10:15:{second:02}", "--force")

    def ended(self, *argv):
        """A command that has ended, however it did."""
        return subprocess.run(
            [sys.executable, "-B", "-m", "rotor", *argv],
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
        assert said.count("\n") == 1
        return said


@pytest.fixture
def rotor(tmp_path):
    """One log, of which two generations are kept."""
    made = Rotor(tmp_path)
    made.configure("[app]\npath = app.log\nsize = 1k\nkeep = 2\n")
    return made
