from __future__ import annotations

import itertools
import subprocess
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from trialbook.model.outcome import Outcome
from trialbook.model.plan import (
    Plan,
    PlannedConfiguration,
    PlannedSlot,
    PlannedTask,
    Runner,
)
from trialbook.model.suite import Limits, Network
from trialbook.model.trial import Trial
from trialbook.storage.ledger import RUN_ATTRIBUTES
from trialbook.system import System


class Git:
    """Real git in one folder, as a user would run it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __call__(self, *arguments: str, stdin: str | bytes | None = None) -> str:
        done = self.run(*arguments, stdin=stdin)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout.decode("utf-8", "surrogateescape")

    def run(
        self, *arguments: str, stdin: str | bytes | None = None
    ) -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            ["git", *arguments],
            cwd=self.folder,
            input=stdin.encode() if isinstance(stdin, str) else stdin,
            capture_output=True,
            check=False,
            timeout=60,
        )

    def state(self) -> dict[str, str]:
        """All that the user sees of index and work tree."""
        return {
            "status": self("status", "--porcelain=v2", "--untracked-files=all", "--ignored"),
            "index": "\n".join(
                line
                for line in self("ls-files", "--stage", "-v", "--full-name").splitlines()
                if "runs/" not in line
            ),
            "unstaged": self("diff"),
            "staged": self("diff", "--cached"),
            "stash": self("stash", "list"),
        }

    def fsck(self) -> None:
        done = self.run("fsck", "--full", "--strict", "--no-progress")
        said = [line for line in done.stderr.splitlines() if b"is deprecated" not in line]
        assert (done.returncode, said) == (0, []), done


@pytest.fixture
def make_repository(tmp_path: Path) -> Callable[..., Git]:
    """Makes repositories with one commit (or, unborn, with none)."""

    def make(name: str = "repository", *options: str, unborn: bool = False) -> Git:
        folder = tmp_path / name
        folder.mkdir()
        git = Git(folder)
        git("init", "-q", "-b", "main", *options)
        if not unborn:
            (folder / "README.md").write_text("hello\n")
            git("add", "-A")
            git("commit", "-q", "-m", "start")
        return git

    return make


@pytest.fixture
def git(make_repository: Callable[..., Git]) -> Git:
    """A repository on its branch main with one commit."""
    return make_repository()


@pytest.fixture
def system() -> System:
    """The outside world with a clock that stands still, and no waiting: sleep moves the time."""
    passed = [0.0]
    numbers = itertools.count(1)

    def sleep(seconds: float) -> None:
        passed[0] += seconds

    return System(
        now=lambda: datetime(2026, 11, 30, 15, 0, tzinfo=UTC),
        monotonic=lambda: passed[0],
        sleep=sleep,
        token=lambda size: f"{next(numbers):0{size * 2}x}",
    )


def run_files(run: str = "first", suite: str = "demo") -> dict[str, bytes]:
    """What the first commit of a run holds."""
    return {
        f"runs/{suite}/{run}/plan.json": b'{"plan": 1}\n',
        f"runs/{suite}/{run}/.gitattributes": RUN_ATTRIBUTES,
    }


def trial_files(
    repetition: int = 1, run: str = "first", suite: str = "demo", text: str = "x"
) -> dict[str, bytes]:
    """A trial with bytes that git likes to convert."""
    base = f"runs/{suite}/{run}/task/current/r{repetition}"
    return {
        f"{base}/trial.json": f'{{"repetition": {repetition}, "text": "{text}"}}\n'.encode(),
        f"{base}/change.patch": b"--- a/x\r\n+++ b/x\r\n@@ -1 +1 @@\n-a \r\n+b\t\n",
        f"{base}/sessions/1/attempt-1/stdout.txt": b"$Id$ one\r\ntwo\nthree\r\r\n\x00\xff",
        f"{base}/sessions/1/attempt-1/stderr.txt": b"",
    }


def make_plan(run: str = "first", suite: str = "demo", **changes: Any) -> Plan:
    """A small plan: two tasks, two configurations, two repetitions."""
    tasks, configurations = ("alpha", "beta"), ("current", "candidate")
    values: dict[str, Any] = {
        "run": run,
        "suite": suite,
        "protocol": 3,
        "status": "draft",
        "decision": "Should small fixes go to the candidate?",
        "created": "2026-11-30T15:00:00.000Z",
        "seed": "20261130",
        "repetitions": 2,
        "jobs": 1,
        "accept": "checks",
        "compare": None,
        "rerun": {},
        "limits_are_failures": True,
        "runner": Runner(trialbook="0.1.0", python="3.11", platform="linux", git=None, cpus=None),
        "plugins": (),
        "suite_digest": "0" * 64,
        "files": {},
        "configurations": dict.fromkeys(configurations, PLANNED_CONFIGURATION),
        "tasks": dict.fromkeys(tasks, PLANNED_TASK),
        "schedule": tuple(
            PlannedSlot(task=task, configuration=configuration, repetition=repetition)
            for repetition in (1, 2)
            for task in tasks
            for configuration in configurations
        ),
    }
    return Plan(**(values | changes))


PLANNED_TASK = PlannedTask(
    category="",
    split="development",
    contamination="unknown",
    source="folder",
    tree="0" * 40,
    brief_sha256="0" * 64,
    graders=[],
    limits=Limits(),
    no_change_expected=False,
    must_escalate=False,
    digest="0" * 64,
    files={},
)
PLANNED_CONFIGURATION = PlannedConfiguration(
    description="",
    agent="replay",
    agent_version=None,
    model=None,
    reasoning=None,
    instructions=None,
    approval=None,
    sandbox="none",
    network=Network(),
    environment={},
    pass_environment=(),
    secrets=(),
    limits=Limits(),
    parameters={},
    gives_reference=False,
    digest="0" * 64,
    files={},
    workspaces={},
)


def make_trial(
    task: str = "alpha", configuration: str = "current", repetition: int = 1, **changes: Any
) -> Trial:
    """A trial that was accepted, with one grade."""
    values: dict[str, Any] = {
        "run": "first",
        "suite": "demo",
        "protocol": 3,
        "status": "draft",
        "task": task,
        "configuration": configuration,
        "repetition": repetition,
        "outcome": Outcome.ACCEPTED,
        "reason": "every check passed",
        "plan_commit": "0" * 40,
        "plan_sha256": "0" * 64,
        "started": "2026-11-30T15:00:00.000Z",
        "finished": "2026-11-30T15:01:00.000Z",
    }
    return Trial(**(values | changes))
