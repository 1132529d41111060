"""Logins that lie in files: they reach the client's home, and never the ledger."""

from __future__ import annotations

import base64
import json
import os
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git, trialbook, write_files

from trialbook.api import EnvironmentProblem
from trialbook.execution.credentials import (
    check_credential_files,
    known_credentials,
    lay_credentials,
    with_values,
)
from trialbook.execution.room import Room
from trialbook.model.credentials import CredentialFile
from trialbook.model.suite import Configuration
from trialbook.system import System

TOKEN = "tok-3f9c2d7e-ABCDEFGHIJ/klmnop"
REFRESH = "ref/99887766554433221100"
AUTH = {
    "OPENAI_API_KEY": None,
    "tokens": {"access_token": TOKEN, "refresh_token": REFRESH, "number": 7},
    "odd": ['a\\b"c-secret', "short"],
}
SUITE = """\
suite: login
protocol: 1
decision: Does a login stay where it belongs?
configurations: [reads]
repetitions: 1
limits: {minutes: 1}
accept: checks
"""
READS = """\
configuration: reads
agent: command
files: driver
credential_files:
  - {{from: {source}, to: .codex/auth.json}}
with:
  argv: ["{{python}}", "{{files}}/spill.py"]
"""
TASK = """\
task: answer
category: small-fix
snapshot: {folder: snapshot}
brief: brief.md
graders:
  - checks: checks.yaml
"""
CHECKS = """\
checks:
  - id: answered
    question: Is there an answer?
    type: file_contains
    file: answer.txt
    pattern: "^yes"
"""
# An agent that spills all it can find, in every way that comes to mind.
SPILL = """\
import base64, json, os, pathlib, stat, sys, urllib.parse
path = pathlib.Path.home() / ".codex" / "auth.json"
text = path.read_text()
print(text)
print(base64.b64encode(text.encode()).decode())
print(base64.b64encode(b"xx" + json.loads(text)["tokens"]["access_token"].encode()).decode())
print(urllib.parse.quote(json.loads(text)["tokens"]["refresh_token"], safe=""))
print(json.dumps({"nested": text}), file=sys.stderr)
print(oct(stat.S_IMODE(path.stat().st_mode)), oct(stat.S_IMODE(path.parent.stat().st_mode)))
pathlib.Path("answer.txt").write_text("yes " + text)
found = [str(one) for one in pathlib.Path.cwd().rglob("*") if one.name == "auth.json"]
print("in the workspace:", found)
"""


def ledger(folder: Path, source: str) -> Path:
    write_files(
        folder,
        {
            "suites/login/suite.yaml": SUITE,
            "suites/login/configurations/reads.yaml": READS.format(source=source),
            "suites/login/driver/spill.py": SPILL,
            "suites/login/tasks/answer/task.yaml": TASK,
            "suites/login/tasks/answer/brief.md": "Answer.\n",
            "suites/login/tasks/answer/checks.yaml": CHECKS,
            "suites/login/tasks/answer/snapshot/README.md": "A project.\n",
            "runs/README.md": "runs\n",
        },
    )
    git(folder, "init", "-q")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "start")
    return folder


@pytest.fixture
def auth() -> Path:
    """The operator's own login."""
    path = Path(os.environ["HOME"], ".codex", "auth.json")
    path.parent.mkdir(parents=True)
    path.write_text(json.dumps(AUTH, indent=2))
    return path


def spilled(folder: Path) -> bytes:
    return b"\n".join(path.read_bytes() for path in folder.rglob("runs/**/*") if path.is_file())


@pytest.mark.parametrize("sandbox", ["none", "bubblewrap"])
def test_a_login_reaches_the_home_and_nothing_of_it_the_ledger(
    tmp_path: Path, auth: Path, sandbox: str
) -> None:
    folder = ledger(tmp_path / "ledger", "~/.codex/auth.json")
    done = trialbook(folder, "eval", "login", "--sandbox", sandbox, check=None)
    if sandbox == "bubblewrap" and "does not work here" in done.stderr:
        pytest.skip("bubblewrap does not work here")
    assert done.returncode == 0, done.stdout + done.stderr
    (path,) = folder.glob("runs/login/*/answer/reads/r1/trial.json")
    record = json.loads(path.read_text())
    assert record["outcome"] == "accepted", record["reason"]
    assert any(name.startswith("auth.json.") for name in record["redactions"]), record["redactions"]
    everything = spilled(folder)
    out = (path.parent / "sessions/1/attempt-1/stdout.txt").read_text()
    assert "0o600 0o700" in out
    assert "in the workspace: []" in out
    assert "[redacted:auth.json." in out
    for secret in (TOKEN, REFRESH, "a\\\\b", "c-secret"):
        assert secret.encode() not in everything
        assert base64.b64encode(secret.encode())[:-4] not in everything
    assert b"[redacted:auth.json." in (path.parent / "change.patch").read_bytes()
    (plan,) = folder.glob("runs/login/*/plan.json")
    planned = json.loads(plan.read_text())["configurations"]["reads"]
    assert planned["credential_files"] == [
        {"source": "~/.codex/auth.json", "to": ".codex/auth.json"}
    ]
    assert json.loads(auth.read_text()) == AUTH
    assert "nothing is wrong" in trialbook(folder, "verify").stdout


