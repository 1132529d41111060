"""Supervisors come from one process that forks them; to the runner they are its own children."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from tests.supervision.conftest import wait_until
from tests.supervision.test_broken_chain import RUNNER

from trialbook import process
from trialbook.model.process import Ended
from trialbook.model.suite import Limits
from trialbook.supervision import adoption
from trialbook.supervision.descendants import children_of
from trialbook.supervision.forked import ForkServer

if TYPE_CHECKING:
    from tests.supervision.conftest import Bench

SLEEPER = "import time; open('daemon.1', 'w'); time.sleep(300)"
PARENTS = "echo $PPID $(cut -d' ' -f4 /proc/$PPID/stat)"


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[ForkServer]:
    """A server of the test's own."""
    own = ForkServer(process._start_server)
    monkeypatch.setattr(process, "_server", own)
    yield own
    own.close()


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2][0] not in "ZX"
    except OSError:
        return False


def entries(folder: str) -> int:
    return len(list(Path(folder).iterdir()))


def test_each_command_has_a_supervisor_of_its_own_that_is_a_child_of_the_runner(
    bench: Bench, server: ForkServer
) -> None:
    seen = set()
    for _ in range(3):
        assert bench.shell(PARENTS).ok
        supervisor, parent = map(int, bench.out.read_text().split())
        assert parent == os.getpid()
        assert supervisor != server.pid
        assert not Path(f"/proc/{supervisor}").exists(), "it was waited for"
        seen.add((supervisor, server.pid))
    assert len(seen) == 3
    assert len({pid for _, pid in seen}) == 1


@pytest.mark.skipif(os.geteuid() != 0, reason="only the administrator may look")
def test_a_supervisor_holds_nothing_of_the_server_or_of_another(
    bench: Bench, server: ForkServer
) -> None:
    cancel = threading.Event()
    first = threading.Thread(target=lambda: bench.python(SLEEPER, cancel=cancel))
    first.start()
    bench.wait_for("daemon.1")
    held = bench.folder / "held.txt"
    assert bench.shell("ls -l /proc/$PPID/fd; ls /proc/$PPID/fd | wc -l", stdout=held).ok
    cancel.set()
    first.join()
    *files, count = held.read_text().splitlines()
    assert not [line for line in files if "socket:" in line]
    # Both control pipes, an output each, a pipe each for it, and what wakes it up.
    assert int(count) <= 9, files
    assert server.pid


def test_the_server_knows_nothing_of_what_is_run(bench: Bench, server: ForkServer) -> None:
    secret = "s3cr3t-" + os.urandom(8).hex()
    assert bench.shell("true " + secret, environment={"KEY": secret}).ok
    try:
        maps = Path(f"/proc/{server.pid}/maps").read_text().splitlines()
        memory = Path(f"/proc/{server.pid}/mem").open("rb")  # noqa: SIM115
    except PermissionError:
        return  # nor may anybody look
    with memory:
        for line in maps:
            where, rights = line.split()[:2]
            if rights.startswith("rw"):
                start, end = (int(text, 16) for text in where.split("-"))
                memory.seek(start)
                assert secret.encode() not in memory.read(end - start)
    assert Path(f"/proc/{server.pid}/environ").read_bytes() == b""


def test_a_server_that_was_killed_is_replaced(bench: Bench, server: ForkServer) -> None:
    assert bench.shell("true").ok
    first = server.pid
    os.kill(first, signal.SIGKILL)
    assert bench.shell("exit 3").exit_code == 3
    assert bench.shell("exit 4").exit_code == 4
    assert server.pid not in {0, first}


def test_one_that_was_forked_ahead_and_is_gone_is_replaced(
    bench: Bench, server: ForkServer
) -> None:
    assert bench.shell("true").ok
    (ahead,) = server.known() - {server.pid}
    assert alive(ahead)
    os.kill(ahead, signal.SIGKILL)
    wait_until(lambda: not alive(ahead))
    assert bench.shell("exit 3").exit_code == 3
    assert not Path(f"/proc/{ahead}").exists(), "it was waited for"


def test_one_that_is_forked_ahead_is_no_orphan_of_a_lost_supervisor(
    bench: Bench, server: ForkServer
) -> None:
    assert bench.shell("true").ok
    result = bench.python("import os, time; os.kill(os.getppid(), 9); time.sleep(300)")
    assert result.ended is Ended.LOST
    assert result.leftover_processes == 1
    (ahead,) = server.known() - {server.pid}
    assert alive(ahead)
    assert bench.shell("echo $PPID").ok
    assert int(bench.out.read_text()) == ahead


def test_a_command_outlives_the_server_it_came_from(bench: Bench, server: ForkServer) -> None:
    result = bench.shell(f"sleep 0.2; kill -9 {_of(bench, server)}; sleep 0.3; exit 5")
    assert (result.ended, result.exit_code) == (Ended.EXITED, 5)
    assert result.leftover_processes == 0


