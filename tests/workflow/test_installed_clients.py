from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from trialbook.errors import UserError
from trialbook.model.escalation import Condition
from trialbook.model.plan import Plan
from trialbook.model.suite import Configuration, Escalation
from trialbook.registry import Registry
from trialbook.workflow.clients import find_clients, need_clients

Install = Callable[[str], str]


@pytest.fixture
def install(tmp_path: Path) -> Install:
    """Puts a client of some version there, and gives its path."""

    def put(version: str) -> str:
        program = tmp_path / "claude"
        program.write_text(f"#!/bin/sh\necho '{version} (Claude Code)'\n")
        program.chmod(0o755)
        return str(program)

    return put


def configuration(name: str, program: str, **more: Any) -> Configuration:
    return Configuration(
        name=name, **{"agent": "claude-code", "parameters": {"program": program}, **more}
    )


def test_the_version_of_each_client_is_found_and_said(install: Install) -> None:
    said: list[str] = []
    program = install("2.1.0")
    found = find_clients(
        [
            configuration("one", program),
            configuration("two", program, version="2.1.0"),
            configuration("plain", "", agent="command", parameters={"argv": ["true"]}),
        ],
        Registry(),
        said.append,
    )
    assert found == {"one": "2.1.0", "two": "2.1.0"}
    assert said == ["client: claude-code 2.1.0 (one, two)"]


def test_all_that_is_missing_or_another_is_told_at_once(install: Install) -> None:
    program = install("2.1.0")
    with pytest.raises(UserError) as caught:
        find_clients(
            [
                configuration("gone", "/nowhere/claude"),
                configuration("other", program, version="2.0.9"),
            ],
            Registry(),
            lambda _: None,
        )
    first, second = str(caught.value).splitlines()
    assert first.startswith("configuration gone: the client of claude-code cannot be used: ")
    assert "npm install --global" in first
    assert second.startswith(
        f"configuration other: it asks for claude-code 2.0.9, and {program} is 2.1.0; install"
    )


def test_a_run_goes_on_only_with_the_client_of_its_plan(install: Install) -> None:
    program = install("2.1.0")
    planned = SimpleNamespace(client_version="2.1.0", agent="claude-code", escalation=None)
    plan = cast("Plan", SimpleNamespace(configurations={"one": planned}))
    used = [configuration("one", program)]
    need_clients(plan, used, Registry())
    install("2.2.0")
    with pytest.raises(UserError, match=r"2\.2\.0 is installed, and the run was planned with 2\.1"):
        need_clients(plan, used, Registry())
    planned.client_version = None
    need_clients(plan, used, Registry())


def test_the_client_of_a_second_attempt_has_to_be_there_too(install: Install) -> None:
    program = install("2.1.0")
    to = configuration("strong", program)
    escalation = Escalation(when=(Condition.AGENT_ERROR,), to=to, workspace="fresh")
    plain = {"agent": "command", "parameters": {"argv": ["true"]}}
    chain = configuration("chain", "", escalation=escalation, **plain)
    said: list[str] = []
    assert find_clients([chain], Registry(), said.append) == {"strong": "2.1.0"}
    assert said == ["client: claude-code 2.1.0 (strong)"]
    stage = SimpleNamespace(name="strong", agent="claude-code", client_version="2.1.0")
    planned = SimpleNamespace(
        client_version=None, agent="command", escalation=SimpleNamespace(to=stage)
    )
    plan = cast("Plan", SimpleNamespace(configurations={"chain": planned}))
    need_clients(plan, [chain], Registry())
    install("2.2.0")
    with pytest.raises(UserError, match=r"strong: claude-code 2\.2\.0 is installed"):
        need_clients(plan, [chain], Registry())