@pytest.mark.parametrize(
    ("source", "content", "said"),
    [
        ("~/.codex/nothing.json", None, "nothing.json is not there; log in with the client"),
        ("$NO_SUCH_VARIABLE", None, "NO_SUCH_VARIABLE is not set, which names a credential file"),
        ("~/key", b"\xff\xfe\x00", "cannot be used: it is no text"),
        ("~/key", b'{"a": ', "cannot be used: it is no JSON"),
        ("~/key", b'{"a": "b", "n": 123456789}', "nothing in it has 6 characters"),
        ("~/key", b"machine x login y password secret-word\n", "what of it is secret cannot be"),
        ("~/key", b"", "nothing in it has 6 characters"),
        ("~/key", b"[" * 100_000, "cannot be used: it is no JSON"),
        ("~/key", b"x" * 1_000_001, "is larger than a megabyte"),
        ("~/key", json.dumps([f"value-{n}" for n in range(501)]).encode(), "it has 501 texts"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_before_the_run(
    tmp_path: Path, source: str, content: bytes | None, said: str
) -> None:
    if content is not None:
        Path(os.environ["HOME"], "key").write_bytes(content)
    folder = ledger(tmp_path / "ledger", source)
    done = trialbook(folder, "eval", "login", "--sandbox", "none", check=2)
    assert said in done.stderr
    assert "configuration reads" in done.stderr
    assert list(folder.glob("runs/login")) == []


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{from: relative.json, to: a}", "is no place of a file"),
        ("{from: ~/a.json, to: ../workspace/a}", "is not a usable path"),
        ("{from: ~/a.json, to: /etc/a}", "is not a usable path"),
        ("{from: ~/a.json, to: a/./b}", "is not a usable path"),
        ("{from: ~/a.json}", "`to`"),
        ("{from: ~/a.json, to: .codex}", "another credential file goes to `.codex`"),
    ],
)
def test_mistakes_in_the_list_are_told_with_their_place(
    tmp_path: Path, auth: Path, line: str, said: str
) -> None:
    folder = ledger(tmp_path / "ledger", "~/.codex/auth.json")
    file = folder / "suites/login/configurations/reads.yaml"
    file.write_text(
        file.read_text().replace("to: .codex/auth.json}\n", f"to: .codex/auth.json}}\n  - {line}\n")
    )
    done = trialbook(folder, "suite", "check", "login", check=2)
    assert said in done.stderr + done.stdout
    assert "reads.yaml:6" in done.stderr + done.stdout


def configuration(*pairs: tuple[str, str]) -> Configuration:
    files = tuple(CredentialFile(source=source, to=to) for source, to in pairs)
    return Configuration(name="c", agent="command", credential_files=files)


def room_in(folder: Path) -> Room:
    room = Room(root=folder)
    room.home.mkdir(parents=True)
    return room


def test_every_form_gives_its_values(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one-word-token\n")
    (tmp_path / "env").write_text("# keys\nexport A_KEY='quoted-value'\nB=plain-value\n\nC=x\n")
    (tmp_path / "json").write_text('{"twice": "first-value", "twice": "second-value"}')
    named = [(str(tmp_path / name), f"to/{name}") for name in ("token", "env", "json")]
    room = room_in(tmp_path / "room")
    system = System()
    values = lay_credentials(configuration(*named), room, system)
    assert values["token.1"] == "one-word-token"
    assert {"'quoted-value'", "quoted-value", "plain-value"} <= set(values.values())
    # A name that stands twice has two values, whichever of them a program takes.
    assert {"first-value", "second-value"} <= set(values.values())
    assert "x" not in values.values()
    assert (room.home / "to" / "env").read_bytes() == (tmp_path / "env").read_bytes()
    assert known_credentials(configuration(*named), system) == values
    assert known_credentials(configuration(("/no/such/file", "a")), system) == {}
    check_credential_files([configuration(*named)], system)


def test_a_place_that_is_taken_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("one-word-token\n")
    outside = tmp_path / "outside"
    outside.mkdir()
    room = room_in(tmp_path / "room")
    (room.home / "link").symlink_to(outside)
    (room.home / "file").symlink_to(outside / "planted")
    for to in ("link/token", "file"):
        with pytest.raises(EnvironmentProblem, match="cannot be laid"):
            lay_credentials(configuration((str(tmp_path / "token"), to)), room, System())
    assert list(outside.iterdir()) == []


def test_values_of_one_name_are_all_kept() -> None:
    known: dict[str, Any] = with_values({"a.1": "old-value"}, {"a.1": "new-value", "b": "other"})
    assert known == {"a.1": "old-value", "a.1-": "new-value", "b": "other"}
    assert with_values(known, {"a.1": "old-value"}) == known
