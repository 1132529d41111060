"""What a whole trial costs besides the agent, against a plain shell loop of C git and Inspect.

``python -m benchmarks.overhead``: a trial is prepared, ``true`` is started, the change is
collected, one check is graded, the record is committed. The shell loop exports the same tree, makes
a repository with one commit of it, starts ``true``, and takes the difference: no grades, no record.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections.abc import Callable
from compileall import compile_dir
from dataclasses import dataclass
from pathlib import Path

import trialbook
from benchmarks import inspect_peer
from benchmarks.timing import (
    PAGE,
    Timed,
    interleaved,
    machine,
    ms,
    ratio,
    run,
    say,
    seconds,
    table,
    write_between,
)
from trialbook.registry import Registry
from trialbook.storage.suites import load_suite
from trialbook.system import System
from trialbook.workflow.evaluate import Bench, Ending, Observer, start_run
from trialbook.workflow.planning import Request, make_plan

SIZES = (107, 3000)
_SEVERAL_FILES = 1000
_STAGES = ("prepare", "agent", "capture", "grade")

_SUITE = """\
suite: overhead
protocol: 1
decision: What does a trial cost besides the agent?
configurations: [nothing]
repetitions: 1
limits: {minutes: 5}
accept: checks
"""
_CONFIGURATION = """\
configuration: nothing
agent: command
sandbox: none
with: {argv: ["true"]}
"""
_TASK = """\
task: files-%d
snapshot: {folder: ../../snapshots/%d}
brief: brief.md
no_change_expected: true
graders:
  - checks: checks.yaml
"""
_CHECKS = """\
checks:
  - id: first-file
    question: Is the first file there?
    type: file_exists
    path: package-0/module-0.py
"""
_LOOP = """\
set -e
for number in $(seq "$2"); do
  folder=$(mktemp -d "$3/loop-XXXXXX")
  git -C "$1" archive HEAD | tar -x -C "$folder"
  cd "$folder"
  git init -q
  git add -A
  git -c user.name=x -c user.email=x@localhost commit -q -m baseline
  sh -c true
  git add -A
  git diff --cached --binary -M HEAD > ../change.patch
  cd "$3"
  rm -rf "$folder"
done
"""


class _Silent(Observer):
    """An observer who says nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """One size: the trial's time, its stages, and what it is held against."""

    files: int
    trial: Timed
    loop: Timed
    stages: dict[str, float]


