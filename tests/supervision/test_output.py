"""Output is kept up to a limit, counted beyond it, and never holds anything up."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trialbook.model.process import Ended
from trialbook.model.suite import Limits

if TYPE_CHECKING:
    from tests.supervision.conftest import Bench

SMALL = Limits(minutes=1, output_mb=0.001)

# Takes a descriptor over a socket and writes to it for ever.
OUTSIDER = """
import os, socket, sys
server = socket.socket(socket.AF_UNIX)
server.bind(sys.argv[1])
server.listen()
print("ready", flush=True)
peer, _ = server.accept()
_, files, _, _ = socket.recv_fds(peer, 10, 1)
while True:
    os.write(files[0], b"x" * 65536)
"""


def test_output_is_kept_byte_for_byte(bench: Bench) -> None:
    raw = bytes(range(256)) * 1000 + b"\x1b]52;c;x\x07\xe2\x80\xae</script>{{ 7*7 }}"
    (bench.folder / "raw").write_bytes(raw)
    result = bench.shell("cat raw; cat raw raw >&2")
    assert bench.out.read_bytes() == raw
    assert bench.err.read_bytes() == raw * 2
    assert (result.stdout_bytes, result.stderr_bytes) == (len(raw), 2 * len(raw))
    assert not result.output_cut


def test_older_output_is_replaced(bench: Bench) -> None:
    bench.out.write_text("older and longer")
    bench.shell("echo new")
    assert bench.out.read_text() == "new\n"


def test_both_streams_may_go_to_one_file_in_their_order(bench: Bench) -> None:
    result = bench.shell("for n in 1 2 3; do echo o$n; echo e$n >&2; done", stderr=bench.out)
    assert bench.out.read_text().split() == ["o1", "e1", "o2", "e2", "o3", "e3"]
    assert (result.stdout_bytes, result.stderr_bytes) == (18, 0)


def test_a_limit_that_is_just_met_cuts_nothing(bench: Bench) -> None:
    result = bench.shell("head -c 1000 /dev/zero", limits=SMALL)
    assert not result.output_cut
    assert bench.out.read_bytes() == bytes(1000)


def test_one_byte_over_the_limit_is_marked(bench: Bench) -> None:
    result = bench.shell("head -c 1001 /dev/zero | tr '\\0' x; echo short >&2", limits=SMALL)
    assert result.output_cut
    assert result.stdout_bytes == 1001
    assert bench.out.read_text() == (
        "x" * 1000 + "\n[trialbook: output cut here; 1 more bytes were dropped]\n"
    )
    assert bench.err.read_text() == "short\n"


def test_the_mark_stands_on_a_line_of_its_own(bench: Bench) -> None:
    bench.shell("yes line | head -c 2000", limits=SMALL)
    lines = bench.out.read_text().splitlines()
    assert lines[-1] == "[trialbook: output cut here; 1000 more bytes were dropped]"
    assert lines[-2] == "line"


def test_a_limit_of_nothing_keeps_nothing(bench: Bench) -> None:
    result = bench.shell("echo hello", limits=Limits(minutes=1, output_mb=0))
    assert (result.stdout_bytes, result.output_cut) == (6, True)
    assert bench.out.read_text() == "[trialbook: output cut here; 6 more bytes were dropped]\n"


def test_without_a_limit_all_is_kept(bench: Bench) -> None:
    limits = Limits(minutes=1, output_mb=None)
    result = bench.shell("head -c 15000000 /dev/zero", limits=limits)
    assert not result.output_cut
    assert bench.out.stat().st_size == result.stdout_bytes == 15_000_000


def test_a_flood_of_200_megabytes_is_cut_and_does_not_block(bench: Bench) -> None:
    result = bench.shell(
        "head -c 200000000 /dev/zero & head -c 200000000 /dev/zero >&2; wait; echo done > finished",
        limits=Limits(minutes=1, output_mb=2),
    )
    assert result.ok
    assert (bench.folder / "finished").is_file()
    assert (result.stdout_bytes, result.stderr_bytes) == (200_000_000, 200_000_000)
    for path in (bench.out, bench.err):
        assert 2_000_000 < path.stat().st_size < 2_000_200
        assert path.read_bytes().endswith(b"output cut here; 198000000 more bytes were dropped]\n")


def test_a_flood_without_end_is_ended_by_the_time_limit(bench: Bench) -> None:
    limits = Limits(minutes=0.5 / 60, grace_seconds=0.2, output_mb=0.001)
    result = bench.run("yes", limits=limits)
    assert result.ended is Ended.TIMED_OUT
    assert result.stdout_bytes > 1_000_000
    assert bench.out.stat().st_size < 1200


def test_the_last_output_before_a_kill_is_kept(bench: Bench) -> None:
    bench.python("import os, sys; sys.stdout.write('x' * 60000); sys.stdout.flush(); os.abort()")
    assert bench.out.stat().st_size == 60000


def test_a_daemon_that_holds_the_pipe_does_not_hold_up_the_report(bench: Bench) -> None:
    script = "setsid sleep 60 & echo started"
    started = time.monotonic()
    with subprocess.Popen(
        ["/bin/sh", "-c", script], stdout=subprocess.PIPE, env=bench.environment
    ) as control:
        with pytest.raises(subprocess.TimeoutExpired):
            control.communicate(timeout=1)  # the control: a plain reader waits for the daemon
        bench.kill_all()
    result = bench.shell(script)
    assert result.ok
    assert result.leftover_processes == 1
    assert bench.out.read_text() == "started\n"
    assert time.monotonic() - started < 20


def test_somebody_outside_the_tree_who_holds_the_pipe_does_not_hold_up_the_report(
    bench: Bench,
) -> None:
    # Handed out of the tree over a socket, the pipe stays open after everything inside is dead.
    address = str(bench.folder / "socket")
    outside = subprocess.Popen([sys.executable, "-c", OUTSIDER, address], stdout=subprocess.PIPE)
    try:
        assert outside.stdout is not None
        assert outside.stdout.readline() == b"ready\n"
        result = bench.python(
            "import socket, sys, time\n"
            "peer = socket.socket(socket.AF_UNIX); peer.connect(sys.argv[1])\n"
            "socket.send_fds(peer, [b'x'], [1]); time.sleep(0.3)\n",
            address,
            limits=Limits(minutes=1, output_mb=1),
        )
        assert result.ok
        assert result.output_cut
        assert bench.out.stat().st_size < 1_000_200
    finally:
        outside.kill()
        outside.communicate()


@pytest.fixture
def tiny_disk(tmp_path: Path) -> Iterator[Path]:
    if os.geteuid() != 0:
        pytest.skip("only root can mount a small file system")
    folder = tmp_path / "tiny"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)], check=False
    )
    if made.returncode != 0:
        pytest.skip("no small file system can be mounted here")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_full_disk_stops_neither_the_command_nor_the_report(
    bench: Bench, tiny_disk: Path
) -> None:
    out = tiny_disk / "stdout.txt"
    result = bench.shell("head -c 1000000 /dev/zero; echo done > finished", stdout=out)
    assert result.ok
    assert (bench.folder / "finished").is_file()
    assert result.stdout_bytes == 1_000_000
    assert result.output_cut
    assert re.fullmatch("output could not be kept: .*No space left.*", result.message)
    assert out.stat().st_size <= 65536
