"""What every backend that isolates promises: endings, limits, nothing left behind."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from tests.plugins.sandboxes.conftest import Bench, alive

from trialbook.api import Ended, EnvironmentProblem, Limits, Sandbox
from trialbook.process import run
from trialbook.storage.files import remove_tree
from trialbook.testing import check_sandbox

pytestmark = [pytest.mark.slow]

BACKENDS = ["bubblewrap", "podman", "docker"]
every = pytest.mark.parametrize("backend", BACKENDS)

RUNNER = """
import sys
from pathlib import Path
from trialbook.api import Command, Limits, Network, Policy
from trialbook.process import run
from tests.plugins.sandboxes.conftest import make

workspace = Path(sys.argv[2])
command = Command(
    argv=("/bin/sh", "-c", sys.argv[3]), cwd=workspace, environment={"PATH": "/usr/bin:/bin"},
    stdout=workspace.parent / "out", stderr=workspace.parent / "err",
)
policy = Policy(writable=(workspace,), network=Network(mode="none"), limits=Limits(minutes=3.0))
make(sys.argv[1]).start(command, policy, run)
"""


def number() -> str:
    """Seconds to sleep that nobody else sleeps: a word to find a process by."""
    return f"600.{int.from_bytes(os.urandom(4))}"


@every
def test_it_conforms(backend: str, sandbox: Sandbox, tmp_path: Path) -> None:
    check_sandbox(sandbox, tmp_path)


@every
def test_nothing_lives_when_it_returns(backend: str, bench: Bench) -> None:
    # bubblewrap itself is back before its namespace is empty; the supervisor is not.
    runs = 40 if backend == "bubblewrap" else 4
    for _ in range(runs):
        word = number()
        script = f"for i in 1 2 3 4 5 6 7 8; do setsid sleep {word} & done; echo started"
        result = bench.shell(script, limits=Limits(minutes=1.0, processes=40, memory_mb=200.0))
        assert not alive(word)
        assert result.ok
        assert bench.said() == "started\n"
        assert result.leftover_processes is None, "they end with the namespace, uncounted"


@every
def test_a_polite_end_is_heard_and_a_daemon_does_not_outlive_it(backend: str, bench: Bench) -> None:
    word = number()
    script = (
        f"setsid sleep {word} &\n"
        "trap 'echo asked; exit 3' TERM\n"
        "echo ready; while :; do sleep 0.1; done"
    )
    result = bench.shell(script, limits=Limits(minutes=3.0 / 60, grace_seconds=5.0))
    assert result.ended is Ended.TIMED_OUT
    assert bench.said().splitlines() == ["ready", "asked"]
    assert not alive(word)


@every
def test_who_runs_it_may_be_a_thread_that_ends_soon(backend: str, bench: Bench) -> None:
    # A sandbox that dies with its parent follows the thread that started it.
    results = []
    lock = threading.Lock()

    def one(number: int) -> None:
        own = Bench(bench.sandbox, bench.folder / f"thread-{number}")
        result = own.shell("sleep 0.5; echo done")
        with lock:
            results.append((result.ok, own.said()))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(one, range(4)))
    thread = threading.Thread(target=one, args=(9,))
    thread.start()
    thread.join()
    assert results == [(True, "done\n")] * 5


@every
def test_after_the_runner_is_killed_nothing_of_it_is_left(
    backend: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    word = number()
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    script = f"setsid sleep {word} & : > here; sleep {word}"
    runner = subprocess.Popen(
        [sys.executable, "-c", RUNNER, backend, str(workspace), script],
        cwd=Path(__file__).parents[3],
        stderr=subprocess.DEVNULL,
    )
    until = time.monotonic() + 60
    while not (workspace / "here").exists() and time.monotonic() < until:
        time.sleep(0.05)
    assert alive(word)
    runner.send_signal(signal.SIGKILL)
    runner.wait()
    if backend != "bubblewrap":
        time.sleep(1.0)
        # A container may live on; whoever comes next removes it.
        sandbox.available(run)
    until = time.monotonic() + 20
    while alive(word) and time.monotonic() < until:
        time.sleep(0.05)
    assert not alive(word)


@every
def test_going_over_the_memory_limit_is_told_from_a_crash(backend: str, bench: Bench) -> None:
    if "memory_mb" not in bench.sandbox.available(run).limits:
        pytest.skip("memory cannot be held here, and it says so")
    limits = Limits(minutes=1.0, memory_mb=100.0)
    result = bench.python("held = b'x' * 300_000_000", limits=limits)
    assert not result.ok
    assert result.memory_killed
    result = bench.shell("kill -KILL $$", limits=limits)
    assert not result.ok
    assert not result.memory_killed


@every
def test_temporary_folders_are_fresh_memory_of_limited_size(backend: str, bench: Bench) -> None:
    script = (
        'touch /tmp/a "$1/a" || exit 9\n'
        "head -c 600000000 /dev/zero > /tmp/big 2>/dev/null && exit 1\n"
        'rm /tmp/big; head -c 600000000 /dev/zero > "$1/big" 2>/dev/null && exit 2\n'
        'rm "$1/big"; head -c 200000000 /dev/zero > /dev/shm/big 2>/dev/null && exit 3\n'
        "exit 0"
    )
    scratch = bench.folder / "1" / "tmp"
    result = bench.shell(script, str(scratch))
    assert result.exit_code == 0, bench.said("stderr")
    assert not list(scratch.iterdir())


@every
def test_a_program_that_the_sandbox_does_not_show_is_our_failure(
    backend: str, bench: Bench, tmp_path: Path
) -> None:
    hidden = tmp_path / "bin" / "agent"
    hidden.parent.mkdir()
    hidden.write_text("#!/bin/sh\necho hello\n")
    hidden.chmod(0o755)
    result = bench.start(str(hidden))
    assert result.ended is Ended.NOT_STARTED
    assert "does not show" in result.message
    assert bench.start(str(hidden), readable=(hidden.parent,)).ok
    assert bench.said() == "hello\n"


@every
def test_a_folder_that_is_not_there_is_our_failure(backend: str, bench: Bench) -> None:
    with pytest.raises(EnvironmentProblem, match="there is no"):
        bench.shell("true", readable=(Path("/no/such-folder"),))


@every
def test_what_may_only_be_read_cannot_be_changed_even_inside_a_writable_folder(
    backend: str, bench: Bench
) -> None:
    outside = bench.folder / "files"
    outside.mkdir()
    (outside / "a.txt").write_text("a")
    kept = bench.folder / "kept"
    (kept / "tests").mkdir(parents=True)
    (kept / "tests" / "test_a.py").write_text("frozen")
    script = (
        'cat "$1/a.txt" && ! touch "$1/a.txt" && cd "$2" && ! touch tests/test_a.py && touch made'
    )
    result = bench.shell(
        script,
        str(outside),
        str(kept),
        writable=(kept,),
        readable=(outside, kept / "tests"),
    )
    assert result.ok, bench.said("stderr")
    assert (kept / "made").exists()
    assert (kept / "tests" / "test_a.py").read_text() == "frozen"
    assert (outside / "a.txt").read_text() == "a"


@every
def test_a_link_in_the_way_of_a_protected_folder_is_refused(backend: str, bench: Bench) -> None:
    kept = bench.folder / "kept"
    kept.mkdir()
    (kept / "tests").symlink_to("/etc")
    with pytest.raises(EnvironmentProblem, match="leads out"):
        bench.shell("true", writable=(kept,), readable=(kept / "tests",))


@every
def test_values_of_variables_are_in_no_list_of_processes(backend: str, bench: Bench) -> None:
    secret = f"secret-{os.urandom(8).hex()}"
    bench.environment = {"API_KEY": secret, "ODD": "two\nlines 'quoted' $HOME"}
    seen: list[str] = []
    over = threading.Event()

    def look() -> None:
        while not over.is_set():
            for entry in Path("/proc").iterdir():
                if entry.name.isdigit():
                    try:
                        line = (entry / "cmdline").read_bytes()
                    except OSError:
                        continue
                    if secret.encode() in line:
                        seen.append(line.decode(errors="replace"))

    thread = threading.Thread(target=look)
    thread.start()
    result = bench.shell('sleep 0.5; printf "%s|%s" "$API_KEY" "$ODD"')
    over.set()
    thread.join()
    assert result.ok
    assert bench.said() == f"{secret}|two\nlines 'quoted' $HOME"
    assert not seen


@every
def test_it_is_not_root_and_owns_what_it_makes(backend: str, bench: Bench) -> None:
    result = bench.shell("id -u; : > made; id -un; grep Cap /proc/self/status")
    assert result.ok
    lines = bench.said().split()
    assert lines[0] != "0"
    assert lines[1] == "agent"
    assert set(lines[3::2]) == {"0" * 16}, "no capability of any kind"
    owner = (bench.workspace / "made").stat().st_uid
    assert owner != 0
    assert owner == os.geteuid() or os.geteuid() == 0


@every
def test_output_is_kept_apart_and_input_is_empty(backend: str, bench: Bench) -> None:
    result = bench.shell("cat; echo out; echo err >&2; exit 4")
    assert result.exit_code == 4
    assert (bench.said(), bench.said("stderr")) == ("out\n", "err\n")


@every
def test_deep_and_odd_things_in_a_workspace_are_no_hindrance(backend: str, bench: Bench) -> None:
    code = (
        "import os, sys\nos.chdir(sys.argv[1])\n"
        "os.mkfifo('pipe'); os.symlink('/etc/shadow', 'link')\n"
        "for _ in range(300):\n    os.mkdir('d' * 100); os.chdir('d' * 100)\n"
        "os.chmod('.', 0)\n"
    )
    kept = bench.folder / "kept"
    kept.mkdir()
    shadow = Path("/etc/shadow").stat()
    assert bench.python(code, str(kept), writable=(kept,)).ok, bench.said("stderr")
    # The next start hands all of it over once more.
    assert bench.shell('touch "$1/made"', str(kept), writable=(kept,)).ok, bench.said("stderr")
    assert (Path("/etc/shadow").stat().st_uid, shadow.st_uid) == (0, 0)
    remove_tree(kept)
