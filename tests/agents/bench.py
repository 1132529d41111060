"""A place where a real client works on a prompt, and reaches nothing but a scripted model."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from trialbook.api import Agent, AgentResult, Assignment, Command, Limits, ProcessResult
from trialbook.model.process import Desk, StopWhen
from trialbook.process import run
from trialbook.supervision.stopping import stopping

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"
ROOT = os.geteuid() == 0


@dataclass(frozen=True, kw_only=True)
class Model:
    """A scripted model in a network of its own, where there is nothing but the loopback."""

    port: int
    pid: int
    log: Path

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def inside(self) -> tuple[str, ...]:
        """What has to stand before a command that is to be in that network."""
        own = () if ROOT else ("--user", "--preserve-credentials")
        return ("nsenter", "--target", str(self.pid), "--net", *own, "--")

    @property
    def requests(self) -> list[dict[str, Any]]:
        """What it was asked, in order."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        found = [json.loads(line) for line in lines]
        return [one for one in found if "model" in one and "body" in one]

    def heard(self, words: str) -> bool:
        """Whether some words were in anything that it was asked."""
        return any(words in json.dumps(one["body"], ensure_ascii=False) for one in self.requests)


@contextmanager
def scripted_model(folder: Path, scripts: Mapping[str, list[dict[str, Any]]]) -> Iterator[Model]:
    folder.mkdir(parents=True)
    script, port_file, log = (folder / name for name in ("script.json", "port", "log.jsonl"))
    script.write_text(json.dumps(scripts))
    serve = [sys.executable, "-m", "trialbook.testing.scripted_model", script]
    serve += ["--port-file", port_file, "--log", log]
    up = ["sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
    own = [] if ROOT else ["--map-root-user"]
    command = [*map(str, ["unshare", *own, "--net", "--", *up, *serve])]
    quiet = subprocess.DEVNULL
    process = subprocess.Popen(command, stdin=quiet, stderr=quiet)
    try:
        deadline = time.monotonic() + 20
        while not port_file.exists():
            assert process.poll() is None, "the scripted model does not start"
            assert time.monotonic() < deadline, "the scripted model does not start in time"
            time.sleep(0.02)
        yield Model(port=int(port_file.read_text()), pid=process.pid, log=log)
    finally:
        process.terminate()
        process.wait(20)


def workspace(folder: Path, files: Mapping[str, str] | None = None) -> None:
    """A small repository with one commit."""
    folder.mkdir(parents=True)
    for name, text in {"README.md": "A project.\n", **(files or {})}.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b.example", "-C", str(folder)]
    for words in (["init", "-q"], ["add", "-A"], ["commit", "-qm", "baseline"]):
        subprocess.run([*git, *words], check=True)


@dataclass(frozen=True, kw_only=True)
class Bench:
    """Runs an adapter in fresh folders, in the network of a scripted model."""

    folder: Path
    model: Model
    environment: Mapping[str, str]

    def assignment(self, prompt: str = "Do the work.\n", **more: Any) -> Assignment:
        here = self.folder / str(sum(1 for _ in self.folder.iterdir()))
        workspace(here / "workspace", more.pop("files_there", None))
        for name in ("home", "output", "tmp"):
            (here / name).mkdir()
        prompt_file = here / "prompt.md"
        prompt_file.write_text(prompt, encoding="utf-8")
        limits = more.pop("limits", Limits(minutes=1, grace_seconds=3))
        desk = Desk(
            cwd=here / "workspace",
            environment={
                "PATH": SYSTEM_PATH,
                "HOME": str(here / "home"),
                "TMPDIR": str(here / "tmp"),
                "LANG": "C.UTF-8",
                **self.environment,
                **more.pop("environment", {}),
            },
            output=here / "output",
        )
        fields: dict[str, Any] = {
            "task": "a-task",
            "repetition": 1,
            "workspace": here / "workspace",
            "prompt": prompt,
            "prompt_file": prompt_file,
            "home": here / "home",
            "output": here / "output",
            "files": None,
            "model": "scripted",
            "reasoning": None,
            "approval": None,
            "parameters": {},
            "limits": limits,
            "start": desk.start(lambda command, stop: self._run(command, limits, stop)),
        }
        return Assignment(**{**fields, **more})

    def run(self, agent: Agent, prompt: str = "Do the work.\n", **more: Any) -> AgentResult:
        return agent.run(self.assignment(prompt, **more))

    def _run(self, command: Command, limits: Limits, stop: StopWhen | None) -> ProcessResult:
        inside = replace(command, argv=(*self.model.inside, *command.argv))
        with stopping(stop, None) as watch:
            return watch.judged(run(inside, limits, cancel=watch))


def usable() -> str:
    """Why there can be no network of its own here; empty if there can."""
    if any(shutil.which(program) is None for program in ("unshare", "nsenter", "ip")):
        return "unshare, nsenter or ip is not installed"
    own = [] if ROOT else ["--map-root-user"]
    done = subprocess.run(["unshare", *own, "--net", "true"], capture_output=True, check=False)
    return "" if done.returncode == 0 else done.stderr.decode().strip()
