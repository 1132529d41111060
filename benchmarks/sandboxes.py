"""What a sandbox costs: one start of `true` in each, beside a bare subprocess.

Run as ``python -m benchmarks.sandboxes [REPETITIONS]``; prints a table in Markdown.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from trialbook.api import Command, Limits, Network, Policy, Sandbox
from trialbook.execution.network import Access, access_to
from trialbook.execution.room import Room
from trialbook.process import run
from trialbook.storage.interpreter import interpreter_folders
from trialbook.system import System
from trialbook_sandboxes.bubblewrap import BubblewrapSandbox
from trialbook_sandboxes.container import ContainerSandbox
from trialbook_sandboxes.none import NoSandbox

_FILES = 500
_TRUE = "/usr/bin/true"
_SANDBOXES: dict[str, Sandbox] = {
    "`none`": NoSandbox(),
    "`bubblewrap`": BubblewrapSandbox(),
    "`container`, podman": ContainerSandbox("podman"),
    "`container`, docker": ContainerSandbox("docker"),
}


def main(repetitions: int = 20) -> None:
    """Measure all that works here, in turns, and print the table."""
    with tempfile.TemporaryDirectory() as name:
        workspace = Path(name, "workspace")
        workspace.mkdir()
        for number in range(_FILES):
            (workspace / f"{number}.txt").write_text("x\n")
        cases: dict[str, Callable[[], object]] = {
            "bare subprocess": lambda: subprocess.run([_TRUE], check=True),
        }
        left_out: list[str] = []
        for label, sandbox in _SANDBOXES.items():
            able = sandbox.available(run)
            if able.ok:
                cases[label] = lambda sandbox=sandbox: _start(sandbox, workspace)  # type: ignore[misc]
                if able.network:
                    cases[f"{label}, with a list of hosts"] = lambda sandbox=sandbox: _with_hosts(  # type: ignore[misc]
                        sandbox, workspace
                    )
            else:
                left_out.append(f"{label}: {able.reason}")
        times: dict[str, list[float]] = {label: [] for label in cases}
        for _ in range(repetitions):
            for label, case in cases.items():
                began = time.perf_counter()
                case()
                times[label].append((time.perf_counter() - began) * 1000)
    print(_table(times))
    for line in left_out:
        print(f"left out: {line}")


def _with_hosts(sandbox: Sandbox, workspace: Path) -> None:
    """The proxy is started and ended, too, as for a trial."""
    with tempfile.TemporaryDirectory() as name:
        room = Room(root=Path(name))
        network = Network(mode="allow", allow=("example.com",))
        with access_to(network, room, System().now, held=True) as access:
            _start(sandbox, workspace, access)


def _start(sandbox: Sandbox, workspace: Path, access: Access | None = None) -> None:
    command = Command(
        argv=(_TRUE,),
        cwd=workspace,
        environment={"PATH": "/usr/bin:/bin"},
        stdout=workspace.parent / "stdout.txt",
        stderr=workspace.parent / "stderr.txt",
    )
    policy = Policy(
        writable=(workspace,),
        readable=interpreter_folders(sys.executable),
        network=Network(mode="none"),
        limits=Limits(minutes=1.0, memory_mb=500.0, processes=100),
    )
    if access is not None:
        policy = access.over(policy)
    result = sandbox.start(command, policy, run)
    if not result.ok:
        raise SystemExit(f"{sandbox.name}: {result}")


def _table(times: dict[str, list[float]]) -> str:
    base = statistics.median(times["`none`"])
    lines = [
        f"| start of `true` ({_FILES} files) | median ms | fastest ms | more than `none` |",
        "| --- | --: | --: | --: |",
    ]
    for label, found in times.items():
        median = statistics.median(found)
        more = "" if label in ("bare subprocess", "`none`") else f"+{median - base:.0f} ms"
        lines.append(f"| {label} | {median:.1f} | {min(found):.1f} | {more} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
