"""How long the program takes to start, beside a bare click program of the same interpreter.

``python -m benchmarks.startup``: the bare program is one group with one command that prints a word;
it imports click and nothing else. Both are started as files by the same interpreter, turn by turn.
``status`` is asked of a small ledger: while nothing has changed since it was last asked, and with
an empty cache, which is what it takes to load what reads a ledger, and to read it.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.timing import PAGE, Timed, machine, ms, ratio, run, say, table, write_between

GOAL = 1.15
_BARE = """\
import click


@click.group()
def main():
    '''A program.'''


@main.command()
def word():
    '''Print a word.'''
    click.echo("a word")


main()
"""
_OURS = "from trialbook.cli.main import main\nimport sys\nsys.exit(main())\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """One program from its start to its end: by the clock, and processor time alone."""

    wall: float
    processor: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """What is started, what it is held against, and what has to be done before each time."""

    said: str
    argv: tuple[str, ...]
    against: str = ""
    before: Callable[[], object] = bool


def main() -> None:
    """Measure, print, and write into the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.startup")
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    parser.add_argument("--write", action="store_true", help="write the figures into the docs")
    wanted = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="startup-") as work:
        text = _measured(Path(work), repetitions=7 if wanted.quick else 41)
    if wanted.write:
        write_between(PAGE, "startup", text)
    print(text)


def _measured(work: Path, *, repetitions: int) -> str:
    say("making a ledger")
    ledger = _ledger(work)
    environ = {**os.environ, "TRIALBOOK_CACHE": str(work / "cache")}
    environ.pop("PYTHONPATH", None)
    cases = _cases(work)
    say(f"starting {len(cases)} programs, {repetitions} times each")
    found: dict[str, list[Start]] = {name: [] for name in cases}
    for turn in range(repetitions + 1):
        for name, case in cases.items():
            case.before()
            started = _start(case.argv, ledger, environ)
            if turn:  # the first time fills caches
                found[name].append(started)
    rows = []
    wall = {name: Timed.of([one.wall for one in times]) for name, times in found.items()}
    used = {name: Timed.of([one.processor for one in times]) for name, times in found.items()}
    for name, case in cases.items():
        to = case.against
        rows.append(
            [
                case.said,
                ms(wall[name].seconds),
                ratio(wall[name].seconds, wall[to].seconds) if to else "",
                ms(used[name].seconds),
                ratio(used[name].seconds, used[to].seconds) if to else "",
            ]
        )
    head = ["program", "by the clock", "to the bare one", "processor time", "to the bare one"]
    counted = f"Medians of {repetitions}, turn by turn. {machine()}"
    return table(head, rows) + f"\n\n{counted}"


def _cases(work: Path) -> Mapping[str, Case]:
    bare, ours = work / "bare.py", work / "trialbook"
    bare.write_text(_BARE)
    ours.write_text(_OURS)

    def argv(program: Path, word: str) -> tuple[str, ...]:
        return (sys.executable, str(program), word)

    return {
        "bare help": Case(said="bare click program, `--help`", argv=argv(bare, "--help")),
        "help": Case(said="`trialbook --help`", argv=argv(ours, "--help"), against="bare help"),
        "bare": Case(said="bare click program, its command", argv=argv(bare, "word")),
        "status": Case(
            said="`trialbook status`, nothing changed since the last one",
            argv=argv(ours, "status"),
            against="bare",
        ),
        "first": Case(
            said="`trialbook status`, with an empty cache",
            argv=argv(ours, "status"),
            against="bare",
            before=lambda: shutil.rmtree(work / "cache", ignore_errors=True),
        ),
    }


def _start(argv: tuple[str, ...], cwd: Path, environ: Mapping[str, str]) -> Start:
    """Run a program to its end; it must succeed. Its output goes nowhere."""
    here = Path.cwd()
    os.chdir(cwd)
    nowhere = os.open(os.devnull, os.O_RDWR)
    to = [(os.POSIX_SPAWN_DUP2, nowhere, handle) for handle in (0, 1, 2)]
    try:
        began = time.perf_counter()
        child = os.posix_spawn(argv[0], argv, environ, file_actions=to)
        _, status, usage = os.wait4(child, 0)
        wall = time.perf_counter() - began
    finally:
        os.close(nowhere)
        os.chdir(here)
    if status:
        sys.exit(f"{argv} ended with {os.waitstatus_to_exitcode(status)}")
    return Start(wall=wall, processor=usage.ru_utime + usage.ru_stime)


def _ledger(work: Path) -> Path:
    """A new ledger with one run of its own example."""
    folder = work / "ledger"
    program = (sys.executable, "-m", "trialbook")
    run(*program, "--quiet", "init", str(folder), cwd=work)
    run(*program, "--quiet", "eval", "example", "-r", "1", cwd=folder)
    return folder


if __name__ == "__main__":
    main()
