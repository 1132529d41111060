"""A small ledger that a crash happens to, and what must hold of it afterwards."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from tests.conftest import git
from tests.program import Server

from trialbook.formats.records import unpack
from trialbook.model.trial import TrialBundle

SMALL = ("eval", "mini", "-t", "first", "-c", "good", "-r", "2", "-j", "1", "--seed", "1")
NO_SANDBOX = ("--sandbox", "none")
SLOTS = {"first/good/r1", "first/good/r2"}

Record = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Said:
    """What a command left: its exit status (negative for a signal), and how many calls counted."""

    code: int
    out: str
    err: str
    calls: int


@dataclass(frozen=True, kw_only=True)
class Fault:
    """What happens at which call; see `tests.crashes.faults`."""

    at: int = 0
    kind: str = "kill"
    below: tuple[str, ...] = ()


NOTHING = Fault()


@dataclass(frozen=True, kw_only=True)
class World:
    """A ledger with a cache and a work folder of its own, all below ``top``."""

    top: Path
    server: Server
    environ: dict[str, str] = field(default_factory=lambda: dict(os.environ))

    @property
    def ledger(self) -> Path:
        return self.top / "ledger"

    @property
    def cache(self) -> Path:
        return self.top / "cache"

    @property
    def work(self) -> Path:
        return self.top / "work"

    @property
    def calls(self) -> list[str]:
        """What every call was, of all commands since the ledger was made."""
        lines = (self.top / "calls").read_text().splitlines()
        return [line.partition(" ")[2] for line in lines]

    def run(
        self, *arguments: str, fault: Fault = NOTHING, check: int | None = None, **more: Any
    ) -> Said:
        """A command of the program, in the ledger's folder; its calls are listed in ``calls``."""
        out, err, temporary = self.top / "out", self.top / "err", self.top / "tmp"
        temporary.mkdir(exist_ok=True)
        answer = self.server.run(
            {
                "arguments": arguments,
                "cwd": str(self.ledger),
                "environ": {
                    **self.environ,
                    "TRIALBOOK_CACHE": str(self.cache),
                    "TRIALBOOK_WORK": str(self.work),
                    "TMPDIR": str(temporary),
                },
                "out": str(out),
                "err": str(err),
                "log": str(self.top / "calls"),
                "at": fault.at,
                "kind": fault.kind,
                "below": fault.below,
                **more,
            }
        )
        said = Said(
            code=answer["code"], calls=answer["calls"], out=out.read_text(), err=err.read_text()
        )
        if check is not None:
            assert said.code == check, (arguments, fault, said)
        return said

    def git(self, *arguments: str) -> str:
        """Git as the user would run it."""
        return git(self.ledger, *arguments)

    def copy(self, top: Path) -> World:
        """The same again in a folder that is not there yet."""
        shutil.copytree(self.top, top, symlinks=True)
        return replace(self, top=top)

    def runs(self, ref: str = "HEAD") -> list[str]:
        """The names of the runs in the ledger, in the order in which their plans came.

        Two that are started in the same second do not sort that way by name.
        """
        plans = ("log", "--reverse", "--diff-filter=A", "--name-only", "--format=")
        added = self.git(*plans, ref, "--", "runs/*/plan.json").splitlines()
        return [path.split("/")[2] for path in added if path.endswith("/plan.json")]

    def names(self, ref: str = "HEAD") -> list[str]:
        """Every path below runs/."""
        return self.git("ls-tree", "-r", "--name-only", ref, "runs").splitlines()

    def trials(self, ref: str = "HEAD") -> dict[str, Record]:
        """Every trial record, by its path below runs/."""
        return {
            name.removesuffix("/trial.json"): json.loads(self.git("show", f"{ref}:{name}"))
            for name in self.names(ref)
            if name.endswith("/trial.json")
        }

    def spooled(self) -> dict[str, str]:
        """Trials that were finished and are not committed: path below runs/, and outcome."""
        found = {}
        for file in (self.ledger / ".git/trialbook/runs").glob("*/*/spool/*"):
            if not file.name.startswith("."):
                record = unpack(TrialBundle, file.read_bytes(), str(file)).record
                found[f"runs/{record.suite}/{record.run}/{record.path}"] = record.outcome.value
        return found


@dataclass(frozen=True, kw_only=True)
class Before:
    """What was finished at the moment of a crash, and may not be lost."""

    records: dict[str, Record]
    spooled: dict[str, str]

    @classmethod
    def of(cls, world: World, ref: str = "HEAD") -> Before:
        """As it is now."""
        return cls(records=world.trials(ref), spooled=world.spooled())


def finish(world: World) -> str:
    """Go on after a crash, as the docs say: resume the run, or start it if it has no plan yet."""
    runs = world.runs()
    said = world.run("resume", runs[-1]) if runs else world.run(*SMALL, *NO_SANDBOX)
    assert said.code == 0, said
    assert "warning" not in said.err, said
    return world.runs()[-1]


def check_whole(world: World, before: Before, slots: set[str] = SLOTS) -> None:
    """Nothing that was finished is lost, every slot is done, nothing is left over or half done."""
    records = world.trials()
    assert {path: records.get(path) for path in before.records} == before.records
    assert {path: records[path]["outcome"] for path in before.spooled} == before.spooled
    last: dict[str, Record] = {}
    for record in sorted(records.values(), key=lambda record: int(record["rerun"])):
        slot = f"{record['task']}/{record['configuration']}/r{record['repetition']}"
        if record["rerun"]:
            assert last[slot]["outcome"] == "cancelled", "only what was cut off is run again"
        last[slot] = record
    assert set(last) == slots
    others = {
        slot: (record["outcome"], record["reason"])
        for slot, record in last.items()
        if record["outcome"] != "accepted"
    }
    assert others == {}
    run = world.runs()[-1]
    assert any(name.endswith(f"{run}/results.csv") for name in world.names())
    check_clean(world)
    world.run("verify", check=0)


def check_clean(world: World, ref: str = "HEAD") -> None:
    """Git has nothing to say, files are as committed, and no lock, note or half a file is left."""
    status = world.git("status", "--porcelain", "--", "runs")
    assert status == "", status
    done = subprocess.run(
        ["git", "fsck", "--full", "--strict", "--no-dangling", "--no-progress"],
        cwd=world.ledger, check=False, capture_output=True, text=True,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", ""), done
    left = left_over(world)
    assert left == [], left


def left_over(world: World) -> list[str]:
    """What no command may leave."""
    folder = world.ledger / ".git"
    found = [path for path in folder.rglob("*.lock") if path.name not in _STAY]
    for pattern in ("claims/**/*", "pending/*", "runs/*/*/spool/*", "runs/*/*/in-flight/*"):
        found += [path for path in folder.glob(f"trialbook/{pattern}") if path.is_file()]
    found += folder.glob("trialbook/index-*")
    found += (world.ledger / "runs").rglob(".trialbook-tmp-*")
    found += folder.glob("trialbook/displaced/**/*")
    found += world.work.glob("*")
    found += world.cache.glob("rooms/*")
    found += (world.top / "tmp").glob("*")
    return [str(path.relative_to(world.top)) for path in found]


# Files that are locked by the kernel: their being there says nothing.
_STAY = {"ledger.lock", "corrections.lock"}


@contextmanager
def served() -> Iterator[Server]:
    """A server for as long as the block lasts."""
    server = Server()
    try:
        yield server
    finally:
        server.close()
