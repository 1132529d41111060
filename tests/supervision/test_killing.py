"""Nothing of a command is left when it is over, whatever it does about it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from typing import TYPE_CHECKING

import pytest

from trialbook import process
from trialbook.model.process import Ended
from trialbook.model.suite import Limits
from trialbook.supervision.descendants import children_of

if TYPE_CHECKING:
    from tests.supervision.conftest import Bench

QUICK = Limits(minutes=1.0 / 60, grace_seconds=0.3)

# Forks twice, with a session of its own in between, and ignores what may be ignored.
DAEMON = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in (1, 2, 3, 10, 12, 13, 14, 15):
            signal.signal(number, signal.SIG_IGN)
        open(sys.argv[1] + "/daemon." + str(os.getpid()), "w").close()
        while True:
            time.sleep(0.05)
            open(sys.argv[1] + "/heartbeat", "w").close()
    os._exit(0)
os.wait()
while not [name for name in os.listdir(sys.argv[1]) if name.startswith("daemon.")]:
    time.sleep(0.01)
"""
STUBBORN = """
import signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
print("deaf", flush=True)
while True:
    time.sleep(1)
"""


def test_the_control_a_process_group_kill_leaves_the_daemon_alive(bench: Bench) -> None:
    child = subprocess.Popen(
        [sys.executable, "-S", "-c", DAEMON + "time.sleep(60)", str(bench.folder)],
        env=bench.environment,
        start_new_session=True,
    )
    bench.wait_for("heartbeat")
    os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    time.sleep(0.2)
    assert len(bench.alive()) == 1


def test_a_daemon_does_not_outlive_a_command_that_ends_by_itself(bench: Bench) -> None:
    result = bench.python(DAEMON, str(bench.folder))
    assert bench.alive() == []
    assert (result.ended, result.exit_code, result.leftover_processes) == (Ended.EXITED, 0, 1)
    (bench.folder / "heartbeat").unlink(missing_ok=True)
    time.sleep(0.2)
    assert not (bench.folder / "heartbeat").exists()


def test_a_daemon_does_not_outlive_the_time_limit(bench: Bench) -> None:
    result = bench.python(DAEMON + "time.sleep(60)", str(bench.folder), limits=QUICK)
    assert bench.alive() == []
    assert result.ended is Ended.TIMED_OUT
    assert result.leftover_processes == 1
    assert result.signal == signal.SIGTERM


def test_a_daemon_does_not_outlive_a_command_that_crashes(bench: Bench) -> None:
    result = bench.python(DAEMON + "os.abort()", str(bench.folder))
    assert bench.alive() == []
    assert (result.ended, result.signal) == (Ended.SIGNALLED, signal.SIGABRT)
    assert result.leftover_processes == 1


def test_what_runs_in_the_background_does_not_outlive_the_time_limit(bench: Bench) -> None:
    result = bench.shell("sleep 300 & sleep 300", limits=QUICK)
    assert bench.alive() == []
    assert result.ended is Ended.TIMED_OUT
    assert 1.0 <= result.seconds < 8


def test_what_ends_just_after_the_command_is_not_taken_for_a_leftover(bench: Bench) -> None:
    result = bench.shell("{ sleep 0.02; echo last; } & echo first")
    assert result.leftover_processes == 0
    assert bench.out.read_text() == "first\nlast\n"


@pytest.mark.slow
def test_sigterm_comes_first_and_leaves_time_to_clean_up(bench: Bench) -> None:
    script = """
import signal, sys, time
def clean(*_):
    time.sleep(0.2)
    print("cleaned up", flush=True)
    sys.exit(7)
signal.signal(signal.SIGTERM, clean)
print("ready", flush=True)
time.sleep(60)
"""
    result = bench.python(script, limits=Limits(minutes=1.5 / 60, grace_seconds=20))
    assert (result.ended, result.exit_code, result.signal) == (Ended.TIMED_OUT, 7, None)
    assert bench.out.read_text() == "ready\ncleaned up\n"
    assert result.seconds < 15