def main() -> None:
    """Measure, print, and write into the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.overhead")
    parser.add_argument("--quick", action="store_true", help="few repetitions, no Inspect")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), metavar="FILES")
    parser.add_argument("--work", type=Path, help="where to work (default: a temporary folder)")
    parser.add_argument("--write", type=Path, nargs="?", const=PAGE, help="write into this page")
    options = parser.parse_args()
    rounds = 3 if options.quick else 7
    # As pip does when it installs a program: none of its processes then starts by compiling.
    compile_dir(str(Path(trialbook.__file__).parent), quiet=1)
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        found = [
            _measure(Path(folder), size, rounds, _trials(size, quick=options.quick))
            for size in options.sizes
        ]
        peer = None if options.quick else inspect_peer.measure(Path(folder) / "inspect", rounds)
    text = _report(found, peer)
    print(text)
    if options.write:
        write_between(options.write, "overhead", text)


def _trials(files: int, *, quick: bool) -> int:
    """So many trials a round: few where each takes long already."""
    return 2 if quick or files > _SEVERAL_FILES else 10


def _measure(folder: Path, files: int, rounds: int, trials: int) -> Figures:
    say(f"{files} files")
    root = _ledger(folder / f"ledger-{files}", files)
    system = System(
        environ={
            "HOME": str(folder),
            "PATH": "/usr/bin:/bin",
            "TRIALBOOK_CACHE": str(folder / "cache"),
            "TRIALBOOK_WORK": str(folder / "work"),
        }
    )
    ending: list[Ending] = []

    def trial(repetitions: int) -> None:
        registry = Registry()
        suite = load_suite(root, "overhead", registry)
        request = Request(
            repetitions=repetitions,
            configurations=(),
            tasks=(f"files-{files}",),
            jobs=1,
            seed="1",
            sandbox="none",
        )
        plan = make_plan(
            suite, request, root=root, registry=registry, system=system, say=lambda _: None
        )
        bench = Bench(root=root, registry=registry, system=system, observer=_Silent())
        ending.append(start_run(bench, suite, plan))

    trial(1)
    plain = _plain(folder, root / f"suites/overhead/snapshots/{files}", files)
    script = folder / "loop.sh"
    script.write_text(_LOOP)

    def loop() -> None:
        run("sh", str(script), str(plain), str(trials), str(folder), cwd=folder)

    one = seconds_of_run(trial, trials)
    times = interleaved({"trial": one, "loop": lambda: seconds(loop) / trials}, rounds)
    done = [record for end in ending for record in end.trials]
    wrong = [record for record in done if record.outcome != "accepted"]
    if wrong:
        raise SystemExit(f"a trial was not accepted: {wrong[0].reason}")
    stages = {
        name: Timed.of([s.seconds for r in done for s in r.stages if s.name == name]).seconds
        for name in _STAGES
    }
    return Figures(files=files, trial=times["trial"], loop=times["loop"], stages=stages)


def seconds_of_run(trial: Callable[[int], None], trials: int) -> Callable[[], float]:
    """The seconds that one more trial takes: a run of many less a run of one."""

    def measure() -> float:
        many = seconds(lambda: trial(trials + 1))
        alone = seconds(lambda: trial(1))
        return (many - alone) / trials

    return measure


def _ledger(root: Path, files: int) -> Path:
    suite = root / "suites/overhead"
    task = suite / f"tasks/files-{files}"
    task.mkdir(parents=True)
    (suite / "configurations").mkdir()
    (suite / "suite.yaml").write_text(_SUITE)
    (suite / "configurations/nothing.yaml").write_text(_CONFIGURATION)
    (task / "task.yaml").write_text(_TASK % (files, files))
    (task / "brief.md").write_text("Do nothing.\n")
    (task / "checks.yaml").write_text(_CHECKS)
    _source(suite / f"snapshots/{files}", files)
    run("git", "init", "-q", "-b", "main", cwd=root)
    run("git", "config", "user.name", "x", cwd=root)
    run("git", "config", "user.email", "x@localhost", cwd=root)
    run("git", "add", "-A", cwd=root)
    run("git", "commit", "-q", "-m", "start", cwd=root)
    return root


def _source(folder: Path, files: int) -> None:
    """Files of a few kilobytes, forty to a folder, like those of a program."""
    for number in range(files):
        path = folder / f"package-{number // 40}/module-{number % 40}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f"value_{line} = {number * line % 9973}\n" for line in range(160)))


def _plain(folder: Path, source: Path, files: int) -> Path:
    target = folder / f"plain-{files}"
    shutil.copytree(source, target)
    run("git", "init", "-q", cwd=target)
    run("git", "add", "-A", cwd=target)
    identity = ("-c", "user.name=x", "-c", "user.email=x@localhost")
    run("git", *identity, "commit", "-q", "-m", "x", cwd=target)
    return target


def _report(found: list[Figures], peer: inspect_peer.Peer | None) -> str:
    rows = []
    for one in found:
        trial, loop = one.trial.seconds, one.loop.seconds
        stages = [ms(one.stages[name]) for name in _STAGES]
        rows.append([f"{one.files:,}", ms(trial), ms(loop), ratio(trial, loop), *stages])
    head = ["files", "a trial", "shell loop", "ratio", *_STAGES]
    lines = [table(head, rows), ""]
    if peer is None:
        lines.append("Inspect was not measured.")
    elif peer.problem:
        lines.append(f"Inspect was not measured: {peer.problem}.")
    else:
        smallest = found[0].trial.seconds
        lines.append(
            f"Inspect {peer.version} with its local sandbox and its mock model takes "
            f"{ms(peer.seconds)} for one more sample that starts `true` in an empty folder: no "
            f"export, no repository, no difference. A trial with {found[0].files} files takes "
            f"{ratio(smallest, peer.seconds)} of that."
        )
    repetitions = len(found[0].trial.times)
    lines += ["", f"Medians of {repetitions} interleaved rounds. {machine()}"]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
