"""``trialbook agents``: what is said of adapters and clients, without any real one."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import trialbook

from trialbook.formats.schema import load_schema

jsonschema = pytest.importorskip("jsonschema")


def client(folder: Path, name: str, script: str) -> None:
    (folder / name).write_text(f"#!/bin/sh\n{script}\n")
    (folder / name).chmod(0o755)


def listed(folder: Path) -> dict[str, dict[str, Any]]:
    answer = json.loads(trialbook(folder, "agents", "--json").stdout)
    jsonschema.validate(answer, load_schema("agents"))
    assert answer["schema"] == "trialbook/agents/1"
    return {one["name"]: one for one in answer["agents"]}


@pytest.mark.slow
def test_what_is_here_is_listed_with_what_to_type(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client(tmp_path, "claude", "echo '2.1.332 (Claude Code)'")
    client(tmp_path, "codex", "echo 'cannot start' >&2; exit 3")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    found = listed(tmp_path)
    assert (found["claude-code"]["version"], found["claude-code"]["usable"]) == ("2.1.332", True)
    assert found["claude-code"]["limits"] == ["turns", "usd", "tokens"]
    assert "bypassPermissions" in found["claude-code"]["approval"]
    assert (found["codex"]["version"], found["codex"]["usable"]) == (None, False)
    assert "cannot start" in found["codex"]["reason"]
    assert found["aider"]["hint"] == "install it: pipx install aider-chat"
    assert found["command"]["usable"]
    said = trialbook(tmp_path, "agents").stdout
    assert "to use the others" in said
    assert "install it again: npm install --global @openai/codex" in said


def test_a_try_that_comes_to_nothing_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client(
        tmp_path, "claude", '[ "$1" = --version ] && echo 2.1.332 && exit; echo sorry >&2; exit 1'
    )
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    tried = ["agents", "try", "claude-code", "--model", "m"]
    told = json.loads(trialbook(tmp_path, *tried, "--json", check=1).stdout)
    jsonschema.validate(told, load_schema("agent_try"))
    assert (told["answered"], told["end"], told["trouble"]) == (False, "error", None)
    assert "without a result: sorry" in told["message"]
    assert told["usage"]["basis"] == "unknown"


def test_an_agent_that_a_configuration_has_to_describe_is_not_tried(tmp_path: Path) -> None:
    said = trialbook(tmp_path, "agents", "try", "command", "--model", "m", check=2).stderr
    assert "command cannot be tried" in said
    assert "trialbook eval" in said
