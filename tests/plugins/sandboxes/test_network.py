"""A list of hosts, held to by every backend: real servers, real TLS, real clients inside."""

from __future__ import annotations

import json
import shutil
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from tests.plugins.sandboxes.conftest import Bench, need

from trialbook.api import Ended, Limits, Network
from trialbook.egress.way import (
    FORWARDER,
    Way,
    World,
    forwarder_command,
    proxy_environment,
    way_out,
)
from trialbook.storage.interpreter import interpreter_folders
from trialbook_sandboxes.none import NoSandbox

pytestmark = [pytest.mark.slow]

BACKENDS = ["bubblewrap", "podman", "docker"]
every = pytest.mark.parametrize("backend", BACKENDS)

CLIENT = """
import ssl, sys, urllib.request
context = ssl.create_default_context(cafile=sys.argv[1]) if sys.argv[1] else None
for url in sys.argv[2:]:
    handlers = [urllib.request.HTTPSHandler(context=context)] if context else []
    try:
        with urllib.request.build_opener(*handlers).open(url, timeout=20) as answer:
            print("GOT", answer.read().decode())
    except OSError as error:
        print("NO", error)
"""


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        body = f"hello {self.headers['Host']} {self.path}".encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        body = str(len(self.rfile.read(int(self.headers["Content-Length"])))).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        return


@dataclass
class Host:
    """The world outside: two plain servers, two with TLS, and names that lead to them."""

    folder: Path
    stack: ExitStack
    certificate: Path
    http: int
    https: int
    other: int
    names: dict[str, list[str]] = field(
        default_factory=lambda: {
            "allowed.test": ["127.0.0.1"],
            "api.wild.test": ["127.0.0.1"],
            "rebound.test": ["127.0.0.1"],
        }
    )
    count: int = 0

    def resolve(self, name: str, port: int) -> list[str]:
        return self.names.get(name, [])

    def way(self, *allow: str) -> tuple[Way, dict[str, Any]]:
        """A proxy for a list, and what a start in a sandbox needs for it."""
        self.count += 1
        folder = self.folder / f"way-{self.count}" / "proxy"
        folder.mkdir(parents=True)
        script = folder.parent / "forward.py"
        script.write_bytes(FORWARDER.read_bytes())
        world = World(resolve=self.resolve)
        way = self.stack.enter_context(
            way_out(folder / "socket", allow, lambda: datetime.now(UTC), world)
        )
        return way, {
            "network": Network(mode="allow", allow=allow),
            "proxy": way.socket,
            "forwarder": forwarder_command(sys.executable, script),
            "also": (script, self.certificate),
            "environment": dict(proxy_environment(allow)),
        }


def https_server(stack: ExitStack, certificate: Path, key: Path) -> int:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.socket = context.wrap_socket(server.socket, server_side=True)
    serve(stack, server)
    return int(server.server_address[1])


def serve(stack: ExitStack, server: ThreadingHTTPServer) -> None:
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    stack.callback(thread.join)
    stack.callback(server.server_close)
    stack.callback(server.shutdown)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    folder = tmp_path_factory.mktemp("certificate")
    certificate, key = folder / "certificate.pem", folder / "key.pem"
    need("openssl")
    subprocess.run(
        [
            *("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"),
            *("-subj", "/CN=allowed.test", "-addext", "subjectAltName=DNS:allowed.test,DNS:a.test"),
            *("-keyout", str(key), "-out", str(certificate)),
        ],
        check=True,
        capture_output=True,
    )
    return certificate, key


@pytest.fixture
def outside(tmp_path: Path, certificate: tuple[Path, Path]) -> Iterator[Host]:
    with ExitStack() as stack:
        ports = []
        for _ in range(2):
            server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
            serve(stack, server)
            ports.append(int(server.server_address[1]))
        https = https_server(stack, *certificate)
        shown = tmp_path / "certificate.pem"
        shutil.copy(certificate[0], shown)
        yield Host(tmp_path, stack, shown, ports[0], https, ports[1])