def test_a_server_that_was_stopped_is_woken(bench: Bench, server: ForkServer) -> None:
    first = _of(bench, server)
    os.kill(first, signal.SIGSTOP)
    assert bench.shell("exit 3").exit_code == 3
    assert server.pid == first


@pytest.mark.parametrize("number", [1, 2, 3, 10, 12, 13, 14, 15, 20])
def test_other_signals_do_not_impress_the_server(
    bench: Bench, server: ForkServer, number: int
) -> None:
    first = _of(bench, server)
    assert bench.shell(f"kill -{number} {first}; sleep 0.1").ok
    assert bench.shell("true").ok
    assert server.pid == first


def test_a_lost_supervisor_does_not_take_the_server_with_it(
    bench: Bench, server: ForkServer
) -> None:
    first = _of(bench, server)
    result = bench.python("import os, time; os.fork(); os.kill(os.getppid(), 9); time.sleep(300)")
    assert result.ended is Ended.LOST
    assert bench.alive() == []
    assert alive(first)
    assert bench.shell("true").ok
    assert server.pid == first


@pytest.mark.parametrize("holds", [False, True])
def test_a_server_does_not_outlive_its_runner(bench: Bench, *, holds: bool) -> None:
    """Not even where a fork of the runner holds the socket open."""
    script = RUNNER + "\nimport os, time\n"
    script += "while not list(folder.glob('daemon.*')): time.sleep(0.01)\n"
    script += "known = ' '.join(map(str, process._server.known()))\n"
    script += "(folder / 'server').write_text(known)\n"
    script += "os.fork() or time.sleep(300)\n" if holds else ""
    arguments = [str(bench.folder), bench.mark, "1", SLEEPER]
    child = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", script, *arguments], start_new_session=True
    )
    try:
        bench.wait_for("server")
        wait_until(lambda: (bench.folder / "server").read_text() != "")
        known = [int(pid) for pid in (bench.folder / "server").read_text().split()]
        assert len(known) == 2
        time.sleep(0.2)
        assert all(map(alive, known))
        child.kill()
        child.wait()
        wait_until(lambda: not any(map(alive, known)))
        wait_until(lambda: not bench.alive())
    finally:
        os.killpg(child.pid, signal.SIGKILL) if holds else None


def test_a_runner_that_ends_leaves_no_server(bench: Bench) -> None:
    script = RUNNER + "\nfor thread in threading.enumerate()[1:]: thread.join()\n"
    script += "print(*process._server.known())\n"
    done = subprocess.run(
        [sys.executable, "-c", script, str(bench.folder), bench.mark, "2", "pass"],
        capture_output=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stderr == b""
    known = [int(pid) for pid in done.stdout.split()]
    assert len(known) == 2
    assert not any(map(alive, known))


def test_a_fork_of_the_runner_has_a_server_of_its_own(bench: Bench, server: ForkServer) -> None:
    first = _of(bench, server)
    child = os.fork()
    if child == 0:
        try:
            fine = bench.shell(PARENTS).ok and server.pid != first
            parent = int(bench.out.read_text().split()[1])
            server.close()
            os._exit(0 if fine and parent == os.getpid() else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert bench.shell("true").ok
    assert server.pid == first


def test_without_a_server_each_supervisor_is_started_anew(
    bench: Bench, server: ForkServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adoption, "adopt_orphans", lambda process: False)
    assert bench.shell(PARENTS).ok
    assert server.pid == 0
    assert int(bench.out.read_text().split()[1]) == os.getpid()


def test_a_server_that_does_not_do_its_part_is_given_up(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody else's answers on its socket: no id, one that is no child, half of one."""
    for answer in (b"\0\0\0\0", (1).to_bytes(4, "big"), b"\0\0", b""):

        def start(channel: socket.socket, answer: bytes = answer) -> subprocess.Popen[bytes]:
            script = f"import os, time; os.read(0, 1); os.write(0, {answer!r}); time.sleep(0.1)"
            return subprocess.Popen([sys.executable, "-S", "-c", script], stdin=channel.fileno())

        strange = ForkServer(start)
        monkeypatch.setattr(process, "_server", strange)
        assert bench.shell("exit 3").exit_code == 3
        assert strange.pid == 0


def test_a_hundred_commands_leave_no_descriptor_and_no_child(
    bench: Bench, server: ForkServer
) -> None:
    assert bench.shell("true").ok
    files, children = entries("/proc/self/fd"), set(children_of(os.getpid())) - server.known()
    threads = [
        threading.Thread(
            target=lambda: [process.run(bench.command("true"), _LIMITS) for _ in range(25)]
        )
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entries("/proc/self/fd") == files
    assert set(children_of(os.getpid())) - server.known() == children
    assert entries(f"/proc/{server.pid}/fd") <= 4


def _of(bench: Bench, server: ForkServer) -> int:
    assert bench.shell("true").ok
    assert server.pid
    return server.pid


_LIMITS = Limits(minutes=1)
