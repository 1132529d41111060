"""A clone of this repository in which the ledger is made, and the commands that are run in it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
NAME, EMAIL = "trialbook", "reference-ledger@trialbook.example"
INTERRUPTED = 130


class Unexpected(Exception):
    """A step did not end as it has to; the message says which."""


@dataclass(frozen=True, slots=True)
class Clone:
    """The clone's folder, in which trialbook writes the ledger, and what is said of its runs."""

    folder: Path
    told: dict[str, str] = field(default_factory=dict)
    """By the run's path below ``runs/``: what the run is there for."""

    @classmethod
    def make(cls, folder: Path) -> Clone:
        """Clone what is committed here; its commits are signed with the name of no person.

        Raises:
            Unexpected: the folder is there already.
        """
        if folder.exists():
            raise Unexpected(f"{folder} is there already; name a folder that is not")
        _run(["git", "clone", "--quiet", str(ROOT), str(folder)], ROOT)
        made = cls(folder.resolve())
        for key, value in (("user.name", NAME), ("user.email", EMAIL)):
            made.git("config", key, value)
        return made

    def git(self, *arguments: str) -> str:
        """What git says. Raises: Unexpected: it fails."""
        return _run(["git", *arguments], self.folder)

    def trialbook(
        self,
        *arguments: str,
        status: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> str:
        """Run a command, say how it begins and ends, and give what it prints.

        Raises:
            Unexpected: it ends with another status.
        """
        sys.stderr.write(f"trialbook {' '.join(arguments)}\n")
        return _run(_command(arguments), self.folder, status=status, environment=environment)

    def said(self, *arguments: str, status: int = 0) -> Any:
        """What a command prints as JSON."""
        return json.loads(self.trialbook(*arguments, "--json", status=status))

    def watched(
        self,
        *arguments: str,
        seen: Callable[[str, subprocess.Popen[str]], None],
        status: int = 0,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Run a command, and show ``seen`` each line that it tells while it runs.

        Raises:
            Unexpected: it ends with another status.
        """
        sys.stderr.write(f"trialbook {' '.join(arguments)}\n")
        process = subprocess.Popen(
            _command(arguments),
            cwd=self.folder,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
        if process.stderr is not None:
            for line in process.stderr:
                seen(line, process)
        if process.wait() != status:
            raise Unexpected(f"{arguments[0]} ended with {process.returncode}, not {status}")

    def runs(self, suite: str) -> set[str]:
        """The runs of a suite, by name."""
        folder = self.folder / "runs" / suite
        return {path.name for path in folder.iterdir()} if folder.is_dir() else set()

    def noted(self, suite: str, about: str, make: Callable[[], object]) -> list[str]:
        """The names of the runs that ``make`` adds to a suite, the oldest first.

        ``about`` says what they are there for, in a sentence that can stand in a table.
        """
        before = self.runs(suite)
        make()
        names = sorted(self.runs(suite) - before)
        self.told.update({f"{suite}/{name}": about for name in names})
        return names

    def add(self, about: str, command: str, suite: str, *more: str, status: int = 0) -> list[str]:
        """Run a command that adds runs to a suite, and give their names."""
        return self.noted(
            suite, about, lambda: self.trialbook(command, suite, *more, status=status)
        )


def stop_after(trials: int) -> Callable[[str, subprocess.Popen[str]], None]:
    """Interrupts a run, as Ctrl-C does, when so many of its trials are done."""

    def seen(line: str, process: subprocess.Popen[str]) -> None:
        if line.startswith(f"[{trials}/"):
            process.send_signal(signal.SIGINT)

    return seen


def _command(arguments: tuple[str, ...]) -> list[str]:
    return [sys.executable, "-m", "trialbook", *arguments]


def _run(
    command: list[str],
    folder: Path,
    *,
    status: int = 0,
    environment: Mapping[str, str] | None = None,
) -> str:
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, **(environment or {})},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != status:
        said = "\n".join((done.stdout + done.stderr).splitlines()[-20:])
        raise Unexpected(f"{' '.join(command)}: status {done.returncode}, not {status}\n{said}")
    return done.stdout