@pytest.mark.slow
def test_sigterm_comes_once_to_each_process_also_in_other_sessions(bench: Bench) -> None:
    script = """
import os, signal, sys, time
heard = []
signal.signal(signal.SIGTERM, lambda *_: heard.append(1))
if os.fork() == 0:
    os.setsid()
print("ready", flush=True)
end = time.monotonic() + 3
while time.monotonic() < end:
    time.sleep(0.05)
print("heard", len(heard), flush=True)
"""
    result = bench.python(script, limits=Limits(minutes=1.5 / 60, grace_seconds=20))
    assert result.ended is Ended.TIMED_OUT
    assert sorted(bench.out.read_text().splitlines()) == ["heard 1", "heard 1", "ready", "ready"]
    assert result.leftover_processes == 0


@pytest.mark.slow
def test_who_ignores_sigterm_is_killed_after_the_grace(bench: Bench) -> None:
    result = bench.python(STUBBORN, limits=Limits(minutes=1.0 / 60, grace_seconds=0.5))
    assert bench.alive() == []
    assert (result.ended, result.signal) == (Ended.TIMED_OUT, signal.SIGKILL)
    assert bench.out.read_text() == "deaf\n"
    assert 1.5 <= result.seconds < 10
    assert result.leftover_processes == 0, "the command itself is no leftover"


def test_a_whole_tree_that_ignores_sigterm_is_killed(bench: Bench) -> None:
    script = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for depth in range(6):
    if os.fork():
        break
    if depth % 2:
        os.setsid()
print("deaf", flush=True)
while True:
    time.sleep(1)
"""
    result = bench.python(script, limits=QUICK)
    assert bench.alive() == []
    assert bench.out.read_text() == "deaf\n" * 7
    assert result.leftover_processes == 6


def test_a_stopped_process_is_ended_too(bench: Bench) -> None:
    result = bench.shell("sleep 300 & kill -STOP $!; kill -STOP $$", limits=QUICK)
    assert bench.alive() == []
    assert (result.ended, result.signal) == (Ended.TIMED_OUT, signal.SIGTERM)


def test_a_descendant_that_adopts_orphans_itself_is_ended_with_them(bench: Bench) -> None:
    adopter = "import ctypes; assert ctypes.CDLL(None).prctl(36, 1, 0, 0, 0) == 0\n" + DAEMON
    result = bench.python(adopter + "time.sleep(60)", str(bench.folder), limits=QUICK)
    assert bench.alive() == []
    assert result.ended is Ended.TIMED_OUT


def test_a_crowd_that_starts_others_faster_than_one_can_count_is_ended(bench: Bench) -> None:
    # Forty processes, each of which forks and goes, all the time: no list of them is ever right.
    # They stop by themselves after ten thousand forks, so that they never cost the machine its ids.
    script = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(40):
    if os.fork() == 0:
        os.setsid()
        for _ in range(250):
            time.sleep(0.04)
            if os.fork():
                break
        os._exit(0)
print("away", flush=True)
"""
    started = time.monotonic()
    result = bench.python(script)
    assert bench.alive() == []
    assert result.ended is Ended.EXITED
    assert result.leftover_processes >= 40
    assert time.monotonic() - started < 10, "they had stopped by themselves"


@pytest.mark.slow
def test_a_fork_bomb_of_a_few_hundred_is_ended(bench: Bench) -> None:
    script = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
for _ in range(8):
    os.fork()
open(f"up.{os.getpid()}", "w").close()
while True:
    time.sleep(1)
"""
    result = bench.python(script, limits=Limits(minutes=3 / 60, grace_seconds=0.2))
    assert bench.alive() == []
    assert result.ended is Ended.TIMED_OUT
    made = len(list(bench.folder.glob("up.*")))
    assert made > 100
    assert result.leftover_processes == made - 1


def test_no_process_lives_to_answer_the_death_of_another(bench: Bench) -> None:
    # Sixty in a ring: each notices at once when the next one dies, and starts another then.
    script = """
import os, signal, time
ring = 60
pipes = [os.pipe() for _ in range(ring)]
for own in range(ring):
    if os.fork() == 0:
        os.setsid()
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        keep = {pipes[own][1], pipes[(own + 1) % ring][0]}
        for file in {file for pair in pipes for file in pair} - keep:
            os.close(file)
        open(f"up.{own}", "w").close()
        os.read(pipes[(own + 1) % ring][0], 1)
        if os.fork() == 0:
            open(f"answered.{own}", "w").close()
            time.sleep(20)
        os._exit(0)
