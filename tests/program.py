"""The program as tests run it: a process of its own, without starting an interpreter for each."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

TOP = Path(__file__).resolve().parents[1]
Done = subprocess.CompletedProcess[str]

_FIXED = ("PYTHON", "LC_", "LANG")


class Server:
    """The process that forks the program; one for many commands."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.program_server"],
            cwd=TOP,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._environ = _of_interpreter()
        assert self._ask() == "ready\n"

    @property
    def suits(self) -> bool:
        """Whether it is there, and an interpreter that is started now would be like it."""
        return self._process.poll() is None and self._environ == _of_interpreter()

    def run(self, request: Mapping[str, Any]) -> dict[str, int]:
        """One command, to its end."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
            answer: dict[str, int] = json.loads(self._ask())
        except BaseException:
            self._process.kill()  # its next answer would be to this request
            raise
        return answer

    def close(self) -> None:
        """End the process."""
        self._process.communicate(timeout=60)

    def _ask(self) -> str:
        assert self._process.stdout is not None
        return self._process.stdout.readline()


class Program:
    """Runs the program for all tests of one process of pytest."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._server: Server | None = None

    def run(self, folder: Path, arguments: tuple[str, ...], said: Path) -> Done:
        """One command in a folder; ``said`` is where its output can go meanwhile."""
        if self._lock.acquire(blocking=False):
            try:
                server = self._ready()
                if server is not None:
                    return _forked(server, folder, arguments, said)
            finally:
                self._lock.release()
        return subprocess.run(
            [sys.executable, "-m", "trialbook", *arguments],
            cwd=folder,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )

    def _ready(self) -> Server | None:
        if self._server is None:
            self._server = Server()
            atexit.register(self._server.close)
        return self._server if self._server.suits else None


PROGRAM = Program()


def _forked(server: Server, folder: Path, arguments: tuple[str, ...], said: Path) -> Done:
    out, err = said / "stdout", said / "stderr"
    answer = server.run(
        {
            "arguments": arguments,
            "cwd": str(folder),
            "environ": dict(os.environ),
            "out": str(out),
            "err": str(err),
        }
    )
    command = [sys.executable, "-m", "trialbook", *arguments]
    return Done(command, answer["code"], out.read_text("utf-8"), err.read_text("utf-8"))


def _of_interpreter() -> dict[str, str]:
    """What an interpreter looks at only when it starts."""
    return {name: value for name, value in os.environ.items() if name.startswith(_FIXED)}
