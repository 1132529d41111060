"""What a ledger costs as it grows, with ratios against plain git doing the same in the same run.

``python -m benchmarks.ledger``: builds one ledger, keeps a copy of it at each size, and measures
the copies in turns. They are bare repositories, as a ledger on a branch of its own is: no work tree
and no index. What a checked-out ledger adds to that is a row of its own.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import count, islice
from pathlib import Path

from benchmarks.synthetic import TRIALS_PER_RUN, Entry, entries, plan_files, plan_of, start
from benchmarks.timing import (
    PAGE,
    interleaved,
    machine,
    megabytes,
    ms,
    ratio,
    run,
    say,
    seconds,
    table,
    write_between,
)
from trialbook.storage.ledger import Ledger
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.rows import rows
from trialbook.system import System
from trialbook.workflow.results import regenerate

SIZES = (1_000, 10_000, 100_000)
WORK_TREE_SIZE = 10_000
"""The size at which plain ``git add`` and ``git commit`` are measured: they need a work tree."""

_GROUP = 250
_BULK = 1_000
_SPARE_RUNS = 5_000
_GIT_QUIET = ("-c", "gc.auto=0", "-c", "user.name=x", "-c", "user.email=x@localhost")


@dataclass(slots=True, kw_only=True)
class Sized:
    """A ledger of one size, and what was measured of it, by name, in seconds or bytes."""

    trials: int
    folder: Path
    found: dict[str, float] = field(default_factory=dict)


def main() -> None:
    """Measure, print, and write into the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.ledger")
    parser.add_argument("--trials", type=int, nargs="+", default=list(SIZES), metavar="N")
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    parser.add_argument("--work", type=Path, help="where to work (default: a temporary folder)")
    parser.add_argument("--write", type=Path, nargs="?", const=PAGE, help="write into this page")
    options = parser.parse_args()
    sizes = sorted({max(size // TRIALS_PER_RUN, 1) * TRIALS_PER_RUN for size in options.trials})
    with tempfile.TemporaryDirectory(dir=options.work) as folder:
        bench = _Bench(Path(folder), quick=options.quick)
        ledgers = bench.build(sizes)
        bench.append(ledgers)
        bench.bulk(ledgers)
        for one in ledgers:
            bench.read(one)
            bench.verify(one)
            bench.sizes(one)
        text = _report(ledgers)
    print(text)
    if options.write:
        write_between(options.write, "ledger", text)


class _Bench:
    """One run of all measurements, in one folder."""

    def __init__(self, folder: Path, *, quick: bool) -> None:
        self._folder = folder
        self._quick = quick
        self._spare = count(_SPARE_RUNS)
        self._system = System(environ={"HOME": str(folder), "PATH": "/usr/bin:/bin"})

    def build(self, sizes: Sequence[int]) -> list[Sized]:
        """Ledgers of these sizes: each is the beginning of the next."""
        growing = start(self._folder / "growing")
        ledger = Ledger.open(growing, self._system)
        found = []
        for number in range(sizes[-1] // TRIALS_PER_RUN):
            self._add_run(ledger, growing, number)
            trials = (number + 1) * TRIALS_PER_RUN
            if trials in sizes:
                say(f"built {trials:,} trials")
                copy = self._folder / f"ledger-{trials}"
                shutil.copytree(growing, copy)
                found.append(Sized(trials=trials, folder=copy))
        ledger.close()
        shutil.rmtree(growing)
        return found

    def append(self, ledgers: list[Sized]) -> None:
        """One trial in one commit, the sizes in turns."""
        cases: dict[str, Callable[[], float]] = {}
        for one in ledgers:
            say(f"append at {one.trials:,}")
            cases[f"append {one.trials}"] = self._append_case(one.folder)
        times = interleaved(cases, 15 if self._quick else 60)
        for one in ledgers:
            one.found["append"] = times[f"append {one.trials}"].seconds
        for one in ledgers:
            if one.trials == WORK_TREE_SIZE:
                self._append_with_git(one)

    def bulk(self, ledgers: list[Sized]) -> None:
        """A thousand trials, a commit each, against one fast-import of the same commits."""
        for one in ledgers:
            say(f"bulk append at {one.trials:,}")
            many = self._new_trials(one.folder, _BULK)
            groups = [(entry.files, entry.message) for entry in many]
            stream = _stream(many, one.folder)

            def ours(groups: list[tuple[object, str]] = groups, one: Sized = one) -> float:
                copy = self._copy(one.folder)
                ledger = Ledger.open(copy, self._system)
                took = seconds(lambda: ledger.commit_many(groups))  # type: ignore[arg-type]
                ledger.close()
                return took

            def theirs(stream: bytes = stream, one: Sized = one) -> float:
                copy = self._copy(one.folder)
                return seconds(lambda: run("git", "fast-import", "--quiet", cwd=copy, stdin=stream))

            times = interleaved({"ours": ours, "theirs": theirs}, 1 if self._quick else 3)
            one.found["bulk"] = times["ours"].seconds
            one.found["fast-import"] = times["theirs"].seconds

    def read(self, one: Sized) -> None:
        """All results: with nothing in the cache, with everything in it, and by git alone."""
        say(f"read at {one.trials:,}")
        cache = self._folder / "cache"

        def ours() -> None:
            reader = Reader.open(one.folder, cache=cache)
            read = sum(len(rows(reader, found)) for found in reader.runs())
            if read < one.trials:
                sys.exit(f"only {read} trials were read")
            reader.close()

        def cold() -> float:
            shutil.rmtree(cache, ignore_errors=True)
            return seconds(ours)

        cases = {
            "cold": cold,
            "warm": lambda: seconds(ours),
            "git read": lambda: seconds(lambda: _read_with_git(one.folder)),
        }
        times = interleaved(cases, 3 if self._quick or one.trials > WORK_TREE_SIZE else 7)
        one.found |= {name: timed.seconds for name, timed in times.items()}

    def verify(self, one: Sized) -> None:
        """``trialbook verify`` against ``git fsck``, both as commands; not the largest ledgers."""
        if one.trials > WORK_TREE_SIZE:
            return
        say(f"verify at {one.trials:,}")
        clone = self._folder / "clone"
        run("git", "clone", "-q", "--no-checkout", str(one.folder), str(clone), cwd=self._folder)
        (clone / "suites").mkdir()
        memory: list[int] = []

        def ours() -> float:
            argv = [sys.executable, "-m", "trialbook", "-C", str(clone), "verify"]
            took, peak = _measured(argv)
            memory.append(peak)
            return took

        times = interleaved(
            {
                "verify": ours,
                "fsck": lambda: seconds(lambda: run("git", "fsck", "--full", cwd=clone)),
            },
            1 if self._quick else 3,
        )
        shutil.rmtree(clone)
        one.found |= {name: timed.seconds for name, timed in times.items()}
        one.found["memory"] = float(max(memory))

    def sizes(self, one: Sized) -> None:
        """What the objects take on disk as they are, and after ``git gc``."""
        say(f"sizes at {one.trials:,}")
        one.found["size"] = _size(one.folder / "objects")
        one.found["files"] = sum(path.is_file() for path in (one.folder / "objects").rglob("*"))
        run("git", *_GIT_QUIET, "gc", "-q", cwd=one.folder)
        one.found["size after gc"] = _size(one.folder / "objects")

    # --- parts ---------------------------------------------------------------------------------

    def _add_run(self, ledger: Ledger, root: Path, number: int) -> None:
        plan = plan_of(number)
        commit = ledger.commit(plan_files(plan), f"plan {plan.path}\n")
        waiting = ((entry.files, entry.message) for entry in entries(plan, commit))
        while group := list(islice(waiting, _GROUP)):
            ledger.commit_many(group)
        reader = Reader.open(root, ledger.ref)
        made = regenerate(reader, RunRef(plan.suite, plan.run))
        reader.close()
        files = {f"runs/{plan.path}/{name}": data for name, data in made.items()}
        ledger.commit(files, f"results {plan.path}\n")

    def _new_trials(self, root: Path, many: int) -> list[Entry]:
        """Trials of a new run, whose plan is committed."""
        plan = plan_of(next(self._spare))
        ledger = Ledger.open(root, self._system)
        commit = ledger.commit(plan_files(plan), f"plan {plan.path}\n")
        ledger.close()
        return list(islice(entries(plan, commit), many))

    def _append_case(self, root: Path) -> Callable[[], float]:
        waiting = iter(self._new_trials(root, 200))
        ledger = Ledger.open(root, self._system)

        def once() -> float:
            entry = next(waiting)
            return seconds(lambda: ledger.commit(entry.files, entry.message))

        once()
        return once

    def _append_with_git(self, one: Sized) -> None:
        """``git add`` and ``git commit`` in a work tree, and ours there, index included."""
        say(f"git add && git commit at {one.trials:,}")
        clone = self._folder / "checked-out"
        run("git", "clone", "-q", str(one.folder), str(clone), cwd=self._folder)
        waiting = iter(self._new_trials(clone, 200))
        ledger = Ledger.open(clone, self._system)

        def theirs() -> float:
            entry = next(waiting)
            for path, data in entry.files.items():
                (clone / path).parent.mkdir(parents=True, exist_ok=True)
                (clone / path).write_bytes(data)
            folder = next(iter(entry.files)).rpartition("/")[0]

            def add_and_commit() -> None:
                run("git", *_GIT_QUIET, "add", "--", f"runs/{entry_run(folder)}", cwd=clone)
                run("git", *_GIT_QUIET, "commit", "-q", "-m", entry.message, cwd=clone)

            return seconds(add_and_commit)

        def ours() -> float:
            entry = next(waiting)
            return seconds(lambda: ledger.commit(entry.files, entry.message))

        times = interleaved({"theirs": theirs, "ours": ours}, 3 if self._quick else 7)
        one.found["git add, commit"] = times["theirs"].seconds
        one.found["append checked out"] = times["ours"].seconds
        ledger.close()
        shutil.rmtree(clone)

    def _copy(self, source: Path) -> Path:
        target = self._folder / "copy"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(source, target)
        return target


def entry_run(folder: str) -> str:
    """``<suite>/<run>`` of a path below ``runs/``."""
    return "/".join(folder.split("/")[1:3])


def _stream(many: Sequence[Entry], root: Path) -> bytes:
    """What git fast-import takes: a commit for each trial, on top of the branch."""
    head = run("git", "rev-parse", "refs/heads/main", cwd=root).strip()
    parts = [b"reset refs/heads/main\nfrom %b\n\n" % head]
    for entry in many:
        message = entry.message.encode()
        parts.append(b"commit refs/heads/main\ncommitter x <x@localhost> 1796000000 +0000\n")
        parts.append(b"data %d\n%b\n" % (len(message), message))
        for path, data in entry.files.items():
            parts.append(b"M 100644 inline %b\ndata %d\n%b\n" % (path.encode(), len(data), data))
    return b"".join(parts)


def _read_with_git(root: Path) -> None:
    listing = run("git", "ls-tree", "-r", "-z", "refs/heads/main", cwd=root)
    wanted = [line.split(b"\t") for line in listing.split(b"\0")[:-1]]
    oids = [facts.split()[2] for facts, path in wanted if path.endswith(b"/trial.json")]
    names = b"\n".join(oids) + b"\n"
    run("git", "cat-file", "--batch", "--buffer", cwd=root, stdin=names)


def _measured(argv: list[str]) -> tuple[float, int]:
    """How long a command takes, and the most memory that it or a child of it had, in bytes."""
    code = (
        "import resource, subprocess, sys, time; began = time.perf_counter(); "
        "done = subprocess.run(sys.argv[1:], stdout=subprocess.PIPE, stderr=subprocess.PIPE); "
        "sys.stderr.buffer.write(done.stdout + done.stderr if done.returncode else b''); "
        "print(time.perf_counter() - began, "
        "resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024); sys.exit(done.returncode)"
    )
    said = subprocess.run([sys.executable, "-c", code, *argv], capture_output=True, check=False)
    if said.returncode:
        sys.exit(f"{argv} failed: {said.stderr.decode()[-2000:]}")
    took, peak = said.stdout.split()
    return float(took), int(peak)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def _report(ledgers: list[Sized]) -> str:
    first = ledgers[0].found
    lines: list[list[str]] = []

    def row(what: str, cell: Callable[[dict[str, float]], str]) -> None:
        lines.append([what, *(cell(one.found) for one in ledgers)])

    row("append one trial", lambda f: ms(f["append"]))
    row("... to the smallest ledger's", lambda f: ratio(f["append"], first["append"]))
    row("`git add && git commit` of one", lambda f: ms(f.get("git add, commit")))
    row("... append to that", lambda f: ratio(f["append"], f.get("git add, commit")))
    row("append, work tree and index too", lambda f: ms(f.get("append checked out")))
    row("append 1,000 trials at once", lambda f: ms(f["bulk"]))
    row("... to one `git fast-import`", lambda f: ratio(f["bulk"], f["fast-import"]))
    row("read all results, nothing cached", lambda f: ms(f["cold"]))
    row("... to `ls-tree`, `cat-file`", lambda f: ratio(f["cold"], f["git read"]))
    row("read all results again", lambda f: ms(f["warm"]))
    row("... to `ls-tree`, `cat-file`", lambda f: ratio(f["warm"], f["git read"]))
    row("`trialbook verify`", lambda f: ms(f.get("verify")))
    row("... to `git fsck --full`", lambda f: ratio(f.get("verify"), f.get("fsck")))
    row("... its peak memory", lambda f: megabytes(f["memory"]) if "memory" in f else "")
    row("objects on disk", lambda f: megabytes(f["size"]))
    row("... to the same after `git gc`", lambda f: ratio(f["size"], f["size after gc"]))
    row("... in so many files", lambda f: f"{f['files']:,.0f}")
    head = ["", *(f"{one.trials:,} trials" for one in ledgers)]
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    note = (
        f"Medians of interleaved repetitions. The process that built and measured all of this had "
        f"{megabytes(peak)} at most, the thousand trials of a bulk append included. {machine()}"
    )
    return f"{table(head, lines)}\n\n{note}"


if __name__ == "__main__":
    main()
