"""A series whose runner is killed at any of its calls goes on, and no session is lost."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.crashes.world import Fault, World, check_clean
from tests.program import Server
from tests.sessions.world import ran, short_ledger

EVAL = ("eval", "story", "--sandbox", "none", "-j", "1", "--seed", "1")
POINTS = 24


def killed_at(world: World, number: int, log: Path) -> bool:
    """Kill a run at a call, go on, and look at what came of it; whether it was killed at all."""
    log.unlink(missing_ok=True)
    one = world.copy(world.top.parent / f"{world.top.name}-{number}")
    said = one.run(*EVAL, fault=Fault(at=number, kind="kill"))
    done = [path.name for path in (one.ledger / ".git/trialbook").rglob("session-*")]
    again = one.run("resume", one.runs()[-1]) if one.runs() else one.run(*EVAL)
    assert again.code == 0, again
    # What was over is taken over: its agent worked once.
    worked = log.read_text().split()
    if "session-1" in done:
        assert worked.count("core") == 1, worked
    records = one.trials()
    last = max(records.values(), key=lambda record: int(record["rerun"]))
    assert [two["outcome"] for two in last["sessions"]] == ["accepted", "accepted"]
    assert {record["outcome"] for record in records.values()} <= {"accepted", "cancelled"}
    if "session-1" in done:
        assert len(records) == 1
        assert ran(one.ledger).outcomes == ["accepted", "accepted"]
    check_clean(one)
    assert not list((one.ledger / ".git/trialbook").rglob("session-*"))
    one.run("verify", check=0)
    shutil.rmtree(one.top)
    return said.code == -9


@pytest.mark.slow
def test_a_series_that_is_killed_goes_on(tmp_path: Path, server: Server) -> None:
    log = tmp_path / "log.txt"
    top = tmp_path / "world"
    top.mkdir()
    short_ledger(
        top / "ledger",
        core=f"echo core >> {log}; printf 'def write' > rows.py; git add -A; git commit -qm one\n",
        docs=f"echo docs >> {log}; printf '# Rows' > DOCS.md\n",
    )
    world = World(top=top, server=server)
    calls = world.copy(tmp_path / "undisturbed").run(*EVAL, fault=Fault(), check=0).calls
    step = calls // POINTS
    killed = [killed_at(world, number, log) for number in range(step // 2, calls, step)]
    assert sum(killed) >= POINTS - 2
