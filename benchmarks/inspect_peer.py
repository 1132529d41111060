"""Inspect doing as little as it can: one sample starts ``true`` in its local sandbox."""

from __future__ import annotations

import subprocess
import sys
import venv
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import Timed, say

PACKAGE = "inspect-ai"
_TASK = """\
import sys, time
from inspect_ai import Task, eval
from inspect_ai.dataset import Sample
from inspect_ai.solver import solver
from inspect_ai.util import sandbox

@solver
def start_true():
    async def solve(state, generate):
        await sandbox().exec(["true"])
        return state
    return solve

def once(samples):
    task = Task(
        dataset=[Sample(input="x", target="x") for _ in range(samples)],
        solver=start_true(),
        sandbox="local",
    )
    began = time.perf_counter()
    (log,) = eval(task, model="mockllm/model", display="none", max_samples=1, log_dir=sys.argv[2])
    assert log.status == "success", log.error
    return time.perf_counter() - began

once(1)
for _ in range(int(sys.argv[1])):
    alone, many = once(1), once(51)
    print((many - alone) / 50)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer:
    """What was measured, or why not."""

    version: str = ""
    seconds: float | None = None
    problem: str = ""


def measure(folder: Path, rounds: int) -> Peer:
    """The seconds of one more sample, in an environment that is thrown away afterwards."""
    say("installing Inspect into an environment of its own")
    venv.create(folder / "venv", with_pip=True)
    python = folder / "venv/bin/python"
    installing = _said([str(python), "-m", "pip", "install", "-q", PACKAGE])
    if installing.returncode:
        return Peer(problem=f"{PACKAGE} cannot be installed here")
    shown = _said([str(python), "-m", "pip", "show", PACKAGE]).stdout
    version = next(line.split()[1] for line in shown.splitlines() if line.startswith("Version:"))
    script = folder / "task.py"
    script.write_text(_TASK)
    say("measuring Inspect")
    done = _said([str(python), str(script), str(rounds), str(folder / "logs")])
    if done.returncode:
        print(done.stderr[-2000:], file=sys.stderr)
        return Peer(version=version, problem=f"{PACKAGE} {version} does not run here")
    times = [float(line) for line in done.stdout.split()]
    return Peer(version=version, seconds=Timed.of(times).seconds)


def _said(argv: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(argv, capture_output=True, text=True, check=False)
