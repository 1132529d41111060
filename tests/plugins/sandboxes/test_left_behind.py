from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from tests.plugins.sandboxes.conftest import Bench

from trialbook.api import Ended, EnvironmentProblem, Limits, Sandbox, plugin_folder
from trialbook.process import run
from trialbook.registry import Registry
from trialbook.workflow.sandboxes import need_sandboxes
from trialbook_sandboxes.engines import HOST_LABEL, NAME_PREFIX, this_host
from trialbook_sandboxes.left_behind import forget, left_behind, note

engines = pytest.mark.parametrize("backend", ["podman", "docker"])

RUNNER = """
import sys
from pathlib import Path
from tests.plugins.sandboxes.conftest import CLOSED, PATH, make
from trialbook.api import Command, Limits, Policy
from trialbook.process import run
backend, workspace = sys.argv[1], Path(sys.argv[2])
out = workspace.parent / "stdout.txt"
script = ": > here; sleep 120"
make(backend).start(
    Command(argv=("/bin/sh", "-c", script), cwd=workspace, environment={"PATH": PATH},
            stdout=out, stderr=out),
    Policy(writable=(workspace,), network=CLOSED, limits=Limits(minutes=5.0)),
    run,
)
"""


def containers(backend: str, owner: int) -> list[str]:
    """The containers of a runner, those that ended among them, by their names and our label."""
    label = f"label={HOST_LABEL}={this_host()}"
    listing = [backend, "ps", "--all", "--filter", label, "--format", "{{.Names}}"]
    names = subprocess.check_output(listing, text=True).split()
    return [name for name in names if name.startswith(f"{NAME_PREFIX}{owner}-")]


@contextmanager
def runner(backend: str, folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Another runner, whose command is at work."""
    workspace = folder / "workspace"
    workspace.mkdir(parents=True)
    made = subprocess.Popen(
        [sys.executable, "-c", RUNNER, backend, str(workspace)],
        cwd=Path(__file__).parents[3],
        stderr=subprocess.DEVNULL,
    )
    try:
        until = time.monotonic() + 60
        while not (workspace / "here").exists() and time.monotonic() < until:
            time.sleep(0.05)
        yield made
    finally:
        made.kill()
        made.wait()


@pytest.mark.slow
@engines
def test_however_a_command_ends_its_container_is_gone(backend: str, bench: Bench) -> None:
    assert bench.shell("exit 0").ok
    assert bench.shell("exit 7").exit_code == 7
    slow = Limits(minutes=0.02, grace_seconds=0.2)
    assert bench.shell("trap '' TERM; sleep 60", limits=slow).ended is Ended.TIMED_OUT
    cancel = threading.Event()
    timer = threading.Timer(1.5, cancel.set)
    timer.start()
    assert bench.shell("sleep 60", cancel=cancel).ended is Ended.CANCELLED
    timer.join()
    assert bench.start("no-such-program").ended is Ended.NOT_STARTED
    with pytest.raises(EnvironmentProblem):
        bench.start("true", readable=(Path("/no/such/folder"),))
    assert containers(backend, os.getpid()) == []
    assert left_behind() == {}


@pytest.mark.slow
@engines
def test_one_that_cannot_be_removed_is_no_result_and_stays_on_note(
    backend: str, bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "bin" / backend
    fake.parent.mkdir()
    real, works = shutil.which(backend), tmp_path / "works"
    fake.write_text(
        f"""#!/bin/sh
for word; do [ "$word" = rm ] && [ ! -e {works} ] && {{ echo locked >&2; exit 125; }}; done
exec {real} "$@"
"""
    )
    fake.chmod(0o755)
    works.touch()
    monkeypatch.setenv("PATH", f"{fake.parent}:{os.environ['PATH']}")
    assert bench.shell("true").ok
    works.unlink()
    monkeypatch.setattr("trialbook_sandboxes.engines._REST_SECONDS", 0.01)
    with pytest.raises(EnvironmentProblem, match="cannot be removed, and may still write"):
        bench.shell("true")
    (name,) = (path.name for path in plugin_folder("containers").glob(f"*-{os.getpid()}-*"))
    assert containers(backend, os.getpid()) == [name]
    # The next run of this host asks once more, and gets it done.
    for module in ("engines", "left_behind"):
        monkeypatch.setattr(f"trialbook_sandboxes.{module}.is_dead", lambda one: one == name)
    bench.sandbox.sweep(run)  # type: ignore[attr-defined]
    assert name in left_behind()
    works.touch()
    bench.sandbox.sweep(run)  # type: ignore[attr-defined]
    assert containers(backend, os.getpid()) == []
    assert name not in left_behind()


@pytest.mark.slow
@engines
def test_the_containers_of_a_killed_runner_go_and_those_of_a_living_one_stay(
    backend: str, sandbox: Sandbox, tmp_path: Path
) -> None:
    with runner(backend, tmp_path / "one") as dead, runner(backend, tmp_path / "two") as living:
        assert len(containers(backend, dead.pid)) == 1
        dead.send_signal(signal.SIGKILL)
        dead.wait()
        (left,) = containers(backend, dead.pid)
        assert left_behind() == {left: backend}
        sandbox.sweep(run)  # type: ignore[attr-defined]
        assert containers(backend, dead.pid) == []
        assert left_behind() == {}
        assert len(containers(backend, living.pid)) == 1
    assert sandbox.available(run).ok
    assert containers(backend, living.pid) == []


def test_a_run_in_another_sandbox_sweeps_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at_home: None
) -> None:
    note(f"{NAME_PREFIX}999999999-1-abc", "podman")
    asked: list[str] = []
    monkeypatch.setattr(
        "trialbook_sandboxes.container.ContainerSandbox.sweep",
        lambda self, spawn: asked.extend(left_behind()),
    )
    need_sandboxes(["none"], Registry())
    assert asked == [f"{NAME_PREFIX}999999999-1-abc"]
    forget(asked)
    assert left_behind() == {}


def test_without_a_place_for_notes_there_are_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("TRIALBOOK_CACHE", str(tmp_path / "file"))
    note(f"{NAME_PREFIX}999999999-1-abc", "podman")
    assert left_behind() == {}
