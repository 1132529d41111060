"""The backends that isolate, each as it is on this machine; under CI a missing one is a failure."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from trialbook.api import Command, Limits, Network, Policy, ProcessResult, Sandbox
from trialbook.process import run
from trialbook.storage.interpreter import interpreter_folders
from trialbook_sandboxes.bubblewrap import BubblewrapSandbox
from trialbook_sandboxes.container import ContainerSandbox

CLOSED = Network(mode="none")
PATH = "/usr/local/bin:/usr/bin:/bin"


def make(backend: str) -> Sandbox:
    return BubblewrapSandbox() if backend == "bubblewrap" else ContainerSandbox(backend)


@pytest.fixture(scope="session")
def steady_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("client-home")


@pytest.fixture(scope="session")
def docker_host() -> Iterator[str]:
    """A docker server: the one that answers, or one of our own where we are root."""
    answers = ["docker", "version", "--format", "{{.Server.Version}}"]
    if shutil.which("docker") is None:
        yield ""
        return
    given = os.environ.get("DOCKER_HOST", "")
    if subprocess.run(answers, capture_output=True, check=False).returncode == 0:
        yield given
        return
    server = shutil.which("dockerd", path=f"{os.environ['PATH']}:/usr/sbin:/sbin")
    if os.geteuid() != 0 or server is None:
        yield ""
        return
    folder = Path(tempfile.mkdtemp(prefix="trialbook-docker-"))
    host = f"unix://{folder}/S"
    log = (folder / "log").open("wb")
    daemon = subprocess.Popen(
        [
            *(server, "--data-root", f"{folder}/D", "--exec-root", f"{folder}/E"),
            *("--pidfile", f"{folder}/P", "--host", host, "--storage-driver", "overlay2"),
            *("--iptables=false", "--ip6tables=false", "--bridge=none", "--ip-forward=false"),
            "--userland-proxy=false",
        ],
        stdout=log,
        stderr=log,
    )
    environment = {**os.environ, "DOCKER_HOST": host}
    for _ in range(200):
        asked = subprocess.run(answers, capture_output=True, check=False, env=environment)
        if asked.returncode == 0 or daemon.poll() is not None:
            break
        time.sleep(0.1)
    yield host
    daemon.terminate()
    daemon.wait(30)
    log.close()
    # It leaves the mount of its network namespace.
    for line in Path("/proc/mounts").read_text().splitlines():
        if (place := line.split()[1]).startswith(f"{folder}/"):
            subprocess.run(["umount", "--lazy", place], check=False)
    shutil.rmtree(folder)


@pytest.fixture
def at_home(
    monkeypatch: pytest.MonkeyPatch, steady_home: Path, request: pytest.FixtureRequest
) -> None:
    """One home for the engines' clients, so that what works is looked for once."""
    monkeypatch.setenv("HOME", str(steady_home))
    backend = (
        request.node.callspec.params.get("backend") if hasattr(request.node, "callspec") else ""
    )
    if backend == "docker" and (host := request.getfixturevalue("docker_host")):
        monkeypatch.setenv("DOCKER_HOST", host)


@pytest.fixture
def sandbox(backend: str, at_home: None) -> Sandbox:
    """The backend of the test's parameter, if it works here."""
    made = make(backend)
    able = made.available(run)
    if not able.ok:
        why = f"{backend} does not work here: {able.reason}; {able.hint}"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    return made


def need(*programs: str) -> None:
    """Skip a test where a program is missing; under CI that is a failure."""
    for program in programs:
        if shutil.which(program, path="/usr/bin") is None:
            why = f"{program} is not installed in /usr/bin"
            if os.environ.get("CI"):
                pytest.fail(why)
            pytest.skip(why)


@dataclass
class Bench:
    """Starts commands in a sandbox, each in a fresh workspace."""

    sandbox: Sandbox
    folder: Path
    count: int = 0
    environment: dict[str, str] = field(default_factory=dict)

    @property
    def workspace(self) -> Path:
        return self.folder / str(self.count) / "workspace"

    def said(self, stream: str = "stdout") -> str:
        return (self.folder / str(self.count) / f"{stream}.txt").read_text(errors="replace")

    def start(
        self,
        *argv: str,
        limits: Limits | None = None,
        files: Mapping[str, str] | None = None,
        cancel: threading.Event | None = None,
        writable: tuple[Path, ...] = (),
        **policy: object,
    ) -> ProcessResult:
        self.count += 1
        self.workspace.mkdir(parents=True)
        for name, text in (files or {}).items():
            (self.workspace / name).write_text(text)
        scratch = self.folder / str(self.count) / "tmp"
        scratch.mkdir()
        command = Command(
            argv=argv,
            cwd=self.workspace,
            environment={"PATH": PATH, **self.environment},
            stdout=self.workspace.parent / "stdout.txt",
            stderr=self.workspace.parent / "stderr.txt",
        )
        wanted: dict[str, object] = {
            "writable": (self.workspace, *writable),
            "readable": interpreter_folders(sys.executable),
            "scratch": (scratch,),
            "network": CLOSED,
            "limits": limits or Limits(minutes=1.0),
        } | policy

        def spawn(command: Command, limits: Limits) -> ProcessResult:
            return run(command, limits, cancel=cancel)

        return self.sandbox.start(command, Policy(**wanted), spawn)  # type: ignore[arg-type]

    def shell(self, script: str, *arguments: str, **more: object) -> ProcessResult:
        return self.start("/bin/sh", "-c", script, "sh", *arguments, **more)  # type: ignore[arg-type]

    def python(self, code: str, *arguments: str, **more: object) -> ProcessResult:
        return self.start(sys.executable, "-I", "-c", code, *arguments, **more)  # type: ignore[arg-type]


@pytest.fixture
def bench(sandbox: Sandbox, tmp_path: Path) -> Bench:
    return Bench(sandbox, tmp_path)


def alive(word: str) -> list[int]:
    """The processes of this host with a word in their command line."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if word.encode() in line and int(entry.name) != os.getpid():
                found.append(int(entry.name))
    return found
