"""A command gets what it is given and nothing of the runner."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trialbook.model.process import Ended
from trialbook.model.suite import Limits

if TYPE_CHECKING:
    from tests.supervision.conftest import Bench


def test_the_environment_is_exactly_the_given_one(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "do-not-tell")
    bench.run("/usr/bin/env", environment={"ONLY": "this", "ü": "ä"})
    assert sorted(bench.out.read_text().splitlines()) == ["ONLY=this", "ü=ä"]


def test_the_supervisor_shows_nothing_of_the_runners_environment(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_KEY", "do-not-tell")
    bench.shell("cat /proc/$PPID/environ")
    assert bench.out.read_bytes() == b""


def test_standard_input_is_empty_and_never_the_runners(bench: Bench) -> None:
    reader, writer = os.pipe()
    os.write(writer, b"typed by the operator\n")
    saved = os.dup(0)
    os.dup2(reader, 0)
    try:
        result = bench.shell("cat; readlink /proc/self/fd/0")
    finally:
        os.dup2(saved, 0)
        for file in (saved, reader, writer):
            os.close(file)
    assert result.ok
    assert bench.out.read_text() == "/dev/null\n"


def test_a_prompt_for_input_meets_the_end_of_file(bench: Bench) -> None:
    result = bench.python("input('continue? ')")
    assert result.exit_code == 1
    assert "EOFError" in bench.err.read_text()


def test_standard_input_is_the_file_given_of_any_size(bench: Bench) -> None:
    prompt = bench.folder / "prompt.md"
    prompt.write_bytes(b"\x00\xff prompt \n" * 500_000)
    result = bench.shell("sha256sum", stdin=prompt)
    assert result.ok
    control = bench.shell(f"sha256sum < {prompt}", stdout=bench.folder / "control")
    assert control.ok
    assert bench.out.read_text() == (bench.folder / "control").read_text()


def test_no_descriptor_but_the_three_is_open(bench: Bench) -> None:
    file = os.open("/dev/null", os.O_RDONLY)
    os.set_inheritable(file, True)
    try:
        bench.python("import os; print(sorted(int(n) for n in os.listdir('/proc/self/fd'))[:-1])")
    finally:
        os.close(file)
    assert bench.out.read_text() == "[0, 1, 2]\n"


def test_it_has_no_terminal_and_a_session_of_its_own(bench: Bench) -> None:
    bench.python(
        "import os; print(os.getsid(0) == os.getpid() == os.getpgrp(), os.getsid(os.getppid()) "
        "!= os.getsid(0), [os.isatty(n) for n in (0, 1, 2)])"
    )
    assert bench.out.read_text() == "True True [False, False, False]\n"
    assert bench.shell("exec 3<>/dev/tty").exit_code != 0


def test_signals_are_as_a_program_expects_them(bench: Bench) -> None:
    old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    try:
        bench.shell("grep -E '^Sig(Blk|Ign):' /proc/self/status")
    finally:
        signal.signal(signal.SIGHUP, old)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGUSR1})
    # The C library keeps some numbers for itself: whoever ignores them, nobody can change that.
    known = sum(1 << (number - 1) for number in signal.valid_signals())
    masks = [int(line.split()[1], 16) for line in bench.out.read_text().splitlines()]
    assert [mask & known for mask in masks] == [0, 0]


def test_umask_core_files_and_folder_are_set(bench: Bench) -> None:
    old = os.umask(0o077)
    try:
        bench.shell("umask; ulimit -c; pwd -P; : > made")
    finally:
        os.umask(old)
    assert bench.out.read_text().split() == ["0022", "0", os.path.realpath(bench.folder)]
    assert (bench.folder / "made").stat().st_mode & 0o777 == 0o644
    assert bench.out.stat().st_mode & 0o777 == 0o644


def test_priority_is_the_runners(bench: Bench) -> None:
    bench.python("import os; print(os.getpriority(os.PRIO_PROCESS, 0))")
    assert bench.out.read_text() == f"{os.getpriority(os.PRIO_PROCESS, 0)}\n"


def test_names_that_are_no_text_reach_the_command(bench: Bench) -> None:
    name = os.fsdecode(b"caf\xe9 \xf0\x9f\x90\x8d")
    folder = bench.folder / name
    folder.mkdir()
    result = bench.python(
        "import os, sys; print(os.fsencode(sys.argv[1]), os.getcwdb().split(b'/')[-1])",
        name,
        cwd=folder,
    )
    assert result.ok
    said = repr(os.fsencode(name))
    assert bench.out.read_text() == f"{said} {said}\n"


def test_files_may_be_larger_than_the_limit_for_patches(bench: Bench) -> None:
    result = bench.shell("head -c 3000000 /dev/zero > large", limits=Limits(minutes=1, file_mb=1))
    assert result.ok
    assert (bench.folder / "large").stat().st_size == 3_000_000


def test_the_number_of_processes_is_limited_where_the_system_does_it(bench: Bench) -> None:
    script = """
