"""Exercises a sandbox: only what it claims is asked of it, but that for real."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from trialbook.api import (
    Availability,
    Command,
    Ended,
    Limits,
    Network,
    Policy,
    ProcessResult,
    Sandbox,
)
from trialbook.egress.forward import PORT
from trialbook.egress.way import FORWARDER, forwarder_command, way_out
from trialbook.process import run
from trialbook.system import System
from trialbook.testing.claims import claim, claim_name

_SHELL = "/bin/sh"
_PATH = "/usr/local/bin:/usr/bin:/bin"
_OWN = {"PWD", "OLDPWD", "SHLVL", "_", "HOSTNAME", "TERM", "container"}
# Ends by itself some time, so that a sandbox that fails the check costs nobody the machine.
_TEN = "0 1 2 3 4 5 6 7 8 9"
_BEAT = f"for a in {_TEN}; do for b in {_TEN}; do : > beat; sleep 0.05; done; done"
_DAEMON = f'setsid "$0" -c "{_BEAT}" > /dev/null 2>&1 & '
_FORKS = """
import os, time
made = []
try:
    while len(made) < 60:
        pid = os.fork()
        if not pid:
            time.sleep(20)
            os._exit(0)
        made.append(pid)
except OSError:
    pass
print(len(made))
"""
# No process of it has much; all together have too much.
_CROWD = """
import os, time
made = []
for _ in range(4):
    pid = os.fork()
    if not pid:
        held = b"x" * 60_000_000
        time.sleep(3)
        os._exit(0)
    made.append(pid)
