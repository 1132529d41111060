"""When runner or supervisor is taken out, nothing of the command is left either."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trialbook import process
from trialbook.model.process import Command, Ended, ProcessResult
from trialbook.model.suite import Limits

if TYPE_CHECKING:
    from tests.supervision.conftest import Bench

LEAVE_A_DAEMON = """
import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        open(f"daemon.{os.getpid()}", "w").close()
        time.sleep(300)
    os._exit(0)
os.wait()
while not [name for name in os.listdir(".") if name.startswith("daemon.")]:
    time.sleep(0.01)
"""
RUNNER = """
import sys, threading
from pathlib import Path
from trialbook import process
from trialbook.model.process import Command
from trialbook.model.suite import Limits

folder, mark, count, script = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]

def one(number):
    command = Command(
        argv=(sys.executable, "-S", "-c", script), cwd=folder, environment={"TRIAL_MARK": mark},
        stdout=folder / f"{number}.out", stderr=folder / f"{number}.err",
    )
    process.run(command, Limits(minutes=5))

for number in range(count):
    threading.Thread(target=one, args=(number,)).start()
"""


def runner(bench: Bench, script: str, count: int = 1) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-c", RUNNER, str(bench.folder), bench.mark, str(count), script]
    )


def wait_until_gone(bench: Bench, seconds: float = 10) -> None:
    deadline = time.monotonic() + seconds
    while bench.alive():
        assert time.monotonic() < deadline, f"still alive: {bench.alive()}"
        time.sleep(0.01)


def test_a_runner_that_is_killed_takes_every_command_and_daemon_with_it(bench: Bench) -> None:
    child = runner(bench, LEAVE_A_DAEMON + "time.sleep(300)", count=4)
    bench.wait_for("daemon.*", count=4)
    assert len(bench.alive()) >= 8
    child.kill()
    child.wait()
    wait_until_gone(bench)


def test_a_runner_that_is_asked_to_go_takes_a_stubborn_command_with_it(bench: Bench) -> None:
    script = "import signal, time; signal.signal(15, signal.SIG_IGN); open('daemon.1', 'w')\n"
    child = runner(bench, script + "while True: time.sleep(1)")
    bench.wait_for("daemon.*")
    child.terminate()
    child.wait()
    wait_until_gone(bench)


def test_an_agent_that_kills_the_runner_dies_as_well(bench: Bench) -> None:
    script = """
import os, signal, time
supervisor = os.getppid()
runner = int(open(f"/proc/{supervisor}/stat").read().rpartition(") ")[2].split()[1])
open("daemon.1", "w").close()
os.kill(runner, signal.SIGKILL)
time.sleep(300)
"""
    child = runner(bench, script)
    assert child.wait(20) == -signal.SIGKILL
    assert (bench.folder / "daemon.1").exists()
    wait_until_gone(bench)


def test_a_runner_that_is_killed_while_somebody_holds_its_pipes_is_missed_too(
    bench: Bench,
) -> None:
    # A fork of the runner inherits the control pipe, so that its end never comes.
    script = RUNNER + "\nimport os, time\n"
    script += "while not list(folder.glob('daemon.*')): time.sleep(0.01)\n"
    script += "os.fork() or time.sleep(300)\n"
    arguments = [str(bench.folder), bench.mark, "1", LEAVE_A_DAEMON + "time.sleep(300)"]
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script, *arguments], start_new_session=True
    )
    try:
        bench.wait_for("daemon.*")
        time.sleep(0.5)
        child.kill()
        child.wait()
        wait_until_gone(bench)
    finally:
        os.killpg(child.pid, signal.SIGKILL)


@pytest.mark.parametrize("repeat", range(3))
def test_an_agent_that_kills_its_supervisor_is_noticed_and_ended(bench: Bench, repeat: int) -> None:
    script = LEAVE_A_DAEMON + "os.kill(os.getppid(), signal.SIGKILL); time.sleep(300)"
    result = bench.python(script)
    assert bench.alive() == []
    assert result.ended is Ended.LOST
    assert result.exit_code is None
    assert result.signal is None
    assert result.leftover_processes == 2
    assert "ended by signal 9" in result.message
    assert not result.ok


def test_what_survives_a_supervisor_may_fork_on_and_is_ended(bench: Bench) -> None:
    script = """
import os, signal, time
supervisor = os.getppid()
for _ in range(10):
    if os.fork() == 0:
        os.setsid()
        for _ in range(1000):
            time.sleep(0.04)
            if os.fork():
                break
        os._exit(0)
