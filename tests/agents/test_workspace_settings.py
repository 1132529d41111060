"""What a workspace brings for a client, hooks above all: that it counts, and when it does not."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.agents.bench import Bench
from tests.agents.test_codex import KEY, MODEL, parameters, shell
from tests.agents.test_more_clients import BLOCK

from trialbook.api import AgentEnd, AgentResult, EventKind, Limits
from trialbook_agents.aider import AiderAgent
from trialbook_agents.codex import CodexAgent
from trialbook_agents.gemini_cli import GeminiCliAgent
from trialbook_agents.opencode import OpencodeAgent

pytestmark = pytest.mark.agents

MakeBench = Callable[..., Bench]
LONG = Limits(minutes=4, grace_seconds=3)
KEYS = {"OPENAI_API_KEY": "sk-scripted", "GEMINI_API_KEY": "sk-scripted"}
HOOK = "echo ran > hook.txt"


@pytest.fixture
def operator(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home of the operator's, with settings and instructions that no trial may see."""
    home = tmp_path / "operator"
    spies = {
        ".codex/AGENTS.md": "Speak of the OPERATOR-MARK.\n",
        ".codex/config.toml": 'developer_instructions = "OPERATOR-MARK"\n',
        ".gemini/GEMINI.md": "Speak of the OPERATOR-MARK.\n",
        ".config/opencode/AGENTS.md": "Speak of the OPERATOR-MARK.\n",
        ".config/opencode/plugins/spy.js": "",
        ".aider.conf.yml": "read: OPERATOR-MARK.md\n",
        ".claude/CLAUDE.md": "Speak of the OPERATOR-MARK.\n",
    }
    for name, words in spies.items():
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text(words)
    monkeypatch.setenv("HOME", str(home))
    return home


def commands_of(result: AgentResult) -> list[str | None]:
    assert result.trajectory is not None
    return [e.command for e in result.trajectory.events if e.kind is EventKind.COMMAND]


CODEX = {
    ".codex/config.toml": 'developer_instructions = "PROJECT-MARK"\n',
    ".codex/hooks.json": json.dumps(
        {"hooks": {"PreToolUse": [{"hooks": [{"type": "command", "command": HOOK}]}]}}
    ),
}


@pytest.mark.parametrize("trust", [True, False])
def test_settings_and_hooks_count_for_codex_where_they_are_trusted(
    bench: MakeBench, codex: str, operator: Path, trust: bool
) -> None:
    made = bench(KEY, default=[shell("true"), {"text": "Done."}])
    given = made.assignment(
        model=MODEL, parameters=parameters(made, codex, trust=trust), files_there=CODEX
    )
    result = CodexAgent().run(given)
    assert result.end is AgentEnd.FINISHED, result.message
    assert commands_of(result) == ["true"]
    assert (given.workspace / "hook.txt").exists() is trust
    assert made.model.heard("PROJECT-MARK") is trust
    assert not made.model.heard("OPERATOR-MARK")


GEMINI = {
    "GEMINI.md": "Speak of the WORKSPACE-MARK.\n",
    ".gemini/settings.json": json.dumps(
        {
            "hooks": {
                "BeforeTool": [
                    {
                        "matcher": "run_shell_command",
                        "hooks": [{"type": "command", "name": "mark", "command": HOOK}],
                    }
                ]
            }
        }
    ),
}


@pytest.mark.slow
def test_hooks_of_the_workspace_count_for_gemini(
    bench: MakeBench, gemini: str, operator: Path
) -> None:
    call = {"name": "run_shell_command", "input": {"command": "true", "description": "work"}}
    made = bench(KEYS, default=[{"tools": [call]}, {"text": "Done."}])
    given = made.assignment(
        model="default",
        limits=LONG,
        parameters={"program": gemini, "base_url": made.model.url, "retries": 0},
        files_there=GEMINI,
    )
    result = GeminiCliAgent().run(given)
    assert result.end is AgentEnd.FINISHED, result.message
    assert commands_of(result) == ["true"]
    assert (given.workspace / "hook.txt").read_text() == "ran\n"
    assert made.model.heard("WORKSPACE-MARK")
    assert not made.model.heard("OPERATOR-MARK")


OPENCODE = {
    ".agents/skills/polish/SKILL.md": (
        "---\nname: polish\ndescription: SKILL-MARK for polishing.\n---\nPolish.\n"
    ),
    "AGENTS.md": "Speak of the WORKSPACE-MARK.\n",
    ".opencode/plugins/mark.js": (
        'import { writeFileSync } from "node:fs";\n'
        "export const Mark = async ({ directory }) => ({\n"
        '  "tool.execute.before": async () => writeFileSync(`${directory}/hook.txt`, "ran\\n"),\n'
        "});\n"
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("project", [True, False])
def test_plugins_of_the_workspace_count_for_opencode(
    bench: MakeBench, opencode: str, operator: Path, project: bool
) -> None:
    call = {"name": "bash", "input": {"command": "true", "description": "work"}}
    made = bench(KEYS, default=[{"tools": [call]}, {"text": "Done."}])
    more: dict[str, Any] = {"base_url": f"{made.model.url}/v1", "project": project, "retries": 0}
    given = made.assignment(
        model="default",
        limits=LONG,
        parameters={"program": opencode, **more},
        files_there=OPENCODE,
    )
    result = OpencodeAgent().run(given)
    assert result.end is AgentEnd.FINISHED, result.message
    assert commands_of(result) == ["true"]
    assert (given.workspace / "hook.txt").exists() is project
    assert made.model.heard("WORKSPACE-MARK") is project
    if project:
        assert made.model.heard("SKILL-MARK")
    assert not made.model.heard("OPERATOR-MARK")


AIDER = {
    ".aider.conf.yml": f'read: CONVENTIONS.md\nauto-test: true\ntest-cmd: "{HOOK}"\n',
    "CONVENTIONS.md": "Speak of the WORKSPACE-MARK.\n",
}


@pytest.mark.slow
def test_settings_of_the_workspace_count_for_aider(
    bench: MakeBench, aider: str, operator: Path
) -> None:
    text = BLOCK.format("A project.", "A project!")
    made = bench(KEYS, default=[{"text": text}])
    given = made.assignment(
        model="openai/default",
        limits=LONG,
        parameters={
            "program": aider,
            "base_url": f"{made.model.url}/v1",
            "edit_format": "diff",
            "files": ["README.md"],
            "retries": 0,
        },
        files_there=AIDER,
    )
    result = AiderAgent().run(given)
    assert result.end is AgentEnd.FINISHED, result.message
    assert (given.workspace / "hook.txt").read_text() == "ran\n"
    assert made.model.heard("WORKSPACE-MARK")
    assert not made.model.heard("OPERATOR-MARK")