def ask(bench: Bench, given: dict[str, Any], *urls: str, **more: Any) -> list[str]:
    """What a client inside gets for some addresses, one line each."""
    start(bench, given, (sys.executable, "-I", "-c", CLIENT, *urls), **more)
    return bench.said().splitlines()


def start(bench: Bench, given: dict[str, Any], argv: tuple[str, ...], **more: Any) -> Any:
    policy = dict(given)
    bench.environment = policy.pop("environment", {})
    also = policy.pop("also", ())
    readable = (*interpreter_folders(sys.executable), *also)
    return bench.start(*argv, readable=readable, **policy, **more)


def rows(way: Way, count: int = 1) -> list[dict[str, Any]]:
    """The log, once it has so many lines: a request is over a moment after its client."""
    until = time.monotonic() + 10
    while way.log.verdicts.total() < count and time.monotonic() < until:
        time.sleep(0.02)
    return [json.loads(line) for line in way.log.lines().splitlines()]


@every
def test_the_list_is_held_to_over_http_and_https(backend: str, bench: Bench, outside: Host) -> None:
    http, https, other = outside.http, outside.https, outside.other
    way, given = outside.way(
        *(f"allowed.test:{http}", f"allowed.test:{https}", f"*.wild.test:{http}"),
        *(f"127.0.0.1:{http}", f"127.0.0.1:{https}", f"rebound.test:{other}"),
    )
    urls = {
        f"http://allowed.test:{http}/x": f"GOT hello allowed.test:{http} /x",
        f"https://allowed.test:{https}/y": f"GOT hello allowed.test:{https} /y",
        f"http://api.wild.test:{http}/": f"GOT hello api.wild.test:{http} /",
        f"http://allowed.test:{other}/": "NO HTTP Error 403",
        f"http://rebound.test:{other}/": "NO HTTP Error 403",
        f"http://wild.test:{http}/": "NO HTTP Error 403",
        f"https://denied.test:{https}/": "NO <urlopen error Tunnel connection failed: 403",
        f"http://2130706433:{http}/": "NO HTTP Error 400",
    }
    lines = ask(bench, given, str(outside.certificate), *urls)
    assert len(lines) == len(urls), bench.said("stderr")
    for line, wanted in zip(lines, urls.values(), strict=True):
        assert line.startswith(wanted), lines
    found = sorted(rows(way, 8), key=lambda row: str(row["started"]))
    assert [row["verdict"] for row in found] == ["allowed"] * 3 + ["refused"] * 5
    assert found[1]["method"] == "CONNECT"
    assert found[1]["received"] > 0
    assert way.proxy.greetings == 1


@every
def test_with_none_there_is_nothing_and_without_a_proxy_a_list_is_nothing_too(
    backend: str, bench: Bench, outside: Host
) -> None:
    urls = [f"http://127.0.0.1:{outside.http}/"]
    assert ask(bench, {"network": Network(mode="none")}, "", *urls)[0].startswith("NO ")
    script = "grep -c : /proc/net/dev; tail -n +2 /proc/net/route"
    start(bench, {"network": Network(mode="none")}, ("/bin/sh", "-c", script))
    assert bench.said().split() == ["1"]
    allow = Network(mode="allow", allow=(f"127.0.0.1:{outside.http}",))
    assert ask(bench, {"network": allow}, "", *urls)[0].startswith("NO ")
    # The control: the server is there.
    control = Bench(NoSandbox(), bench.folder / "control")
    assert ask(control, {}, "", *urls)[0].startswith("GOT ")


