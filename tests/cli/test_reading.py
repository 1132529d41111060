from __future__ import annotations

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.conftest import git, trialbook
from tests.recorded import full_ledger, new_ledger

from trialbook.formats.visible import visible

HOSTILE_TRIAL = "20261202-080000-bbbb/task/evil/r1"
READING = [
    ["status"],
    ["status", "--json"],
    ["show", "20261130"],
    ["show", "20261201", "--json"],
    ["show", "20261202"],
    ["show", "20261202", "--json"],
    ["show", HOSTILE_TRIAL],
    ["show", HOSTILE_TRIAL, "--json"],
    ["plugins"],
]


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    return full_ledger(tmp_path / "ledger")


@pytest.mark.parametrize("arguments", READING, ids=" ".join)
def test_nothing_that_acts_reaches_the_terminal(recorded: Path, arguments: list[str]) -> None:
    done = trialbook(recorded, *arguments)
    for text in (done.stdout, done.stderr):
        assert visible(text) == text
    if "--json" in arguments:
        json.loads(done.stdout)


def read_terminal(top: int) -> bytes:
    """All that is written to a terminal until its last writer is gone."""
    found = b""
    try:
        while data := os.read(top, 65536):
            found += data
    except OSError:  # this is how Linux says that the other side is closed
        pass
    os.close(top)
    return found


def test_on_a_terminal_only_our_own_styles_are_sent(recorded: Path) -> None:
    top, bottom = os.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "trialbook", "show", HOSTILE_TRIAL],
        cwd=recorded,
        stdin=subprocess.DEVNULL,
        stdout=bottom,
        stderr=bottom,
    )
    os.close(bottom)
    text = read_terminal(top).decode()
    assert process.wait(timeout=20) == 0
    assert "\x1b[" in text
    assert "\x1b]" not in text
    assert "\x07" not in text
    assert "\u202e" not in text
    assert "\x00" not in text
    assert "\x9b" not in text


def test_status_says_how_far_each_run_is_and_what_is_next(recorded: Path) -> None:
    text = trialbook(recorded, "status").stdout
    assert "10/12" in text
    assert "open, draft" in text
    assert "baseline 9/9, candidate 0/9" in text
    assert text.rstrip().endswith("trialbook resume 20261201-080000-aaaa")
    [first, second, _] = json.loads(trialbook(recorded, "status", "--json").stdout)
    assert first["state"] == "closed"
    assert second["configurations"]["current"] == {
        "accepted": 1,
        "slots": 6,
        "valid_accepted": 2,
        "valid": 3,
    }


def test_a_ledger_without_runs_says_how_to_begin(tmp_path: Path) -> None:
    done = trialbook(new_ledger(tmp_path), "status")
    assert done.stdout == ""
    assert "trialbook eval" in done.stderr
    assert trialbook(tmp_path, "status", "--json").stdout == "[]\n"


def test_a_run_is_shown_with_both_views_and_checks_per_repetition(recorded: Path) -> None:
    drift = trialbook(recorded, "show", "20261130").stdout
    assert drift.count("9/9") >= 4
    assert drift.count("5/9") == 3
    mixed = trialbook(recorded, "show", "refunds/20261201").stdout
    assert "1/6 (16.7 %)" in mixed
    assert "2/3 (66.7 %)" in mixed
    assert "2/6 to 5/6" in mixed
    assert "unknown" in mixed


def test_a_trial_is_shown_with_the_commit_that_holds_it(recorded: Path) -> None:
    path = "20261201-080000-aaaa/negative-amount/current/r2.rerun1"
    text = trialbook(recorded, "show", path).stdout
    [line] = [line for line in text.splitlines() if line.startswith("commit ")]
    assert line.split("  ", 1)[1].strip().startswith("git show ")
    subject = git(recorded, "show", "-s", "--format=%s", line.split()[-1])
    assert subject.strip() == "trial negative-amount/current/r2.rerun1"
    assert "negative-amount/current/r2 (environment failure)" in text
    shown = [line for line in text.splitlines() if "change.patch" in line and "HEAD" in line]
    assert git(recorded, *shown[0].split()[2:]).startswith("diff --git")


def test_a_run_or_trial_that_is_not_there_is_a_mistake_to_fix(recorded: Path) -> None:
    done = trialbook(recorded, "show", "2099", check=2)
    assert "2099" in done.stderr
    assert "Traceback" not in done.stderr


def test_plugins_are_listed_with_their_distributions(recorded: Path) -> None:
    found = json.loads(trialbook(recorded, "plugins", "--json").stdout)
    assert {"group": "pages", "name": "docs", "distribution": "trialbook"}.items() <= {
        **next(plugin for plugin in found if plugin["group"] == "pages")
    }.items()


@pytest.mark.parametrize(
    "arguments", [["status"], ["show"], ["plugins"], ["site"], ["site", "build"], ["site", "serve"]]
)
def test_every_command_has_help_with_an_example(recorded: Path, arguments: list[str]) -> None:
    assert "Example: trialbook" in trialbook(recorded, *arguments, "--help").stdout


def test_the_site_is_built_where_it_belongs_or_where_it_is_wanted(recorded: Path) -> None:
    done = trialbook(recorded, "site", "build")
    assert done.stdout.strip() == str(recorded / "site/_build/index.html")
    trialbook(recorded, "site", "build", "--output", "public")
    assert (recorded / "public/index.html").is_file()


def test_a_broken_link_of_a_prose_page_is_said_and_is_something_to_fix(recorded: Path) -> None:
    (recorded / "site/pages").mkdir(parents=True)
    (recorded / "site/pages/index.md").write_text("[x](gone.md)\n")
    done = trialbook(recorded, "site", "build", check=2)
    assert "docs/index.html: a link leads to docs/gone.html" in done.stderr


@pytest.fixture
def server(recorded: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    process = subprocess.Popen(
        [sys.executable, "-m", "trialbook", "site", "serve", "--port", "0"],
        cwd=recorded,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    url = process.stdout.readline().strip()
    yield process, int(url.rsplit(":", 1)[1].strip("/"))
    process.kill()
    process.communicate()


def ask(port: int, path: str) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request("GET", path)
    answer = connection.getresponse()
    answer.read()
    connection.close()
    return answer


def test_the_server_serves_the_site_and_nothing_else_and_ends_cleanly(
    server: tuple[subprocess.Popen[str], int],
) -> None:
    process, port = server
    page = ask(port, "/")
    assert page.status == 200
    assert page.getheader("X-Content-Type-Options") == "nosniff"
    assert ask(port, "/assets/style.css").getheader("Content-Type") == "text/css; charset=utf-8"
    assert ask(port, "/assets/").status == 404
    assert ask(port, "/../../suites/instruction-drift/suite.yaml").status == 404
    assert ask(port, "/%2e%2e/%2e%2e/suites/instruction-drift/suite.yaml").status == 404
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0
    assert "stopped" in errors
    assert "Traceback" not in errors
