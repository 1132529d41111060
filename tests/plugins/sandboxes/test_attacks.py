"""What an agent may try: each attempt works without a sandbox, and in none that claims to isolate.

An attempt prints ``TRIED`` first and ``OPEN`` where it worked. The control, the same attempt
without a sandbox, shows that it would work if nothing were in the way.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.sandboxes.conftest import Bench

from trialbook.api import Network
from trialbook.egress.way import FORWARDER, forwarder_command, way_out
from trialbook.storage.interpreter import interpreter_folders
from trialbook_sandboxes.none import NoSandbox

pytestmark = [pytest.mark.slow]

BACKENDS = ["bubblewrap", "podman", "docker"]


@dataclass(frozen=True)
class Attempt:
    """One attempt. ``root`` says that the control shows something only where we are root."""

    name: str
    script: str
    root: bool = False
    python: bool = False


# Mounts are only ever tried in a mount namespace of the attempt's own.
_NAMESPACES = "for how in 'unshare -m' 'unshare -Urm' 'unshare -Urmp --fork'; do $how sh -c '"
_DONE = "' 2>/dev/null; done"

ATTEMPTS = [
    Attempt(
        "write into /usr",
        ": >/usr/lib/trialbook-attempt && echo OPEN; rm -f /usr/lib/trialbook-attempt",
        root=True,
    ),
    Attempt(
        "make /usr writable",
        "mount -o remount,rw /usr 2>/dev/null && : >/usr/tb-attempt && echo OPEN\n"
        + _NAMESPACES
        + "mount --bind /usr /usr; mount -o remount,bind,rw /usr && : >/usr/tb-attempt"
        " && rm -f /usr/tb-attempt && echo OPEN" + _DONE,
        root=True,
    ),
    Attempt(
        "set the kernel's core_pattern", ": >>/proc/sys/kernel/core_pattern && echo OPEN", root=True
    ),
    Attempt("drop the kernel's caches", ": >>/proc/sys/vm/drop_caches && echo OPEN", root=True),
    Attempt("make a user namespace", "unshare -U true && echo OPEN"),
    Attempt(
        "mount control groups",
        "mkdir here\n" + _NAMESPACES + "mount -t cgroup2 none here && echo OPEN" + _DONE,
        root=True,
    ),
    Attempt(
        "mount sysfs",
        "mkdir here\n"
        + _NAMESPACES
        + "mount -t sysfs none here && [ -d here/kernel ] && echo OPEN"
        + _DONE,
        root=True,
    ),
    Attempt("make a device", "mknod disk b 8 0 && echo OPEN; rm -f disk", root=True),
    Attempt(
        "become root", "setpriv --reuid=0 --regid=0 --clear-groups id -u && echo OPEN", root=True
    ),
    Attempt(
        "see the host's processes",
        "grep -l -f token /proc/[0-9]*/cmdline 2>/dev/null | grep -q . && echo OPEN",
    ),
    Attempt(
        "read the environment of the host's processes",
        "grep -l -f token /proc/[0-9]*/environ 2>/dev/null | grep -q . && echo OPEN",
    ),
    Attempt("read /etc/shadow", "cat /etc/shadow && echo OPEN", root=True),
    Attempt("read the private tests", 'cat "$1/private/test_private.py" && echo OPEN'),
    Attempt("list the operator's home", 'ls "$1/home/.ssh" && cat "$1/home/.ssh/id" && echo OPEN'),
    Attempt("read another trial's workspace", 'cat "$1/other/workspace/answer.txt" && echo OPEN'),
    Attempt("write into another trial's workspace", ': >"$1/other/workspace/made" && echo OPEN'),
    Attempt("write into the ledger", ': >"$1/ledger/runs/made" && echo OPEN'),
    Attempt(
        "plant a git configuration in the ledger",
        'echo "[core] fsmonitor = x" >>"$1/ledger/.git/config" && echo OPEN',
    ),
    Attempt(
        "connect to an abstract socket of the host",
        "s = socket.socket(socket.AF_UNIX); s.connect('\\0' + word); print('OPEN')",
        python=True,
    ),
    Attempt(
        "connect to a socket file of the host",
        "s = socket.socket(socket.AF_UNIX); s.connect(place + '/service.sock'); print('OPEN')",
        python=True,
    ),
    Attempt(
        "reach a server of the host",
        "socket.create_connection(('127.0.0.1', port), 3); print('OPEN')",
        python=True,
    ),
    Attempt(
        "send a datagram to the host",
        "s = socket.socket(type=socket.SOCK_DGRAM); s.settimeout(3)\n"
        "s.sendto(b'x', ('127.0.0.1', udp)); print('OPEN' if s.recv(1) else '')",
        python=True,
    ),
    Attempt(
        "use the proxy of another trial",
        "s = socket.socket(socket.AF_UNIX); s.settimeout(5)\n"
        "s.connect(place + '/other/proxy/socket')\n"
        "s.sendall(b'CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n' % port)\n"
        "print('OPEN' if b' 200 ' in s.recv(100) else '')",
        python=True,
    ),
    Attempt(
        "have a network at all",
        "names = [n for _, n in socket.if_nameindex() if n != 'lo' and 'tunl' not in n]\n"
        "routes = open('/proc/net/route').read().count('\\n') - 1\n"
        "print('OPEN' if names and routes > 0 else names)",
        python=True,
    ),
    Attempt(
        "fill memory by way of /dev",
        "head -c 1000 /dev/zero >/dev/tb-attempt && echo OPEN; rm -f /dev/tb-attempt",
        root=True,
    ),
    Attempt("fill memory by way of /", ": >/tb-attempt && echo OPEN; rm -f /tb-attempt", root=True),
]

# What podman's own rules let through. A namespace alone gives nothing away: the attempts that
# would use it are in the table, too.
KNOWN_GAPS = {("podman", "make a user namespace")}


@dataclass
class Scene:
    """A host with something to get at: files, a process, servers."""

    place: Path
    word: str
    port: int
    udp: int
    victim: subprocess.Popen[bytes]


@pytest.fixture(scope="module")
def scene() -> Iterator[Scene]:
    # Open to everybody, so that nothing but the sandbox is in the way.
    place = Path(tempfile.mkdtemp(prefix="trialbook-scene-", dir="/var/tmp"))
    word = uuid.uuid4().hex
    for name, text in {
        "private/test_private.py": "expected = 42\n",
        "home/.ssh/id": "a key\n",
        "other/workspace/answer.txt": "42\n",
        "ledger/.git/config": "[core]\n",
        "ledger/runs/README.md": "runs\n",
    }.items():
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    for path in (place, *place.rglob("*")):
        path.chmod(0o777 if path.is_dir() else 0o666)
    with contextlib.ExitStack() as stack:
        stack.callback(shutil.rmtree, place)
        server = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        for address in (f"\0{word}", str(place / "service.sock")):
            listener = stack.enter_context(socket.socket(socket.AF_UNIX))
            listener.bind(address)
            listener.listen(64)
        (place / "service.sock").chmod(0o777)
        port = server.getsockname()[1]
        udp = stack.enter_context(socket.socket(type=socket.SOCK_DGRAM))
        udp.bind(("127.0.0.1", 0))
        threading.Thread(target=echo, args=(udp,), daemon=True).start()
        stack.callback(udp.sendto, b"", udp.getsockname())
        (place / "other" / "proxy").mkdir()
        allow = (f"127.0.0.1:{port}",)
        stack.enter_context(way_out(place / "other" / "proxy" / "socket", allow, now))
        code = "import time; time.sleep(600)"
        victim = stack.enter_context(
            subprocess.Popen([sys.executable, "-c", code, word], env={**os.environ, "SECRET": word})
        )
        stack.callback(victim.kill)
        yield Scene(place, word, port, udp.getsockname()[1], victim)


def echo(udp: socket.socket) -> None:
    with contextlib.suppress(OSError):
        while (received := udp.recvfrom(100))[0]:
            udp.sendto(*received)


def now() -> datetime:
    return datetime.now(UTC)


def attempt_it(bench: Bench, attempt: Attempt, scene: Scene, **more: Any) -> bool:
    if attempt.python:
        prelude = (
            "import socket, sys\nprint('TRIED', flush=True)\n"
            f"place, word, port = {str(scene.place)!r}, {scene.word!r}, {scene.port}\n"
            f"udp = {scene.udp}\n"
        )
        files = {"attempt.py": prelude + attempt.script}
        bench.start(sys.executable, "-I", "attempt.py", files=files, **more)
    else:
        script = f"echo TRIED\n{attempt.script}\ntrue"
        bench.shell(script, str(scene.place), files={"token": scene.word})
    lines = bench.said().splitlines()
    assert "TRIED" in lines, f"it did not even run: {bench.said('stderr')}"
    return "OPEN" in lines


@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
def test_without_a_sandbox_it_works(attempt: Attempt, scene: Scene, tmp_path: Path) -> None:
    if attempt.root and os.geteuid() != 0:
        pytest.skip("an ordinary user cannot do this anyway")
    assert attempt_it(Bench(NoSandbox(), tmp_path), attempt, scene)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("attempt", ATTEMPTS, ids=lambda attempt: attempt.name)
def test_inside_it_does_not(attempt: Attempt, backend: str, bench: Bench, scene: Scene) -> None:
    worked = attempt_it(bench, attempt, scene)
    if (backend, attempt.name) in KNOWN_GAPS:
        return
    assert not worked, bench.said()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize(
    "attempt", [a for a in ATTEMPTS if a.python], ids=lambda attempt: attempt.name
)
def test_beside_a_proxy_it_does_not_either(
    attempt: Attempt, backend: str, bench: Bench, scene: Scene, tmp_path: Path
) -> None:
    (tmp_path / "proxy").mkdir()
    script = tmp_path / "forward.py"
    script.write_bytes(FORWARDER.read_bytes())
    through = Attempt(
        "use its own proxy",
        "s = socket.create_connection(('127.0.0.1', 3128), 5)\n"
        "s.sendall(b'CONNECT 127.0.0.1:%d HTTP/1.1\\r\\n\\r\\n' % port)\n"
        "print('OPEN' if b' 200 ' in s.recv(100) else '')",
        python=True,
    )
    allow = (f"127.0.0.1:{scene.port}",)
    with way_out(tmp_path / "proxy" / "socket", allow, now) as way:
        more = {
            "network": Network(mode="allow", allow=allow),
            "proxy": way.socket,
            "forwarder": forwarder_command(sys.executable, script),
            "readable": (*interpreter_folders(sys.executable), script),
        }
        assert not attempt_it(bench, attempt, scene, **more), bench.said()
        # The control: there is a way, and it leads out.
        assert attempt_it(bench, through, scene, **more)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_process_of_the_host_cannot_be_signalled(
    backend: str, bench: Bench, scene: Scene, tmp_path: Path
) -> None:
    script = 'kill -KILL "$1"; kill -KILL -1; true'
    bench.shell(script, str(scene.victim.pid))
    assert scene.victim.poll() is None
    # The control: one that nothing protects.
    other = subprocess.Popen(["sleep", "600"])
    Bench(NoSandbox(), tmp_path / "control").shell('kill -KILL "$1"', str(other.pid))
    assert other.wait(10) == -9


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_link_that_an_agent_leaves_shows_nothing(
    backend: str, bench: Bench, scene: Scene
) -> None:
    script = 'ln -s "$1/private" link; cat link/test_private.py && echo OPEN; true'
    bench.shell(script, str(scene.place))
    assert "OPEN" not in bench.said()
    assert (bench.workspace / "link").is_symlink()
