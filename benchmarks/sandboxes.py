"""What a sandbox costs: one start of `true` in each, beside a bare subprocess.

Run as ``python -m benchmarks.sandboxes [REPETITIONS] [--write]``; prints a table in Markdown, and
writes it into the page on isolation if asked to.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.timing import write_between
from trialbook.api import Command, Limits, Network, Policy, Sandbox
from trialbook.execution.network import Access, access_to
from trialbook.execution.room import Room
from trialbook.process import run
from trialbook.storage.interpreter import interpreter_folders
from trialbook.system import System
from trialbook_sandboxes.bubblewrap import BubblewrapSandbox
from trialbook_sandboxes.container import ContainerSandbox
from trialbook_sandboxes.none import NoSandbox

PAGE = Path(__file__).parents[1] / "site/pages/explanation/isolation/index.md"

_FILES = 500
_TRUE = "/usr/bin/true"
_BARE = "bare subprocess"
_SANDBOXES: dict[str, Sandbox] = {
    "`none`": NoSandbox(),
    "`bubblewrap`": BubblewrapSandbox(),
    "`container`, podman": ContainerSandbox("podman"),
    "`container`, docker": ContainerSandbox("docker"),
}


def main() -> None:
    """Measure all that works here, print the table, and write it into the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.sandboxes")
    parser.add_argument("repetitions", type=int, nargs="?", default=20)
    parser.add_argument("--write", type=Path, nargs="?", const=PAGE, help="write into this page")
    options = parser.parse_args()
    text = measure(options.repetitions)
    print(text)
    if options.write:
        write_between(options.write, "sandboxes", text)


def measure(repetitions: int) -> str:
    """Measure all that works here, in turns; gives the table, and a line for what does not."""
    with tempfile.TemporaryDirectory() as name:
        workspace = Path(name, "workspace")
        workspace.mkdir()
        for number in range(_FILES):
            (workspace / f"{number}.txt").write_text("x\n")
        cases: dict[str, Callable[[], object]] = {
            _BARE: lambda: subprocess.run([_TRUE], check=True),
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
    return "\n".join((_table(times), *(f"\nLeft out: {line}." for line in left_out)))


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
    base = statistics.median(times[_BARE])
    lines = [
        f"| start of `true` ({_FILES} files) | median ms | fastest ms | more than a subprocess |",
        "| --- | --: | --: | --: |",
    ]
    for label, found in times.items():
        median = statistics.median(found)
        more = "" if label == _BARE else f"+{median - base:.0f} ms"
        lines.append(f"| {label} | {median:.1f} | {min(found):.1f} | {more} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