os.kill(supervisor, signal.SIGKILL)
signal.pause()
"""
    started = time.monotonic()
    result = bench.python(script)
    assert bench.alive() == []
    assert result.ended is Ended.LOST
    # How many of them are alive at one moment is up to the scheduler.
    assert result.leftover_processes is None or result.leftover_processes >= 1
    assert time.monotonic() - started < 40, "they had stopped by themselves"


@pytest.mark.parametrize("number", [1, 2, 3, 10, 12, 13, 14, 15, 20])
def test_other_signals_do_not_impress_the_supervisor(bench: Bench, number: int) -> None:
    result = bench.shell(f"kill -{number} $PPID; sleep 0.1; exit 3")
    assert (result.ended, result.exit_code) == (Ended.EXITED, 3)


def test_a_supervisor_that_was_stopped_is_woken_and_keeps_the_time(bench: Bench) -> None:
    limits = Limits(minutes=1.0 / 60, grace_seconds=0.2)
    result = bench.shell("kill -STOP $PPID; sleep 300", limits=limits)
    assert bench.alive() == []
    assert result.ended is Ended.TIMED_OUT
    assert result.seconds < 5


def test_a_lost_command_takes_no_other_command_with_it(tmp_path: Path) -> None:
    """Eight at once: every second one kills its supervisor, the others come to their end."""
    results: dict[int, ProcessResult] = {}

    def one(number: int) -> None:
        folder = tmp_path / str(number)
        folder.mkdir()
        end = "os.kill(os.getppid(), 9); time.sleep(300)" if number % 2 else "sys.exit(number)"
        script = LEAVE_A_DAEMON + f"number = {number}; time.sleep(0.5); {end}"
        command = Command(
            argv=(sys.executable, "-S", "-c", script),
            cwd=folder,
            environment={"TRIAL_MARK": str(number)},
            stdout=folder / "out",
            stderr=folder / "err",
        )
        results[number] = process.run(command, Limits(minutes=1))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for number, result in results.items():
        daemon = next((tmp_path / str(number)).glob("daemon.*")).suffix[1:]
        assert not Path("/proc", daemon).exists()
        if number % 2:
            assert result.ended is Ended.LOST
        else:
            assert (result.ended, result.exit_code) == (Ended.EXITED, number)
            assert result.leftover_processes == 1


@pytest.mark.slow
def test_the_sweep_leaves_other_children_of_the_runner_alone(bench: Bench) -> None:
    ordinary = subprocess.Popen(["sleep", "60"])
    older = subprocess.Popen(["sleep", "60"], start_new_session=True)
    tool: list[int] = []

    def work() -> None:
        said = process.tool(
            ["/bin/sh", "-c", "sleep 1.5; echo done"],
            cwd=bench.folder,
            environment=bench.environment,
            timeout=30,
        )
        tool.append(said.code)

    thread = threading.Thread(target=work)
    time.sleep(0.05)
    thread.start()
    try:
        result = bench.shell("sleep 0.5; kill -9 $PPID; sleep 300", environment={"PATH": "/bin"})
        assert result.ended is Ended.LOST
        thread.join()
        assert tool == [0]
        assert ordinary.poll() is None
        assert older.poll() is None
    finally:
        for child in (ordinary, older):
            child.kill()
            child.wait()


def test_a_command_cannot_pass_itself_off_as_cancelled(bench: Bench) -> None:
    script = "open(f'/proc/{__import__(\"os\").getppid()}/fd/0', 'w').write('c')\n"
    result = bench.python(script + "import time; time.sleep(300)", limits=Limits(minutes=0.05))
    assert bench.alive() == []
    assert result.ended is (Ended.LOST if os.geteuid() == 0 else Ended.EXITED)
    assert not result.ok


def test_a_report_that_was_tampered_with_is_not_believed() -> None:
    from trialbook.supervision.protocol import read_report  # noqa: PLC0415

    whole = b"ended=exited\nexit_code=0\nsignal=\nseconds=1.5\nstdout_bytes=3\nend\n"
    result = read_report(whole)
    assert result is not None
    assert result.ok
    for wrong in (
        b"",
        b"end\n",
        whole[:-1],
        whole[:-4],
        whole.replace(b"exited", b"accepted"),
        whole.replace(b"exit_code=0", b"exit_code=zero"),
        whole.replace(b"1.5", b"nan"),
        whole.replace(b"1.5", b"inf"),
        b"\xff\xfe" * 30000 + b"end\n",
    ):
        assert read_report(wrong) is None


def test_an_interrupted_runner_ends_the_command_before_it_goes_on(bench: Bench) -> None:
    script = (
        RUNNER.split("for number", maxsplit=1)[0]
        + """
import os, time
def interrupt():
    while not list(folder.glob("daemon.*")):
        time.sleep(0.01)
    os.kill(os.getpid(), 2)
threading.Thread(target=interrupt).start()
try:
    one(0)
except KeyboardInterrupt:
    left = 0
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            left += mark.encode() in path.read_bytes()
        except OSError:
            pass
    print("left:", left)
"""
    )
    arguments = [str(bench.folder), bench.mark, "1", LEAVE_A_DAEMON + "time.sleep(300)"]
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], stdout=subprocess.PIPE, check=True, timeout=120
    )
    assert done.stdout == b"left: 0\n"
    assert bench.alive() == []