@every
def test_clients_that_know_nothing_of_proxies_reach_nothing(
    backend: str, bench: Bench, outside: Host
) -> None:
    way, given = outside.way(f"allowed.test:{outside.http}", f"127.0.0.1:{outside.http}")
    code = (
        "import socket, sys\nfor kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):\n"
        "    for host in ('127.0.0.1', 'allowed.test', '93.184.215.14'):\n"
        "        try:\n"
        "            s = socket.socket(type=kind); s.settimeout(2)\n"
        "            s.connect((host, int(sys.argv[1]))); s.send(b'x'); s.recv(1); print('OPEN')\n"
        "        except OSError as error: print('NO', error)\n"
    )
    start(bench, given, (sys.executable, "-I", "-c", code, str(outside.http)))
    assert len(bench.said().splitlines()) == 6
    assert "OPEN" not in bench.said()
    assert rows(way, 0) == []


@every
def test_the_forwarder_is_not_the_commands_to_care_for(
    backend: str, bench: Bench, outside: Host
) -> None:
    way, given = outside.way(f"allowed.test:{outside.http}", f"127.0.0.1:{outside.http}")
    code = (
        "import os, sys\n"
        "try: print('a child', os.waitpid(-1, os.WNOHANG))\n"
        "except ChildProcessError: print('no child')\n"
        "print(sorted(os.listdir('/proc/self/fd'))[:-1], len(sys.stdin.read()))\n"
        "print(os.listdir(os.path.dirname(sys.argv[1])))\n"
        "for what in (os.unlink, os.chmod, lambda path: open(path, 'a')):\n"
        "    for path in sys.argv[1:]:\n"
        "        try: what(path, *([0] if what is os.chmod else [])); print('OPEN', path)\n"
        "        except OSError: pass\n"
        "os._exit(7)\n"
    )
    script = given["also"][0]
    argv = (sys.executable, "-u", "-I", "-c", code, str(way.socket), str(script))
    result = start(bench, given, argv, limits=Limits(minutes=1.0, processes=10))
    assert (result.ended, result.exit_code) == (Ended.EXITED, 7)
    lines = bench.said().splitlines()
    assert lines == ["no child", "['0', '1', '2'] 0", "['socket']"], bench.said("stderr")
    assert way.socket.exists()
    assert way.socket.stat().st_mode & 0o777 == 0o666
    assert script.read_bytes() == FORWARDER.read_bytes()


@every
def test_a_daemon_does_not_keep_a_way_open_and_the_end_does_not_wait(
    backend: str, bench: Bench, outside: Host
) -> None:
    way, given = outside.way(f"allowed.test:{outside.http}", f"127.0.0.1:{outside.http}")
    code = (
        "import os, socket, time\n"
        "s = socket.create_connection(('127.0.0.1', 3128))\n"
        f"s.sendall(b'CONNECT allowed.test:{outside.http} HTTP/1.1\\r\\n\\r\\n')\n"
        "print(s.recv(100).split()[1].decode())\n"
        "os.fork() or time.sleep(600)\n"
    )
    began = time.monotonic()
    start(bench, given, (sys.executable, "-I", "-c", code))
    assert bench.said().split()[0] == "200"
    assert time.monotonic() - began < 30
    outside.stack.close()
    assert rows(way)[0]["verdict"] == "allowed"
    assert time.monotonic() - began < 30


@every
def test_large_bodies_go_both_ways(backend: str, bench: Bench, outside: Host) -> None:
    way, given = outside.way(f"allowed.test:{outside.http}", f"127.0.0.1:{outside.http}")
    code = (
        "import urllib.request\n"
        f"url = 'http://allowed.test:{outside.http}/'\n"
        "data = b'x' * 20_000_000\n"
        "print(urllib.request.urlopen(url, data, timeout=60).read().decode())\n"
    )
    start(bench, given, (sys.executable, "-I", "-c", code))
    assert bench.said().strip() == "20000000", bench.said("stderr")
    assert rows(way)[0]["sent"] > 20_000_000


