"""What the site of a large ledger costs: from nothing, and after one more trial.

``python -m benchmarks.site [--quick] [--write]``: a ledger of synthetic trials (see `synthetic`) in
runs of a thousand, the last of which is open and lacks ten trials. The site is built by the command
line, from nothing (no output, no cache, of the reader's or ours) with one process and with two;
then a trial of the open run is committed, and it is built again into the same folder. In the same
run the same pages are written from f-strings (see `fstring_peer`), and, with ``--peers``, asv
publishes and Inspect bundles sets of as many results (see `publishing_peers`).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from benchmarks import publishing_peers
from benchmarks.synthetic import TRIALS_PER_RUN, Entry, entries, plan_files, plan_of, start
from benchmarks.timing import (
    PAGE,
    machine,
    megabytes,
    ratio,
    run,
    say,
    table,
    write_between,
)
from trialbook.storage.ledger import Ledger
from trialbook.storage.reader import Reader, RunRef
from trialbook.system import System
from trialbook.workflow.results import regenerate

TRIALS = 10_000
_WAITING = 10
_GROUP = 250
_LOOK = 0.2


@dataclass(frozen=True, slots=True, kw_only=True)
class Build:
    """One process and its children.

    ``seconds`` by the clock, ``processor`` seconds of all together, ``peak`` the most memory of all
    together, in bytes.
    """

    seconds: float
    processor: float
    peak: int


class Bench:
    """One ledger, and the builds of its site."""

    def __init__(self, folder: Path, trials: int) -> None:
        self.folder = folder
        self.trials = trials
        self.environ = {**os.environ, "TRIALBOOK_CACHE": str(folder / "cache")}
        self._system = System(environ={"HOME": str(folder), "PATH": "/usr/bin:/bin"})
        self._waiting: Iterator[Entry] = iter(())
        self.root = self._made()

    def cold(self, jobs: int) -> Build:
        """From nothing."""
        for name in ("cache", f"site-{jobs}"):
            shutil.rmtree(self.folder / name, ignore_errors=True)
        return self.build(jobs)

    def build(self, jobs: int) -> Build:
        """Into the folder that there is."""
        output = self.folder / f"site-{jobs}"
        program = (sys.executable, "-m", "trialbook", "--quiet", "-C", str(self.root))
        return measured(
            (*program, "site", "build", "--output", str(output), "--jobs", str(jobs)), self.environ
        )

    def one_more(self, jobs: int) -> Build:
        """After one more trial."""
        entry = next(self._waiting)
        ledger = Ledger.open(self.root, self._system)
        ledger.commit(entry.files, entry.message)
        ledger.close()
        return self.build(jobs)

    def peer(self, site: Path, *words: str) -> dict[str, float]:
        """The same pages from f-strings: what it says of its times."""
        target = self.folder / "site-f-strings"
        shutil.rmtree(target, ignore_errors=True)
        module = (sys.executable, "-m", "benchmarks.fstring_peer")
        done = run(*module, str(site), str(target), str(self.root), *words, cwd=Path.cwd())
        found: dict[str, float] = json.loads(done)
        return found

    def _made(self) -> Path:
        bare = start(self.folder / "ledger.git")
        ledger = Ledger.open(bare, self._system)
        for number in range(max(1, self.trials // TRIALS_PER_RUN)):
            say(f"making trials {number * TRIALS_PER_RUN + 1:,} and more")
            many = min(TRIALS_PER_RUN, self.trials)
            last = (number + 1) * TRIALS_PER_RUN >= self.trials
            plan = plan_of(number)
            commit = ledger.commit(plan_files(plan), f"plan {plan.path}\n")
            made = entries(plan, commit)
            waiting = (
                (entry.files, entry.message)
                for entry in islice(made, many - (_WAITING if last else 0))
            )
            while group := list(islice(waiting, _GROUP)):
                ledger.commit_many(group)
            if last:
                self._waiting = made
                break
            reader = Reader.open(bare, ledger.ref)
            results = regenerate(reader, RunRef(plan.suite, plan.run))
            reader.close()
            files = {f"runs/{plan.path}/{name}": data for name, data in results.items()}
            ledger.commit(files, f"results {plan.path}\n")
        ledger.close()
        root = self.folder / "ledger"
        run("git", "clone", "-q", "--no-checkout", str(bare), str(root), cwd=self.folder)
        run("git", "checkout", "-q", "HEAD", "--", "suites", cwd=root)
        return root


def measured(argv: Sequence[str], environ: Mapping[str, str]) -> Build:
    """Run a program to its end, and look at its and its children's memory meanwhile."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.perf_counter()
    process = subprocess.Popen(argv, env=environ, stdout=subprocess.DEVNULL)
    peaks = [0]
    done = threading.Event()

    def look() -> None:
        while not done.wait(_LOOK):
            peaks.append(sum(map(_memory, _family(process.pid))))

    watcher = threading.Thread(target=look)
    watcher.start()
    code = process.wait()
    took = time.perf_counter() - began
    done.set()
    watcher.join()
    if code:
        sys.exit(f"{argv} ended with {code}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Build(seconds=took, processor=used, peak=max(peaks))


def _family(pid: int) -> Iterator[int]:
    yield pid
    with suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from _family(int(child))


def _memory(pid: int) -> int:
    """A process's memory in bytes, what it shares with others counted in part."""
    with suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def main() -> None:
    """Measure, print, and write into the page if asked to."""
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m benchmarks.site")
    parser.add_argument("--trials", type=int, default=0, metavar="N")
    parser.add_argument("--rounds", type=int, default=3, metavar="N")
    parser.add_argument("--quick", action="store_true", help="a thousand trials, once")
    parser.add_argument("--peers", action="store_true", help="asv and Inspect too")
    parser.add_argument("--work", type=Path, help="where to work (default: a temporary folder)")
    parser.add_argument("--write", action="store_true", help="write the figures into the docs")
    wanted = parser.parse_args()
    trials = wanted.trials or (TRIALS_PER_RUN if wanted.quick else TRIALS)
    with tempfile.TemporaryDirectory(prefix="site-", dir=wanted.work) as folder:
        bench = Bench(Path(folder), trials)
        text = _measured(bench, rounds=1 if wanted.quick else wanted.rounds)
        if wanted.peers:
            text += "\n\n" + publishing_peers.measure(Path(folder), trials)
    print(text)
    if wanted.write:
        write_between(PAGE, "site", text)


def _measured(bench: Bench, *, rounds: int) -> str:
    found: dict[str, list[Build]] = {}
    peers: list[dict[str, float]] = []
    for turn in range(rounds):
        say(f"round {turn + 1} of {rounds}")
        for jobs in (1, 2):
            found.setdefault(f"cold {jobs}", []).append(bench.cold(jobs))
        peers.append(bench.peer(bench.folder / "site-1"))
        for jobs in (1, 2):
            found.setdefault(f"more {jobs}", []).append(bench.one_more(jobs))
            found.setdefault(f"same {jobs}", []).append(bench.build(jobs))
    return _report(bench, found, peers)


def _report(
    bench: Bench, found: Mapping[str, Sequence[Build]], peers: Sequence[Mapping[str, float]]
) -> str:
    took, used = (
        {
            name: statistics.median(getattr(one, measure) for one in builds)
            for name, builds in found.items()
        }
        for measure in ("seconds", "processor")
    )
    peak = {name: max(one.peak for one in builds) for name, builds in found.items()}
    plain, plain_used, reading = (
        statistics.median(one[name] for one in peers)
        for name in ("writing", "processor", "reading")
    )
    said = {"cold": "from nothing", "more": "after one more trial", "same": "nothing changed"}
    rows = []
    for name in (f"{what} {jobs}" for what in said for jobs in (1, 2)):
        what, _, jobs = name.partition(" ")
        rows.append(
            [
                f"{said[what]}, {jobs} process{'es' if jobs != '1' else ''}",
                f"{took[name]:.2f} s",
                ratio(took[name], plain),
                ratio(took[name], plain + reading),
                ratio(took[name], took[f"cold {jobs}"]),
                f"{used[name]:.2f} s",
                megabytes(peak[name]),
            ]
        )
    bound = ["f-strings, data in memory", f"{plain:.2f} s", "1.00", "", "", f"{plain_used:.2f} s"]
    rows.append([*bound, ""])
    rows.append(["the same, and reading it", f"{plain + reading:.2f} s", "", "1.00", *[""] * 3])
    head = ["build", "time", "to f-strings", "to those and reading", "to from nothing"]
    head += ["processor time", "memory"]
    first = peers[0]
    return (
        table(head, rows) + f"\n\n{bench.trials:,} trials: {first['pages']:,.0f} pages of "
        f"{megabytes(first['bytes'])} in all, of which the f-strings make every byte. Medians of "
        f"{len(peers)}, in turns; memory is the most that all processes had at once. {machine()}"
    )


if __name__ == "__main__":
    main()
