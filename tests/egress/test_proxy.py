from __future__ import annotations

import gc
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import warnings
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.egress.conftest import OTHER, PUBLIC, SHORT, Scene, everything, head_of

from trialbook.egress.head import PING, PONG
from trialbook.egress.way import Way, World, way_out
from trialbook.errors import EnvironmentProblem

OK = b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nbody"


def answer(connection: socket.socket) -> None:
    head_of(connection)
    connection.sendall(OK)


class Recorder:
    """A server that keeps what it is sent, until the sender ends or is silent."""

    def __init__(self, said: bytes = OK) -> None:
        self.got: list[bytes] = []
        self.said = said

    def __call__(self, connection: socket.socket) -> None:
        data = head_of(connection)
        connection.settimeout(0.5)
        self.got.append(data)
        number = len(self.got) - 1
        try:
            while more := connection.recv(65536):
                self.got[number] += more
        except TimeoutError:
            pass
        connection.sendall(self.said)


def rows(way: Way, count: int = 1) -> list[dict[str, Any]]:
    """The log, once it has so many lines."""
    until = time.monotonic() + 10
    while way.log.verdicts.total() < count and time.monotonic() < until:
        time.sleep(0.02)
    return [json.loads(line) for line in way.log.lines().splitlines()]


def test_a_listed_host_is_reached_and_the_log_says_how(scene: Scene) -> None:
    server = Recorder()
    scene.serve(server, "api.test")
    client = scene.way("api.test:80")
    said = client.get("http://api.test/path?q", Accept="*/*")
    assert said.startswith(b"HTTP/1.1 200 OK\r\n")
    assert b"Connection: close\r\n" in said
    assert said.endswith(b"\r\n\r\nbody")
    assert server.got == [
        b"GET /path?q HTTP/1.1\r\nHost: api.test\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    ]
    (row,) = rows(client.way)
    assert row["verdict"] == "allowed"
    assert (row["host"], row["port"], row["address"]) == ("api.test", 80, PUBLIC)
    assert row["sent"] == len(server.got[0])
    assert row["received"] == len(said)
    assert row["method"] == "GET"
    assert row["started"].endswith("Z")
    assert row["reason"] == ""
    assert "path" not in json.dumps(row)


def test_what_is_not_listed_is_refused_and_nobody_is_asked_about_it(scene: Scene) -> None:
    scene.net.names["evil.test"] = [PUBLIC]
    client = scene.way("api.test", "*.wild.test")
    for target in ("evil.test", "api.test:8443", "wild.test", "api.test.evil.test"):
        host, _, port = target.partition(":")
        said = client.ask(f"CONNECT {host}:{port or 443} HTTP/1.1\r\n\r\n".encode())
        assert said.startswith(b"HTTP/1.1 403 ")
        assert b"list" in said
    assert scene.net.looked_up == []
    assert scene.net.dialled == []
    found = rows(client.way, 4)
    assert {row["verdict"] for row in found} == {"refused"}
    assert found[0]["reason"] == "it is not listed"
    assert found[1]["reason"] == "the host is listed, but not with this port"


@pytest.mark.parametrize("address", ["127.0.0.1", "10.0.0.1", "169.254.169.254", "::ffff:7f00:1"])
def test_a_listed_name_that_leads_inside_is_refused(scene: Scene, address: str) -> None:
    scene.net.names["rebound.test"] = [address]
    scene.net.ports[address, 443] = 1
    client = scene.way("rebound.test")
    said = client.ask(b"CONNECT rebound.test:443 HTTP/1.1\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 403 ")
    assert scene.net.dialled == []
    assert "which the list does not name" in rows(client.way)[0]["reason"]


def test_a_name_that_changes_its_address_after_it_was_judged_gains_nothing(scene: Scene) -> None:
    # First a public address, and the loopback address to whoever asks again.
    answers = iter([[PUBLIC], ["127.0.0.1"], ["127.0.0.1"]])

    class Rebinding(dict[str, list[str]]):
        def __contains__(self, name: object) -> bool:
            return True

        def __getitem__(self, name: str) -> list[str]:
            return next(answers)

    scene.net.names = Rebinding()  # type: ignore[assignment]
    scene.serve(answer)
    inside = Recorder()
    scene.serve(inside, address="127.0.0.1")
    client = scene.way("rebind.test:80")
    assert client.get("http://rebind.test/").startswith(b"HTTP/1.1 200")
    assert scene.net.looked_up == ["rebind.test"]
    assert scene.net.dialled == [(PUBLIC, 80)]
    # The next request is judged by what the name leads to by then.
    assert client.get("http://rebind.test/").startswith(b"HTTP/1.1 403")
    assert scene.net.dialled == [(PUBLIC, 80)]
    assert inside.got == []


def test_an_inner_address_that_is_listed_itself_is_reached(scene: Scene) -> None:
    scene.serve(answer, "mirror.test", address="10.1.2.3", port=8080)
    assert scene.way("mirror.test:8080").get("http://mirror.test:8080/").startswith(b"HTTP/1.1 403")
    client = scene.way("mirror.test:8080", "10.1.2.3:8080")
    assert client.get("http://mirror.test:8080/").endswith(b"body")
    assert client.get("http://10.1.2.3:8080/").endswith(b"body")
    assert client.get("http://167838211:8080/").startswith(b"HTTP/1.1 400")


def test_localhost_is_this_host_where_it_is_listed(scene: Scene) -> None:
    scene.serve(answer, address="127.0.0.1", port=8080)
    client = scene.way("localhost:8080")
    assert client.get("http://localhost:8080/").endswith(b"body")
    assert scene.net.looked_up == []
    assert scene.way("a.test").get("http://localhost:8080/").startswith(b"HTTP/1.1 403")


def test_the_next_address_is_tried_and_the_log_has_the_one_that_worked(scene: Scene) -> None:
    scene.serve(answer, address=OTHER)
    scene.net.names["two.test"] = [PUBLIC, OTHER]
    client = scene.way("two.test:80")
    assert client.get("http://two.test/").endswith(b"body")
    assert scene.net.dialled == [(PUBLIC, 80), (OTHER, 80)]
    assert rows(client.way)[0]["address"] == OTHER


def test_what_cannot_be_had_is_no_broken_rule(scene: Scene) -> None:
    scene.net.names["gone.test"] = [PUBLIC]
    client = scene.way("gone.test:80", "nowhere.test:80")
    assert client.get("http://gone.test/").startswith(b"HTTP/1.1 502")
    assert client.get("http://nowhere.test/").startswith(b"HTTP/1.1 502")
    assert [row["verdict"] for row in rows(client.way, 2)] == ["failed", "failed"]


def test_a_resolver_that_hangs_holds_nobody_up(scene: Scene) -> None:
    hanging = threading.Event()

    def resolve(name: str, port: int) -> list[str]:
        hanging.wait(30)
        return [PUBLIC]

    scene.net.resolve = resolve  # type: ignore[method-assign]
    client = scene.way("slow.test:80", ceilings={"lookups": 1})
    began = time.monotonic()
    assert client.get("http://slow.test/").startswith(b"HTTP/1.1 504")
    scene.stack.close()
    assert time.monotonic() - began < 8
    hanging.set()


def test_trouble_that_nobody_thought_of_ends_one_request_and_is_on_record(scene: Scene) -> None:
    def resolve(name: str, port: int) -> list[str]:
        raise RuntimeError("no resolver")

    scene.serve(answer, address="10.1.2.3")
    scene.net.resolve = resolve  # type: ignore[method-assign]
    client = scene.way("odd.test:80", "10.1.2.3:80")
    assert client.get("http://odd.test/") == b""
    assert client.get("http://10.1.2.3/").endswith(b"body")
    found = rows(client.way, 2)
    assert found[0]["reason"] == "unexpected RuntimeError: no resolver"
    assert found[0]["verdict"] == "failed"


# --- one request a connection -----------------------------------------------------------------


@pytest.mark.slow
def test_a_second_request_on_a_connection_goes_nowhere(scene: Scene) -> None:
    server, other = Recorder(), Recorder()
    scene.serve(server, "api.test")
    scene.serve(other, "evil.test", address=OTHER)
    client = scene.way("api.test:80")
    for second in (
        b"GET http://evil.test/ HTTP/1.1\r\n\r\n",
        b"GET http://api.test/second HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n",
    ):
        said = client.ask(b"GET http://api.test/first HTTP/1.1\r\n\r\n" + second)
        assert said.count(b"HTTP/1.1 ") == 1
    assert [data.count(b"HTTP/1.1") for data in server.got] == [1, 1, 1]
    assert other.got == []


def test_a_body_is_passed_on_to_its_last_byte_and_no_further(scene: Scene) -> None:
    server = Recorder()
    scene.serve(server, "api.test")
    client = scene.way("api.test:80")
    smuggled = b"GET /smuggled HTTP/1.1\r\nHost: evil.test\r\n\r\n"
    client.ask(b"POST http://api.test/ HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello" + smuggled)
    chunks = b"3;ext=1\r\nabc\r\n2 \r\nde\r\n0\r\nTrailer: x\r\n\r\n"
    client.ask(
        b"POST http://api.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks + smuggled
    )
    assert [data.partition(b"\r\n\r\n")[2] for data in server.got] == [
        b"hello",
        b"3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n",
    ]


@pytest.mark.parametrize(
    "body",
    [
        *(b"-1\r\n", b"0x3\r\nabc\r\n0\r\n\r\n", b"\r\n\r\n", b"3\nabc\n0\n\n", b"3\r\nabcd\r\n"),
        *(b"ffffffffffffffff1\r\n", b"1\r\r\n", b"3 4\r\nabc\r\n", b"\xd9\xa3\r\nabc\r\n"),
    ],
)
def test_chunks_that_can_be_read_in_two_ways_are_not_passed_on(scene: Scene, body: bytes) -> None:
    server = Recorder()
    scene.serve(server, "api.test")
    client = scene.way("api.test:80")
    head = b"POST http://api.test/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    said = client.ask(head + body + b"GET / HTTP/1.1\r\nHost: evil.test\r\n\r\n")
    assert said.startswith(b"HTTP/1.1 502")
    assert all(b"evil" not in data for data in server.got)
    assert "chunk" in rows(client.way)[0]["reason"]


def test_an_ambiguous_request_is_refused_and_logged(scene: Scene) -> None:
    server = Recorder()
    scene.serve(server, "api.test")
    client = scene.way("api.test:80")
    said = client.get("http://api.test/", Host="evil.test")
    assert said.startswith(b"HTTP/1.1 400")
    (row,) = rows(client.way)
    assert (row["verdict"], row["host"]) == ("refused", "api.test")
    assert client.ask(b"\x16\x03\x01\x02\x00\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert server.got == []


def test_a_refused_place_reads_as_it_was_asked_for(scene: Scene) -> None:
    client = scene.way("api.test")
    for target in ("127.1:443", "[::1]:443", "api.test:0"):
        said = client.ask(f"CONNECT {target} HTTP/1.1\r\n\r\n".encode())
        assert f"trialbook: {target}: ".encode() in said
    rows(client.way, 3)
    refused = {place.place for place in client.way.log.refused}
    assert refused == {"127.1:443", "[::1]:443", "api.test:0"}


def test_a_server_that_does_not_close_is_not_waited_for(scene: Scene) -> None:
    def stays(connection: socket.socket) -> None:
        head_of(connection)
        connection.sendall(OK)
        everything(connection)

    scene.serve(stays, "api.test")
    client = scene.way("api.test:80", ceilings={"idle_seconds": 30})
    began = time.monotonic()
    assert client.get("http://api.test/").endswith(b"body")
    assert time.monotonic() - began < 5


def test_a_server_that_asks_to_go_on_and_answers_early_is_heard(scene: Scene) -> None:
    def early(connection: socket.socket) -> None:
        head_of(connection)
        connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 413 Too Large\r\n")
        connection.sendall(b"Content-Length: 0\r\n\r\n")

    scene.serve(early, "api.test")
    client = scene.way("api.test:80")
    said = client.ask(
        b"POST http://api.test/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 9999\r\n\r\nx"
    )
    assert said.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 413 ")


def test_what_is_no_answer_is_not_passed_on(scene: Scene) -> None:
    scene.serve(Recorder(b"SSH-2.0-x\r\n\r\n"), "ssh.test")
    scene.serve(Recorder(b"HTTP/1.1 101 Switching\r\n\r\n"), "web.test", address=OTHER)
    client = scene.way("ssh.test:80", "web.test:80")
    assert client.get("http://ssh.test/").startswith(b"HTTP/1.1 502")
    assert client.get("http://web.test/", Upgrade="websocket").startswith(b"HTTP/1.1 502")


# --- tunnels ----------------------------------------------------------------------------------


def tunnel(client: Any, host: str, port: int = 443, early: bytes = b"") -> socket.socket:
    connection: socket.socket = client.connect()
    connection.sendall(f"CONNECT {host}:{port} HTTP/1.1\r\nHost: {host}\r\n\r\n".encode() + early)
    assert head_of(connection) == b"HTTP/1.1 200 Connection established\r\n\r\n"
    return connection


def test_a_tunnel_carries_bytes_both_ways_also_after_one_side_has_ended(scene: Scene) -> None:
    def echo_at_end(connection: socket.socket) -> None:
        data = everything(connection)
        connection.sendall(data[::-1])

    scene.serve(echo_at_end, "api.test", port=443)
    client = scene.way("api.test")
    with tunnel(client, "api.test", early=b"abc") as connection:
        connection.sendall(b"def")
        connection.shutdown(socket.SHUT_WR)
        assert everything(connection) == b"fedcba"
    (row,) = rows(client.way)
    assert (row["sent"], row["received"], row["method"]) == (6, 6, "CONNECT")


def test_who_is_slow_to_read_gets_everything_also_after_both_sides_have_ended(
    scene: Scene,
) -> None:
    def late(connection: socket.socket) -> None:
        everything(connection)
        connection.sendall(b"x" * 3_000_000)

    scene.serve(late, "api.test", port=443)
    client = scene.way("api.test", ceilings={"idle_seconds": 10, "half_seconds": 10})
    with tunnel(client, "api.test") as connection:
        connection.shutdown(socket.SHUT_WR)
        time.sleep(0.5)
        got = 0
        while data := connection.recv(10_000):
            got += len(data)
            time.sleep(0.001)
        assert got == 3_000_000


def test_large_streams_arrive_whole_without_being_held(scene: Scene) -> None:
    size = 50_000_000

    def flood(connection: socket.socket) -> None:
        head_of(connection)
        for _ in range(size // 1_000_000):
            connection.sendall(b"x" * 1_000_000)

    scene.serve(flood, "api.test", port=443)
    client = scene.way("api.test", ceilings={"idle_seconds": 30})
    with tunnel(client, "api.test") as connection:
        connection.sendall(b"go\r\n\r\n")
        time.sleep(0.3)
        got = 0
        while data := connection.recv(1 << 20):
            got += len(data)
    assert got == size
    assert rows(client.way)[0]["received"] == size


def test_an_idle_tunnel_is_ended_and_a_half_closed_one_sooner(scene: Scene) -> None:
    scene.serve(lambda connection: time.sleep(20), "api.test", port=443)
    client = scene.way("api.test", ceilings={"idle_seconds": 1.0, "half_seconds": 0.3})
    with tunnel(client, "api.test") as connection:
        began = time.monotonic()
        assert everything(connection) == b""
        assert 0.8 < time.monotonic() - began < 5
    with tunnel(client, "api.test") as connection:
        connection.shutdown(socket.SHUT_WR)
        began = time.monotonic()
        assert everything(connection) == b""
        assert time.monotonic() - began < 5
    assert {row["reason"] for row in rows(client.way, 2)} == {"nothing was sent for too long"}


# --- ceilings ---------------------------------------------------------------------------------


def test_a_slow_head_and_a_large_one_are_ended(scene: Scene) -> None:
    client = scene.way("api.test")
    with client.connect() as connection:
        began = time.monotonic()
        connection.settimeout(0.2)
        said = b""
        while time.monotonic() - began < 10:
            try:
                connection.sendall(b"G")
                said += (data := connection.recv(100))
                if not data:
                    break
            except TimeoutError:
                continue
            except OSError:
                break
        assert said.startswith(b"HTTP/1.1 408")
        assert time.monotonic() - began < 5
    said = client.ask(b"GET http://api.test/ HTTP/1.1\r\nX: " + b"x" * 5000)
    assert said.startswith(b"HTTP/1.1 431")
    with client.connect() as connection:
        connection.sendall(b"GET http://api.test/ HT")
        connection.shutdown(socket.SHUT_WR)
        assert everything(connection).startswith(b"HTTP/1.1 400")
    with client.connect():
        pass  # who says nothing is no request
    found = rows(client.way, 3)
    assert [row["verdict"] for row in found] == ["failed"] * 3


def test_there_are_only_so_many_connections_and_then_room_again(scene: Scene) -> None:
    scene.serve(answer, "api.test")
    client = scene.way("api.test:80", ceilings={"head_seconds": 20.0})
    held = [client.connect() for _ in range(4)]
    time.sleep(0.2)
    assert client.get("http://api.test/").startswith(b"HTTP/1.1 503")
    for connection in held:
        connection.close()
    time.sleep(0.2)
    assert client.get("http://api.test/").endswith(b"body")
    assert rows(client.way, 2)[0]["verdict"] == "failed"


def test_the_log_is_capped_and_the_counts_are_not(scene: Scene) -> None:
    client = scene.way("api.test")
    log = client.way.log
    for number in range(3000):
        row = log.begin()
        row.host, row.port, row.reason = f"h{number}.test\x1b[31m", 443, "it is not listed"
        row.verdict = type(row.verdict).REFUSED
        log.add(row)
    lines = log.lines().splitlines()
    assert len(lines) == 2001
    assert json.loads(lines[-1]) == {"left_out": 1000}
    assert len(log.lines()) < 700_000
    assert log.verdicts.total() == 3000
    assert len(log.refused) <= 201
    assert sum(log.refused.values()) == 3000
    assert b"\\u001b" not in log.lines()


# --- beginning and end ------------------------------------------------------------------------


def test_it_answers_whether_it_is_there_and_counts_that_apart(scene: Scene) -> None:
    client = scene.way("api.test")
    assert client.ask(PING) == PONG
    assert client.way.proxy.greetings == 1
    assert client.way.log.verdicts.total() == 0


def test_at_the_end_open_tunnels_are_ended_and_logged(scene: Scene) -> None:
    scene.serve(lambda connection: time.sleep(20), "api.test", port=443)
    folder = scene.folder / "here"
    folder.mkdir()
    began = time.monotonic()
    with way_out(
        folder / "socket", ["api.test"], lambda: datetime.now(UTC), scene.net.world
    ) as way:
        assert list(folder.iterdir()) == [way.socket]
        connection = scene.stack.enter_context(socket.socket(socket.AF_UNIX))
        connection.connect(str(way.socket))
        connection.sendall(b"CONNECT api.test:443 HTTP/1.1\r\n\r\n")
        head_of(connection)
    assert time.monotonic() - began < 5
    assert everything(connection) == b""
    assert list(folder.iterdir()) == []
    (row,) = rows(way)
    assert row["reason"] == "open when the trial was over"


@pytest.mark.slow
def test_no_connection_is_left_to_be_collected(scene: Scene) -> None:
    """Neither one that came at the last moment, nor one that was turned away and does not read."""
    scene.serve(answer, "api.test")
    ceilings = replace(SHORT, connections=4, last_seconds=0.05)
    world = replace(scene.net.world, ceilings=ceilings)
    gc.collect()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        for number in range(10):
            folder = scene.folder / f"end-{number}"
            folder.mkdir()
            with (
                ExitStack() as stack,
                way_out(folder / "socket", ["api.test"], lambda: datetime.now(UTC), world) as way,
            ):
                for _ in range(12):
                    connection = stack.enter_context(socket.socket(socket.AF_UNIX))
                    connection.connect(str(way.socket))
        gc.collect()
    assert [str(one.message) for one in seen] == []


def test_a_path_of_any_length_will_do(scene: Scene) -> None:
    folder = scene.folder / ("x" * 200)
    folder.mkdir()
    with way_out(folder / "socket", ["a.test"], lambda: datetime.now(UTC)) as way:
        here = os.open(folder, os.O_RDONLY)
        with socket.socket(socket.AF_UNIX) as connection:
            connection.connect(f"/proc/self/fd/{here}/socket")
            connection.sendall(PING)
            assert everything(connection) == PONG
        os.close(here)
        assert way.socket.stat().st_mode & 0o777 == 0o666


def test_a_list_that_is_none_and_a_folder_that_is_not_there_are_told(tmp_path: Path) -> None:
    with (
        pytest.raises(EnvironmentProblem, match="list"),
        way_out(tmp_path / "socket", ["a b"], lambda: datetime.now(UTC)),
    ):
        pass
    with (
        pytest.raises(EnvironmentProblem, match="socket"),
        way_out(tmp_path / "no" / "socket", ["a.test"], lambda: datetime.now(UTC)),
    ):
        pass


def test_each_trial_has_a_proxy_of_its_own(scene: Scene) -> None:
    scene.serve(answer, "api.test")
    one, other = scene.way("api.test:80"), scene.way("b.test:80")
    assert one.get("http://api.test/").endswith(b"body")
    assert other.get("http://api.test/").startswith(b"HTTP/1.1 403")
    assert [row["verdict"] for row in rows(one.way)] == ["allowed"]
    assert [row["verdict"] for row in rows(other.way)] == ["refused"]


def test_it_ends_with_a_runner_that_is_killed(tmp_path: Path) -> None:
    code = (
        "import sys, time\nfrom datetime import UTC, datetime\nfrom pathlib import Path\n"
        "from trialbook.egress.way import way_out\n"
        "with way_out(Path(sys.argv[1]), ['a.test'], lambda: datetime.now(UTC)):\n"
        "    print('ready', flush=True)\n    time.sleep(600)\n"
    )
    path = tmp_path / "socket"
    runner = subprocess.Popen([sys.executable, "-c", code, str(path)], stdout=subprocess.PIPE)
    assert runner.stdout is not None
    assert runner.stdout.readline() == b"ready\n"
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(str(path))
        runner.send_signal(signal.SIGKILL)
        runner.wait()
        runner.stdout.close()
        connection.settimeout(5)
        assert everything(connection) == b""
    with socket.socket(socket.AF_UNIX) as connection, pytest.raises(ConnectionRefusedError):
        connection.connect(str(path))


def test_the_real_world_is_the_default() -> None:
    world = World()
    assert world.resolve("127.0.0.1", 80) == ["127.0.0.1"]