killed = [os.waitpid(pid, 0)[1] for pid in made]
raise SystemExit(1 if any(killed) else 0)
"""
_WAIT_FOR_DAEMON = "until test -e beat; do sleep 0.02; done; "


def check_sandbox(sandbox: Sandbox, folder: Path) -> None:
    """Exercise a sandbox that works on this host.

    Args:
        sandbox: The sandbox.
        folder: An empty folder to work in.

    Raises:
        NotConforming: it breaks a promise, or says itself that it does not work here.
    """
    claim_name(sandbox.name)
    able = sandbox.available(run)
    claim(isinstance(able, Availability), f"available() gave {able!r}, not an Availability")
    claim(able.ok, f"it does not work on this host: {able.reason}")
    known = set(Limits.__dataclass_fields__)
    strange = set(able.limits) - known
    claim(not strange, f"it claims limits that nobody knows: {', '.join(sorted(strange))}")
    bench = _Bench(sandbox, folder)
    for check in (_endings, _streams, _surroundings, _daemons, _cancelling):
        check(bench)
    if "minutes" in able.limits:
        _time_limit(bench)
    if "output_mb" in able.limits:
        _output_limit(bench)
    if "processes" in able.limits:
        _process_limit(bench)
    if "memory_mb" in able.limits:
        _memory_limit(bench)
    if able.isolated:
        _isolation(bench)
    if able.network:
        _network(bench)
        _hosts(bench)


@dataclass(slots=True)
class _Bench:
    sandbox: Sandbox
    folder: Path
    count: int = 0

    @property
    def workspace(self) -> Path:
        """The folder of the latest command."""
        return self.folder / str(self.count) / "workspace"

    def said(self, stream: str = "stdout") -> bytes:
        """What the latest command wrote."""
        return (self.folder / str(self.count) / f"{stream}.txt").read_bytes()

    def shell(
        self,
        script: str,
        *arguments: str,
        limits: Limits | None = None,
        cancel: threading.Event | None = None,
        **more: object,
    ) -> ProcessResult:
        """Run a script in a fresh workspace."""
        return self.run((_SHELL, "-c", script, _SHELL, *arguments), limits, cancel, more)

    def run(
        self,
        argv: tuple[str, ...],
        limits: Limits | None = None,
        cancel: threading.Event | None = None,
        more: Mapping[str, object] | None = None,
    ) -> ProcessResult:
        """Run a command in a fresh workspace; ``more`` goes to the command or the policy."""
        self.count += 1
        self.workspace.mkdir(parents=True)
        limits = limits or Limits(minutes=1.0)
        extra = dict(more or {})
        stdin = extra.get("stdin")
        network = extra.get("network")
        command = Command(
            argv=argv,
            cwd=self.workspace,
            environment={"PATH": _PATH, "GIVEN": "größe x"},
            stdout=self.workspace.parent / "stdout.txt",
            stderr=self.workspace.parent / "stderr.txt",
            stdin=stdin if isinstance(stdin, Path) else None,
        )
        readable = [Path(sys.prefix), Path(sys.base_prefix), command.stdin, extra.get("readable")]
        proxy, forwarder = extra.get("proxy"), extra.get("forwarder")
        policy = Policy(
            writable=(self.workspace,),
            readable=tuple(path for path in readable if isinstance(path, Path)),
            network=network if isinstance(network, Network) else Network(),
            proxy=proxy if isinstance(proxy, Path) else None,
            forwarder=forwarder if isinstance(forwarder, tuple) else (),
            limits=limits,
        )

        def spawn(command: Command, limits: Limits) -> ProcessResult:
            return run(command, limits, cancel=cancel)

        return self.sandbox.start(command, policy, spawn)


def _endings(bench: _Bench) -> None:
    for code in (0, 3):
        result = bench.shell(f"exit {code}")
        claim(
            (result.ended, result.exit_code) == (Ended.EXITED, code),
            f"a command that exits with {code} came out as {result}",
        )
    result = bench.shell("kill -TERM $$")
    honest = result.signal == 15 or result.exit_code == 128 + 15  # noqa: PLR2004 - SIGTERM
    claim(honest, f"a command that a SIGTERM ended came out as {result}")
    result = bench.run(("/no/such/program",))
    claim(not result.ok, "a program that is not there came out as a success")


def _streams(bench: _Bench) -> None:
    bench.shell("cat; echo out; echo err >&2")
    claim(bench.said() == b"out\n", "standard input must be empty, and output arrive as it is")
    claim(bench.said("stderr") == b"err\n", "standard error must arrive apart")
    prompt = bench.folder / "prompt.md"
    prompt.write_bytes("größe \u202e\n".encode() * 400_000)
    bench.shell("cat > copy", stdin=prompt)
    same = (bench.workspace / "copy").read_bytes() == prompt.read_bytes()
    claim(same, "a large file on standard input must arrive whole")


def _surroundings(bench: _Bench) -> None:
    bench.shell("env; pwd -P > here")
    lines = bench.said().decode("utf-8", "replace").splitlines()
    names = {line.partition("=")[0] for line in lines}
    claim("GIVEN=größe x" in lines, "the environment that was given must be there")
    strange = names - _OWN - {"PATH", "GIVEN"}
    claim(not strange, f"these variables were not given: {', '.join(sorted(strange))}")
    claim((bench.workspace / "here").is_file(), "the workspace must be writable, and be the folder")
    words = ("", "größe", "two words", "line\nbreak", "-x", "$HOME", "'\"\\", "\U0001f40d")
    bench.shell('printf "<%s>" "$@"', *words)
    said = "".join(f"<{word}>" for word in words).encode()
    claim(bench.said() == said, f"arguments must arrive as they are, not as {bench.said()!r}")


def _daemons(bench: _Bench) -> None:
    bench.shell(_DAEMON + _WAIT_FOR_DAEMON)
    _claim_quiet(bench, "a command that ended by itself")
    bench.shell(_DAEMON + _WAIT_FOR_DAEMON + "kill -KILL $$")
    _claim_quiet(bench, "a command that crashed")


def _claim_quiet(bench: _Bench, what: str) -> None:
    beat = bench.workspace / "beat"
    claim(beat.exists(), f"the daemon of {what} did not even start; is setsid there?")
    beat.unlink()
    threading.Event().wait(0.4)
    claim(not beat.exists(), f"{what} left a daemon that still writes")


def _cancelling(bench: _Bench) -> None:
    cancel = threading.Event()
    beat = bench.folder / str(bench.count + 1) / "workspace" / "beat"

    def when_it_beats() -> None:
        for _ in range(1000):
            if beat.exists():
                break
            threading.Event().wait(0.02)
        cancel.set()

    thread = threading.Thread(target=when_it_beats)
    thread.start()
    limits = Limits(minutes=1.0, grace_seconds=0.5)
    script = _DAEMON + _WAIT_FOR_DAEMON + "sleep 50"
    result = bench.shell(script, limits=limits, cancel=cancel)
    thread.join()
    claim(result.ended is Ended.CANCELLED, f"a cancelled command came out as {result}")
    _claim_quiet(bench, "a cancelled command")


def _time_limit(bench: _Bench) -> None:
    limits = Limits(minutes=2.0 / 60, grace_seconds=0.3)
    script = "trap '' TERM; " + _DAEMON + _WAIT_FOR_DAEMON + "sleep 50; sleep 50"
    result = bench.shell(script, limits=limits)
    claim(result.ended is Ended.TIMED_OUT, f"a command over its time came out as {result}")
    _claim_quiet(bench, "a command over its time")


def _output_limit(bench: _Bench) -> None:
    result = bench.shell("head -c 3000000 /dev/zero", limits=Limits(minutes=1.0, output_mb=1.0))
    kept = len(bench.said())
    claim(result.output_cut, "output over the limit must be said to be cut")
    claim(kept < 1_010_000, f"{kept} bytes of output were kept where 1 MB is allowed")  # noqa: PLR2004


def _process_limit(bench: _Bench) -> None:
    result = bench.run((sys.executable, "-c", _FORKS), Limits(minutes=1.0, processes=20))
    said = bench.said().decode("utf-8", "replace").split()
    claim(bool(said), f"a command that starts others came out as {result}")
    claim(int(said[0]) < 20, f"{said[0]} more processes could run where 20 are allowed")  # noqa: PLR2004


def _memory_limit(bench: _Bench) -> None:
    limits = Limits(minutes=1.0, memory_mb=100.0)
    result = bench.run((sys.executable, "-c", "print(len(bytes(1_000_000)))"), limits)
    claim(result.ok and not result.memory_killed, f"a small command came out as {result}")
    result = bench.run((sys.executable, "-c", _CROWD), limits)
    claim(result.memory_killed, f"processes with 240 MB where 100 are allowed: {result}")


def _isolation(bench: _Bench) -> None:
    outside = bench.folder / "outside"
    outside.mkdir()
    (outside / "secret.txt").write_text("private expectation")
    bench.shell('cat "$1"; ls -a "$2"', str(outside / "secret.txt"), str(outside))
    leaked = b"private" in bench.said() or b"secret" in bench.said()
    claim(not leaked, "it claims isolation, but a file outside its policy can be read")
    bench.shell('echo x > "$1"; echo x > "$2/made"', str(outside / "secret.txt"), str(outside))
    same = (outside / "secret.txt").read_text() == "private expectation"
    claim(same and not (outside / "made").exists(), "it claims isolation, but writes get out")


def _network(bench: _Bench) -> None:
    script = (
        "import socket, sys\nprint('ran', flush=True)\n"
        "socket.create_connection(('127.0.0.1', int(sys.argv[1])), 2).sendall(b'x')\n"
    )
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = str(server.getsockname()[1])
        argv = (sys.executable, "-c", script, port)
        bench.run(argv, None, None, {"network": Network(mode="none")})
        claim(b"ran" in bench.said(), "the interpreter of this check could not run inside")
        server.settimeout(0.5)
        claim(not _accepts(server.accept), "it claims to hold the network, but a host was reached")


def _hosts(bench: _Bench) -> None:
    """A list of hosts is held to, and its hosts are reached by way of the proxy."""
    script = (
        "import socket, sys\nprint('ran', flush=True)\n"
        "s = socket.create_connection(('127.0.0.1', int(sys.argv[1])), 5)\n"
        "s.sendall(b'CONNECT 127.0.0.1:%s HTTP/1.1\\r\\n\\r\\n' % sys.argv[2].encode())\n"
        "print(s.recv(100).split()[1].decode())\n"
    )
    folder = bench.folder / "way"
    (folder / "proxy").mkdir(parents=True)
    forwarder = folder / "forward.py"
    forwarder.write_bytes(FORWARDER.read_bytes())
    with (
        socket.create_server(("127.0.0.1", 0)) as listed,
        socket.create_server(("127.0.0.1", 0)) as other,
    ):
        ports = [str(server.getsockname()[1]) for server in (listed, other)]
        allow = (f"127.0.0.1:{ports[0]}",)
        with way_out(folder / "proxy" / "socket", allow, System().now) as way:
            more = {
                "network": Network(mode="allow", allow=allow),
                "proxy": way.socket,
                "readable": forwarder,
                "forwarder": forwarder_command(sys.executable, forwarder),
            }
            for port, wanted in zip(ports, (b"200", b"403"), strict=True):
                bench.run((sys.executable, "-c", script, str(PORT), port), None, None, more)
                said = bench.said().split()
                claim(said == [b"ran", wanted], f"asked for port {port} of {allow[0]}: {said}")
            bench.run((sys.executable, "-c", script, ports[0], ports[0]), None, None, more)
        claim(bench.said() == b"ran\n", "it claims to hold the network, but a host was reached")


def _accepts(accept: Callable[[], tuple[socket.socket, object]]) -> bool:
    try:
        connection, _ = accept()
    except TimeoutError:
        return False
    connection.close()
    return True
