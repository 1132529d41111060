from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git, trialbook

from trialbook.formats.schema import load_schema
from trialbook.model.diagnosis import LIMITS
from trialbook.process import run
from trialbook.system import System
from trialbook_sandboxes.bubblewrap import BubblewrapSandbox

jsonschema = pytest.importorskip("jsonschema")


def doctor(folder: Path, check: int | None = None) -> dict[str, Any]:
    done = trialbook(folder, "doctor", "--json", check=check)
    assert done.returncode in (0, 1), done.stderr
    answer: dict[str, Any] = json.loads(done.stdout)
    jsonschema.validate(answer, load_schema("doctor"))
    assert answer["ready"] is (done.returncode == 0)
    return answer


def sandbox(answer: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [one for one in answer["sandboxes"] if one["name"] == name]
    return found  # type: ignore[no-any-return]


@pytest.fixture
def nothing_works(monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither containers nor, for root, bubblewrap."""
    if os.geteuid() != 0:
        pytest.skip("only root can be without a user to give way to")
    monkeypatch.setenv("TRIALBOOK_SANDBOX_USER", "root")
    monkeypatch.setenv("TRIALBOOK_CONTAINER", "neither")


def test_it_says_what_works_and_what_a_trial_sees_outside_of_a_ledger(tmp_path: Path) -> None:
    if not BubblewrapSandbox().available(run).ok and not os.environ.get("CI"):
        pytest.skip("bubblewrap does not work here")
    answer = doctor(tmp_path, check=0)
    assert answer["ledger"] is None
    assert answer["sandbox"] == "bubblewrap"
    found = sandbox(answer, "bubblewrap")
    assert found["isolated"]
    assert found["fix"] == ""
    assert list(found["limits"]) == list(LIMITS)
    sight = found["sight"]
    assert sight["interfaces"] == ["lo"]
    assert sight["processes"] < 10
    assert sight["user"].startswith("agent ")
    assert {"HOME", "PATH", "TMPDIR"} <= set(sight["environment"])
    assert not {"TRIALBOOK_CACHE", "USER"} & set(sight["environment"])
    assert "home" not in sight["listing"]
    paths = {one["path"]: one["writable"] for one in sight["mounts"]}
    assert paths["<trial>/workspace"] is True
    assert paths["<trial>/prompt.md"] is False
    loose = sandbox(answer, "none")
    assert not loose["isolated"]
    assert loose["limits"]["memory_mb"] is False
    assert loose["sight"]["processes"] >= sight["processes"]


@pytest.mark.slow
def test_the_screen_says_the_same_in_words(ledger: Path) -> None:
    done = trialbook(ledger, "doctor", check=None)
    assert done.returncode in (0, 1)
    for words in ("sandboxes", "limits", "wall clock", "this machine", str(ledger), "Test Person"):
        assert words in done.stdout
    assert "tried bubblewrap: " in done.stderr
    assert trialbook(ledger, "--quiet", "doctor", check=None).stderr == ""


def test_where_nothing_isolates_it_says_no_and_what_to_type(
    nothing_works: None, tmp_path: Path
) -> None:
    done = trialbook(tmp_path, "doctor", check=1)
    assert "no evaluation can run isolated here" in done.stdout
    assert "useradd --system --no-create-home trialbook" in done.stdout
    assert "what a trial sees in none" in done.stdout
    answer = doctor(tmp_path, check=1)
    assert answer["sandbox"] == "none"
    assert "useradd" in sandbox(answer, "bubblewrap")["fix"]
    assert sandbox(answer, "bubblewrap")["sight"] is None
    assert not any(sandbox(answer, "container")["limits"].values())


def test_clients_on_the_path_are_asked_in_a_home_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = {
        "claude": "echo '2.1.3 (Claude Code)'; echo > $HOME/been-here",
        "codex": "echo codex-cli 0.77.0",
        "gemini": "exit 1",
    }
    for name, script in programs.items():
        (tmp_path / name).write_text(f"#!/bin/sh\n{script}\n")
        (tmp_path / name).chmod(0o755)
    (tmp_path / "python").write_text("#!/bin/sh\necho 2.4.6\n")
    (tmp_path / "python").chmod(0o755)
    (tmp_path / "mini").write_text(f"#!{tmp_path}/python\n")
    (tmp_path / "mini").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = {one["name"]: one for one in doctor(tmp_path)["clients"]}
    assert "command" not in found
    assert found["claude-code"]["version"] == "2.1.3"
    assert found["claude-code"]["place"] == str(tmp_path / "claude")
    assert found["codex"]["version"] == "0.77.0"
    assert found["gemini-cli"]["version"] == "unknown"
    assert "install it again: npm install --global" in found["gemini-cli"]["fix"]
    # It says no version by itself: the interpreter that it is installed with does.
    assert found["mini-swe-agent"]["version"] == "2.4.6"
    assert found["aider"] == {"name": "aider", "version": None, "place": None, "fix": ""}
    assert not Path(os.environ["HOME"], "been-here").exists()


@pytest.mark.slow
def test_signing_is_tried_with_the_key_itself(ledger: Path, tmp_path: Path) -> None:
    who = doctor(ledger)["identity"]
    assert (who["name"], who["signing"]) == ("Test Person", "off")
    key = tmp_path / "key"
    argv = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(key)]
    subprocess.run(argv, check=True)
    for name, value in (
        ("commit.gpgsign", "true"),
        ("gpg.format", "ssh"),
        ("user.signingkey", str(key)),
    ):
        git(ledger, "config", name, value)
    assert doctor(ledger)["identity"]["signing"] == "works"
    key.unlink()
    (tmp_path / "key.pub").unlink()
    who = doctor(ledger)["identity"]
    assert who["signing"] == "fails"
    assert str(key) in who["detail"]


def test_without_an_identity_it_says_how_to_set_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path(os.environ["HOME"], ".gitconfig").unlink()
    who = doctor(tmp_path)["identity"]
    assert who["name"] is None
    assert "git config --global user.name" in who["fix"]


def test_without_git_it_is_git_that_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "empty").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    done = trialbook(tmp_path, "doctor", check=1)
    assert done.stdout.startswith("no evaluation can run ")
    if "isolated" not in done.stdout.splitlines()[0]:
        assert "git is what is missing" in done.stdout.splitlines()[0]
    assert "missing: install git" in done.stdout


@pytest.mark.slow
def test_in_a_folder_that_is_gone_it_works_and_other_commands_say_so(tmp_path: Path) -> None:
    for command, said in (("doctor", "this machine"), ("status", "is not there any more")):
        script = f'mkdir gone; cd gone; rmdir ../gone; exec "$0" -m trialbook {command}'
        done = subprocess.run(
            ["/bin/sh", "-c", script, sys.executable],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert said in done.stdout + done.stderr
        assert "bug" not in done.stderr
        assert done.returncode in (0, 1, 2)


def test_without_a_home_the_cache_is_in_that_of_the_user() -> None:
    home = Path(pwd.getpwuid(os.geteuid()).pw_dir)
    assert System(environ={}).home() == home
    assert System(environ={"HOME": ""}).cache_folder() == home / ".cache/trialbook"