@pytest.mark.parametrize("backend", ["bubblewrap"])
def test_two_trials_have_two_proxies_and_neither_sees_the_others(
    backend: str, bench: Bench, outside: Host
) -> None:
    one, given_one = outside.way(f"allowed.test:{outside.http}", f"127.0.0.1:{outside.http}")
    other, given_other = outside.way(f"api.wild.test:{outside.http}", f"127.0.0.1:{outside.http}")
    mine, theirs = f"http://allowed.test:{outside.http}/", f"http://api.wild.test:{outside.http}/"
    answers: dict[int, list[str]] = {}

    def work(number: int, given: dict[str, Any]) -> None:
        own = Bench(bench.sandbox, bench.folder / str(number))
        answers[number] = ask(own, given, "", mine, theirs)

    threads = [
        threading.Thread(target=work, args=pair) for pair in ((1, given_one), (2, given_other))
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [line[:3] for line in answers[1]] == ["GOT", "NO "]
    assert [line[:3] for line in answers[2]] == ["NO ", "GOT"]
    assert len(rows(one, 2)) == len(rows(other, 2)) == 2


@pytest.mark.parametrize("backend", ["bubblewrap"])
@pytest.mark.parametrize("program", ["curl", "node", "git"])
def test_usual_clients_find_the_proxy(
    backend: str, bench: Bench, outside: Host, program: str
) -> None:
    if program == "node" and not shutil.which(program, path="/usr/bin"):
        pytest.skip("there is no node here")
    need(program)
    way, given = outside.way(f"allowed.test:{outside.https}", f"127.0.0.1:{outside.https}")
    url = f"https://allowed.test:{outside.https}/"
    argv = {
        "curl": ("curl", "-sS", "--cacert", str(outside.certificate), url),
        "git": (
            *("git", "-c", f"http.sslCAInfo={outside.certificate}"),
            *("ls-remote", url),
        ),
        "node": ("node", "-e", f"fetch('{url}').then(r => console.log('got'), e => 0)"),
    }[program]
    start(bench, given, argv)
    if program == "node":
        # Versions before 24 ignore the variables: they reach nothing, and nobody hears of it.
        assert rows(way, 0) == [] or rows(way)[0]["verdict"] == "allowed"
        return
    assert rows(way)[0]["verdict"] == "allowed", bench.said("stderr")
    assert rows(way)[0]["host"] == "allowed.test"


@pytest.mark.parametrize("backend", ["bubblewrap"])
def test_where_there_is_no_python_socat_will_do(backend: str, bench: Bench, outside: Host) -> None:
    need("socat", "curl")
    way, given = outside.way(f"allowed.test:{outside.http}", f"127.0.0.1:{outside.http}")
    _, _, script, *rest = given["forwarder"]
    programs = outside.folder / "programs"
    programs.mkdir()
    for name in ("socat", "grep", "sleep"):
        (programs / name).symlink_to(f"/usr/bin/{name}")
    given["also"] = (*given["also"], programs)
    given["forwarder"] = (
        *("/bin/sh", "-c", f"PATH={programs}\n{script}"),
        *("sh", "/no/python", rest[2]),
    )
    start(bench, given, ("curl", "-sS", f"http://allowed.test:{outside.http}/"))
    assert bench.said().startswith("hello allowed.test"), bench.said("stderr")
    assert way.proxy.greetings == 1
    given["forwarder"] = (
        *("/bin/sh", "-c", f"PATH=/no\n{script}"),
        *("sh", "/no/python", rest[2]),
    )
    assert not start(bench, given, ("echo", "ran")).ok
    assert "it takes python3 or socat" in bench.said("stderr")
    assert bench.said() == ""


@every
def test_a_sandbox_that_cannot_reach_its_proxy_runs_nothing(
    backend: str, bench: Bench, outside: Host
) -> None:
    _, given = outside.way("allowed.test")
    # A socket that nobody answers at.
    dead = outside.folder / "dead" / "socket"
    dead.parent.mkdir()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(dead))
    dead.chmod(0o666)
    result = start(bench, {**given, "proxy": dead}, ("/bin/sh", "-c", "echo ran"))
    assert not result.ok
    assert bench.said() == ""
    assert "the way to the proxy cannot be laid" in bench.said("stderr")