while len([name for name in os.listdir(".") if name.startswith("up.")]) < ring:
    time.sleep(0.01)
"""
    result = bench.python(script)
    assert bench.alive() == []
    assert list(bench.folder.glob("answered.*")) == []
    assert result.leftover_processes == 60


def test_two_that_revive_each_other_are_ended(bench: Bench) -> None:
    script = """
import os, signal, sys, time
end = time.monotonic() + 20
def watch(other):
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    os.setsid()
    while time.monotonic() < end:
        try:
            os.kill(other, 0)
            state = open(f"/proc/{other}/stat").read().rpartition(") ")[2][0]
        except OSError:
            state = "X"
        if state in "ZX":
            mine = os.getpid()
            other = os.fork() or watch(mine)
    os._exit(0)
if os.fork() == 0:
    mine = os.getpid()
    watch(os.fork() or watch(mine))
time.sleep(0.3)
"""
    result = bench.python(script)
    assert bench.alive() == []
    assert result.ended is Ended.EXITED
    assert result.leftover_processes >= 2


@pytest.mark.slow
def test_cancelling_ends_all_of_it_as_a_time_limit_would(bench: Bench) -> None:
    cancel = threading.Event()

    def when_ready() -> None:
        bench.wait_for("daemon.*")
        cancel.set()

    thread = threading.Thread(target=when_ready)
    thread.start()
    result = bench.python(DAEMON + "time.sleep(60)", str(bench.folder), cancel=cancel)
    thread.join()
    assert bench.alive() == []
    assert (result.ended, result.signal) == (Ended.CANCELLED, signal.SIGTERM)
    assert result.leftover_processes == 1
    assert result.seconds < 10


def test_a_command_cancelled_before_it_starts_is_cancelled(bench: Bench) -> None:
    cancel = threading.Event()
    cancel.set()
    result = bench.run("sleep", "60", cancel=cancel)
    assert result.ended is Ended.CANCELLED
    assert bench.alive() == []


def test_cancelling_after_the_end_changes_nothing(bench: Bench) -> None:
    cancel = threading.Event()
    result = bench.shell("exit 3", cancel=cancel)
    cancel.set()
    assert (result.ended, result.exit_code) == (Ended.EXITED, 3)


def test_an_agent_that_takes_its_own_folder_away_is_told_right(bench: Bench) -> None:
    home = bench.folder / "workspace"
    home.mkdir()
    result = bench.shell("rm -r ../workspace; echo gone; exit 4", cwd=home)
    assert (result.ended, result.exit_code) == (Ended.EXITED, 4)
    assert bench.out.read_text() == "gone\n"


def test_an_agent_that_takes_all_permissions_away_is_told_right(bench: Bench) -> None:
    home = bench.folder / "workspace"
    home.mkdir()
    script = "echo x > file; chmod 000 file . ../stdout.txt; chmod 500 ..; echo still here; exit 5"
    try:
        result = bench.shell(script, cwd=home)
    finally:
        bench.folder.chmod(0o755)
        home.chmod(0o755)
        bench.out.chmod(0o644)
    assert (result.ended, result.exit_code) == (Ended.EXITED, 5)
    assert bench.out.read_text() == "still here\n"


def test_an_agent_that_removes_its_output_file_is_told_right(bench: Bench) -> None:
    result = bench.shell("rm stdout.txt; echo into nothing; exit 6")
    assert (result.ended, result.exit_code, result.stdout_bytes) == (Ended.EXITED, 6, 13)


def test_no_zombie_is_left_to_the_runner(bench: Bench) -> None:
    before = set(children_of(os.getpid())) - process._server.known()
    bench.python(DAEMON, str(bench.folder))
    bench.shell("kill -9 $PPID; sleep 60")
    assert set(children_of(os.getpid())) - process._server.known() == before


@pytest.mark.parametrize("code", [0, 3])
def test_a_main_process_that_ends_in_its_grace_is_told_with_its_status(
    bench: Bench, code: int
) -> None:
    result = bench.shell(f"trap 'exit {code}' TERM; sleep 300 & wait", limits=QUICK)
    assert (result.ended, result.exit_code) == (Ended.TIMED_OUT, code)
    assert not result.ok