import os, sys, time
made = 0
try:
    for _ in range(200):
        if os.fork() == 0:
            time.sleep(30)
            os._exit(0)
        made += 1
except BlockingIOError:
    pass
print(made)
"""
    result = bench.python(script, limits=Limits(minutes=1, processes=20))
    assert result.ended is Ended.EXITED
    made = int(bench.out.read_text())
    assert made == 200 if os.geteuid() == 0 else made <= 20
    assert bench.alive() == []


def test_another_process_of_the_user_may_not_look_into_the_supervisor(bench: Bench) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may look into everything")
    bench.python("import os; print(os.listdir(f'/proc/{os.getppid()}/fd'))")
    assert "PermissionError" in bench.err.read_text()


def test_the_interpreter_of_the_supervisor_reads_nothing_of_the_workspace(
    bench: Bench, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("signal.py", "select.py", "sitecustomize.py", "usercustomize.py", "trialbook.py"):
        (bench.folder / name).write_text("raise SystemExit('planted')\n")
    monkeypatch.setenv("PYTHONPATH", str(bench.folder))
    monkeypatch.chdir(bench.folder)
    assert bench.run(sys.executable, "-c", "import signal").exit_code == 1, "the plant works"
    assert bench.run("/bin/true").ok
    assert Path.cwd() == Path(os.path.realpath(bench.folder))


_KEYS = """
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
ADD, KEYCTL = {"x86_64": (248, 250), "aarch64": (217, 219)}[os.uname().machine]
SESSION, JOIN, SEARCH, READ = -3, 1, 10, 11
"""
_HOLD = (
    _KEYS
    + """
assert libc.syscall(KEYCTL, JOIN, None) > 0
assert libc.syscall(ADD, b"user", b"ticket", b"of the operator", 15, SESSION) > 0
os.execv(sys.argv[1], sys.argv[1:])
"""
)
_TAKE = (
    _KEYS
    + """
held = ctypes.create_string_buffer(15)
key = libc.syscall(KEYCTL, SEARCH, SESSION, b"user", b"ticket", 0)
libc.syscall(KEYCTL, READ, key, held, 15)
print(held.raw.strip(b"\\0").decode() or "nothing")
"""
)
_RUN = """
import sys
from pathlib import Path
from trialbook.model.process import Command
from trialbook.model.suite import Limits
from trialbook.process import run
out = Path(sys.argv[1])
argv = tuple(sys.argv[2:])
command = Command(argv=argv, cwd=out.parent, environment={}, stdout=out, stderr=out)
assert run(command, Limits(minutes=1)).ok, out.read_text()
"""


@pytest.mark.skipif(
    sys.platform != "linux" or os.uname().machine not in ("x86_64", "aarch64"),
    reason="keys of the kernel, by numbers of two architectures",
)
def test_the_kernels_keys_of_whoever_logged_in_are_out_of_reach(tmp_path: Path) -> None:
    out = tmp_path / "said"
    python = sys.executable
    hold, take = [python, "-c", _HOLD], [python, "-c", _TAKE]
    # The control: whatever else the holder starts reads the key.
    control = subprocess.run([*hold, *take], capture_output=True, text=True, check=False)
    if control.returncode != 0 and not os.environ.get("CI"):
        pytest.skip(f"this kernel keeps no keys: {control.stderr}")
    assert control.stdout == "of the operator\n", control.stderr
    subprocess.run([*hold, python, "-c", _RUN, str(out), *take], check=True)
    assert out.read_text() == "nothing\n"
