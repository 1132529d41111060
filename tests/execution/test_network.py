from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

import pytest

from trialbook.api import Command, Ended, Policy, ProcessResult
from trialbook.egress.head import PING
from trialbook.egress.log import Log, Verdict
from trialbook.execution.network import access_to, record_of, sightings_of
from trialbook.execution.room import Room
from trialbook.model.suite import Limits, Network
from trialbook.process import run

LIST = Network(mode="allow", allow=("api.test",))


def now() -> datetime:
    return datetime.now(UTC)


def log_of(*requests: tuple[str, Verdict, str]) -> Log:
    log = Log(now)
    for host, verdict, reason in requests:
        row = log.begin()
        row.host, row.port, row.verdict, row.reason, row.sent = host, 443, verdict, reason, 10
        log.add(row)
    return log


@pytest.fixture
def room(tmp_path: Path) -> Room:
    return Room(root=tmp_path)


@pytest.mark.parametrize("network", [Network(mode="none"), Network(mode="open")])
def test_only_a_list_has_a_proxy(room: Room, network: Network) -> None:
    with access_to(network, room, now, held=True) as access:
        assert access.way is None
        assert access.over(Policy()).network == network
        assert access.environment == {}
    assert list(room.root.iterdir()) == []


def test_where_nothing_is_held_there_is_no_proxy_either(room: Room) -> None:
    with access_to(LIST, room, now, held=False) as access:
        assert access.way is None
        assert access.over(Policy()).proxy is None


def test_a_list_comes_with_a_socket_and_what_leads_to_it(room: Room) -> None:
    with access_to(LIST, room, now, held=True) as access:
        policy = access.over(Policy(readable=(Path("/x"),)))
        assert policy.proxy == room.proxy
        assert list(room.proxy.parent.iterdir()) == [room.proxy]
        assert str(room.forwarder) in policy.forwarder
        assert room.forwarder in policy.readable
        assert Path("/x") in policy.readable
        assert room.forwarder.stat().st_mode & 0o777 == 0o644
        assert access.environment["HTTPS_PROXY"] == "http://127.0.0.1:3128"
        assert access.environment["no_proxy"] == "localhost,127.0.0.1,::1"
    assert not room.proxy.exists()


def test_hosts_that_are_listed_are_not_taken_for_the_sandbox_s_own(room: Room) -> None:
    network = Network(mode="allow", allow=("localhost:80", "[::1]:80"))
    with access_to(network, room, now, held=True) as access:
        assert access.environment["NO_PROXY"] == "127.0.0.1"


def test_a_command_whose_sandbox_never_spoke_to_the_proxy_did_not_start(room: Room) -> None:
    failed = ProcessResult(ended=Ended.EXITED, exit_code=1)
    with access_to(LIST, room, now, held=True) as access:
        assert access.judged(lambda: failed).ended is Ended.NOT_STARTED
        assert access.judged(lambda: ProcessResult(ended=Ended.EXITED, exit_code=0)).ok
        killed = ProcessResult(ended=Ended.SIGNALLED, signal=9)
        assert access.judged(lambda: killed) == killed

        def speaks() -> ProcessResult:
            code = (
                "import os, socket, sys; s = socket.socket(socket.AF_UNIX); "
                "os.chdir(os.path.dirname(sys.argv[1])); s.connect('socket'); "
                f"s.sendall({PING!r}); s.recv(100); sys.exit(1)"
            )
            output = room.root / "output"
            command = Command(
                argv=("python3", "-c", code, str(room.proxy)),
                cwd=room.root,
                environment={"PATH": os.defpath},
                stdout=output,
                stderr=output,
            )
            return run(command, Limits(minutes=1.0))

        result = access.judged(speaks)
        assert (result.ended, result.exit_code) == (Ended.EXITED, 1)


def test_what_was_seen_is_counted_and_named() -> None:
    log = log_of(
        ("b.test", Verdict.ALLOWED, ""),
        ("a.test", Verdict.ALLOWED, ""),
        ("a.test", Verdict.ALLOWED, ""),
        ("evil.test", Verdict.REFUSED, "it is not listed"),
        ("evil.test", Verdict.REFUSED, "it is not listed"),
        ("gone.test", Verdict.FAILED, "no such name"),
    )
    record = record_of(log)
    assert (record.allowed, record.refused, record.failed, record.sent) == (3, 2, 1, 60)
    assert record.hosts == ("a.test:443", "b.test:443")
    assert record.hosts_refused == ("evil.test:443",)
    assert record.log == "egress.jsonl"
    assert record_of(log_of()).log is None
    (one,) = sightings_of(log, LIST)
    assert str(one) == "evil.test:443 was asked for 2 times, and refused: it is not listed"
    assert one.severity == "flag"
    strict = Network(mode="allow", allow=("a.test",), refused="violation")
    assert sightings_of(log, strict)[0].severity == "violation"


def test_however_many_hosts_were_asked_for_the_record_stays_small() -> None:
    rows = [(f"h{number}.test", Verdict.REFUSED, "it is not listed") for number in range(1000)]
    log = log_of(*rows)
    assert len(record_of(log).hosts_refused) == 50
    found = sightings_of(log, LIST)
    assert len(found) == 21
    assert "more hosts" in found[-1].detail
