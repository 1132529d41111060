"""Inside of a session all holds that holds in an ordinary trial: escalation, secrets, long logs."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.conftest import git, trialbook, write_files
from tests.sessions.world import Ran, ran, short_ledger

from trialbook.process import run
from trialbook_sandboxes.bubblewrap import BubblewrapSandbox

CONFIGURATION = "suites/story/configurations/steady.yaml"
SECRET = "s3cr3t-value-0123456789"


def evaluated(ledger: Path, *arguments: str) -> Ran:
    """The trial of a run that verifies."""
    trialbook(ledger, "eval", "story", "--sandbox", "none", *arguments)
    trialbook(ledger, "verify")
    return ran(ledger)


def configure(ledger: Path, more: str) -> None:
    """Add to the configuration."""
    path = ledger / CONFIGURATION
    path.write_text(path.read_text() + more)


@pytest.mark.parametrize("workspace", ["carried", "fresh"])
def test_an_attempt_that_failed_is_followed_by_another_in_each_session(
    tmp_path: Path, workspace: str
) -> None:
    ledger = short_ledger(
        tmp_path / "ledger",
        core="ls > before.txt; printf nothing > first.txt\n",
        docs="printf nothing > second.txt\n",
    )
    configure(
        ledger,
        "escalate:\n  when: [checks_fail]\n  tell: checks\n"
        f"  workspace: {workspace}\n"
        '  to: {agent: command, files: "strong/{session}", '
        'with: {argv: ["sh", "{files}/work.sh"]}}\n',
    )
    write_files(
        ledger / "suites/story/strong",
        {
            "core/work.sh": "ls > seen.txt; printf 'def write' > rows.py\n",
            "docs/work.sh": "ls > seen.txt; printf '# Rows' > DOCS.md\n",
        },
    )
    found = evaluated(ledger)
    assert found.outcomes == ["accepted", "accepted"]
    numbers = [(one["session"], one["attempt"]) for one in found.record["attempts"]]
    assert numbers == [(1, 1), (1, 2), (2, 1), (2, 2)]
    told = found.text("sessions/2/attempt-2/prompt.md")
    assert told.startswith("Do what docs asks for.\n")
    assert "docs" in told
    assert "+nothing" in found.text("sessions/2/attempt-1/change.patch")
    assert found.json("sessions/1/attempt-1/checks-checks.json")["accepted"] is False
    # A fresh workspace in the second session is the one that the session began with.
    seen = found.text("sessions/2/change.patch")
    assert ("second.txt" in seen) is (workspace == "carried")
    assert "rows.py" in found.text("change.patch")


def test_secrets_are_taken_out_of_all_that_is_kept_of_a_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("API_TOKEN", SECRET)
    ledger = short_ledger(
        tmp_path / "ledger",
        core='printf \'def write # %s\' "$API_TOKEN" > rows.py; echo "$API_TOKEN" > NOTES.md\n'
        'git add -A; git commit -qm "With $API_TOKEN" -m "And $API_TOKEN here."\n'
        'echo "$API_TOKEN"\n',
        docs="printf '# Rows' > DOCS.md; echo more >> NOTES.md\n",
    )
    configure(ledger, "secrets: [API_TOKEN]\n")
    found = evaluated(ledger)
    assert found.outcomes == ["accepted", "accepted"]
    for path in found.folder.rglob("*"):
        if path.is_file():
            assert SECRET not in path.read_text(), path
    assert found.sessions[0]["change"]["redacted"] is True
    assert "[redacted:API_TOKEN]" in found.text("sessions/1/attempt-1/stdout.txt")
    (commit,) = found.sessions[1]["start"]["commits"]
    assert "[redacted" in commit["subject"]
    assert commit["body"] == "And [redacted:API_TOKEN] here."
    assert "nothing is wrong" in trialbook(ledger, "verify").stdout
    assert git(ledger, "grep", "-c", "redacted", "HEAD", "--", "runs")


def test_long_logs_of_a_session_are_cut(tmp_path: Path) -> None:
    ledger = short_ledger(tmp_path / "ledger", core="printf 'def write' > rows.py; seq 1 20000\n")
    suite = ledger / "suites/story/suite.yaml"
    suite.write_text(suite.read_text() + "artifacts: {keep_kb: 4, full: digest}\n")
    found = evaluated(ledger)
    assert [one["path"] for one in found.record["cut"]] == ["sessions/1/attempt-1/stdout.txt"]


def test_a_repository_full_of_traps_runs_nothing_and_harms_nothing(tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    trap = f"printf '#!/bin/sh\\ntouch {marker}\\n' > trap.sh; chmod +x trap.sh\n"
    ledger = short_ledger(
        tmp_path / "ledger",
        core=f"{trap}printf 'def write' > rows.py\ngit add -A; git commit -qm work\n"
        'git config core.fsmonitor "$PWD/trap.sh"; git config filter.x.clean "$PWD/trap.sh"\n'
        "git config filter.x.smudge \"$PWD/trap.sh\"; echo '* filter=x' > .git/info/attributes\n"
        "mkdir -p .git/hooks; cp trap.sh .git/hooks/post-checkout\n"
        "echo /proc/self/root > .git/objects/info/alternates; ln -s / .git/objects/ff\n"
        f"rm -f {marker}\n",
        docs="printf '# Rows' > DOCS.md; git status --short > s.txt; git log --format=%s >> s.txt\n"
        "git config --list --local >> s.txt; ls .git/hooks .git/objects/info >> s.txt 2>&1\n",
    )
    found = evaluated(ledger)
    assert not marker.exists()
    patch = found.text("sessions/2/change.patch")
    assert "+work" in patch
    assert "fsmonitor" not in patch
    assert "post-checkout" not in patch
    assert found.things(2)["history"] == "carried"
    assert any(one["kind"] == "git_planted" for one in found.record["sightings"])


def test_a_lost_history_is_told_and_the_files_come_over(tmp_path: Path) -> None:
    ledger = short_ledger(
        tmp_path / "ledger",
        core="printf 'def write' > rows.py; git add -A; git commit -qm work; rm -rf .git\n",
        docs="printf '# Rows' > DOCS.md; git status --short > s.txt\n",
    )
    found = evaluated(ledger)
    assert found.outcomes == ["accepted", "accepted"]
    assert found.sessions[0]["end"]["lost"] == "the repository is gone"
    assert found.sessions[1]["start"]["lost"] == ""
    assert found.things(2)["history"] == "cleared"
    assert "+?? rows.py" in found.text("sessions/2/change.patch")


def test_what_is_too_large_to_keep_is_said_not_to_come_over(tmp_path: Path) -> None:
    ledger = short_ledger(
        tmp_path / "ledger",
        core="printf 'def write' > rows.py; head -c 2000000 /dev/zero > large.bin; mkfifo pipe\n",
        docs="printf '# Rows' > DOCS.md; ls > seen.txt\n",
    )
    suite = ledger / "suites/story/suite.yaml"
    suite.write_text(suite.read_text().replace("{minutes: 3}", "{minutes: 3, file_mb: 1}"))
    found = evaluated(ledger)
    things = {one["thing"]: one for one in found.handover(2)["things"]}
    left = things["files too large to keep, and what git cannot store"]
    assert left["state"] == "cleared"
    assert "large.bin" in left["checked"]
    assert "large.bin" not in found.text("sessions/2/change.patch")


def test_an_empty_last_session_is_no_empty_trial(tmp_path: Path) -> None:
    ledger = short_ledger(tmp_path / "ledger", docs="true\n")
    found = evaluated(ledger)
    assert found.outcomes == ["accepted", "no_change"]
    assert found.record["outcome"] == "accepted"


def test_two_trials_of_one_task_do_not_share_anything(tmp_path: Path) -> None:
    ledger = short_ledger(tmp_path / "ledger")
    evaluated(ledger, "-r", "2", "-j", "2")
    one, two = ran(ledger), ran(ledger, "table/steady/r2")
    assert [s["end"]["tree"] for s in one.sessions] == [s["end"]["tree"] for s in two.sessions]


@pytest.fixture
def bubblewrap() -> None:
    able = BubblewrapSandbox().available(run)
    if not able.ok:
        assert not os.environ.get("CI"), able.reason
        pytest.skip(able.reason)


@pytest.mark.usefixtures("bubblewrap")
def test_what_each_session_asked_of_the_network_is_on_record(tmp_path: Path) -> None:
    ask = (
        "python3 -c \"import socket; s = socket.create_connection(('127.0.0.1', 3128), 10); "
        "s.sendall(b'CONNECT {host}.test:443 HTTP/1.1\\r\\n\\r\\n'); s.recv(100)\"\n"
    )
    ledger = short_ledger(
        tmp_path / "ledger",
        core=f"printf 'def write' > rows.py\n{ask.format(host='one')}",
        docs=f"printf '# Rows' > DOCS.md\n{ask.format(host='two')}{ask.format(host='two')}",
    )
    configure(ledger, "network: {allow: ['allowed.test:443']}\n")
    trialbook(ledger, "eval", "story", "--sandbox", "bubblewrap")
    trialbook(ledger, "verify")
    found = ran(ledger)
    assert found.outcomes == ["accepted", "accepted"]
    assert found.record["egress"]["refused"] == 3
    assert found.record["egress"]["hosts_refused"] == ["one.test:443", "two.test:443"]
    first, second = (found.text(f"sessions/{number}/egress.jsonl") for number in (1, 2))
    assert (first.count("one.test"), second.count("two.test")) == (1, 2)
    assert found.text("egress.jsonl") == first + second
    assert found.things(2)["the rest of the host"] == "cleared"
    # Nobody counts what is left over inside; all of it ends with the sandbox.
    assert found.things(2)["processes"] == "cleared"
