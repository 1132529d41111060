"""How clients are asked for one JSON value instead of work: what they get, and where it is read."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from trialbook.api import AgentResult, Assignment, JudgeReply, ProcessResult, StopWhen
from trialbook_agents.jsonl import Records
from trialbook_agents.shapes import text

# Whoever changes what a client is asked raises the version of its adapter: that is part of who a
# judge is, and what was compared with people was another one.
SYSTEM_PROMPT = (
    "You are a reviewer. You judge what you are given by the questions that you are given, and "
    "answer in the form that is asked for. You have nothing else to look at and nothing to do."
)
_NO_TOOLS_OF_CODEX = {
    # The server searches by itself, whatever the network of the client is.
    "web_search": "disabled",
    "features.shell_tool": False,
    "features.unified_exec": False,
    "features.goals": False,
    "features.multi_agent": False,
    "features.apps": False,
    "features.view_image": False,
    "features.image_generation": False,
    "features.sleep_tool": False,
    "skills.bundled.enabled": False,
}
_MOST_BYTES = 4_000_000
_MOST_SAID = 20_000
_CALLS_AGAIN = "MAX_STRUCTURED_OUTPUT_RETRIES"


def claude_asked(assignment: Assignment, schema: Mapping[str, Any]) -> Assignment:
    """The assignment with which Claude Code answers in a form, without tools and settings."""
    parameters = assignment.parameters
    arguments = (
        *parameters.get("arguments", ()),
        *("--json-schema", json.dumps(schema)),
        *("--system-prompt", SYSTEM_PROMPT),
        *("--tools", ""),
        "--strict-mcp-config",
    )
    return replace(
        assignment,
        approval="dontAsk",
        parameters={**parameters, "settings": [], "allowed_tools": [], "arguments": arguments},
        start=_with_environment(assignment, {_CALLS_AGAIN: "1"}),
    )


def claude_reply(result: AgentResult, printed: Records) -> JudgeReply:
    """What Claude Code answered: the input of the one tool that it has, or nothing.

    It ends well without, if the model wrote prose instead, and even if that is JSON.
    """
    last = next((one for one in reversed(printed.items) if one.get("type") == "result"), {})
    if "structured_output" in last:
        return JudgeReply(result=result, answer=last["structured_output"])
    said = text(last.get("result"))[:_MOST_SAID]
    return JudgeReply(result=result, said=said, missing="it gave no structured output")


def codex_asked(assignment: Assignment, schema: Mapping[str, Any]) -> tuple[Assignment, Path]:
    """The assignment with which Codex answers in a form, and the file that it answers in."""
    form, answer = assignment.home / "schema.json", assignment.home / "last.json"
    form.write_text(json.dumps(schema), encoding="utf-8")
    role = assignment.home / "role.md"
    role.write_text(f"{SYSTEM_PROMPT}\n", encoding="utf-8")
    parameters = assignment.parameters
    config = {
        **parameters.get("config", {}),
        **_NO_TOOLS_OF_CODEX,
        # In place of what makes an agent of the model.
        "model_instructions_file": str(role),
    }
    arguments = (
        *parameters.get("arguments", ()),
        *("--output-schema", str(form)),
        *("--output-last-message", str(answer)),
    )
    asked = replace(
        assignment,
        approval="read-only",
        parameters={**parameters, "config": config, "arguments": arguments},
    )
    return asked, answer


def file_reply(result: AgentResult, path: Path, what: str) -> JudgeReply:
    """The JSON value that a file holds which a client wrote; links are not followed."""
    try:
        if path.is_symlink() or not path.is_file():
            return JudgeReply(result=result, missing=f"there is no {what}")
        with path.open("rb") as file:
            data = file.read(_MOST_BYTES + 1)
    except OSError as error:
        return JudgeReply(result=result, missing=f"{what} cannot be read: {error}")
    if len(data) > _MOST_BYTES:
        missing = f"{what} has more than {_MOST_BYTES} bytes"
        return JudgeReply(result=result, said=_decoded(data), missing=missing)
    if not data.strip():
        return JudgeReply(result=result, missing=f"{what} is empty")
    try:
        return JudgeReply(result=result, answer=_value(data))
    except (ValueError, RecursionError) as error:
        return JudgeReply(
            result=result, said=_decoded(data), missing=f"{what} is not JSON: {error}"[:300]
        )


def _value(data: bytes) -> Any:  # noqa: ANN401 - any JSON value
    """The JSON value of some bytes; one that gives a key twice has said two things."""

    def mapping(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            names = [name for name, _ in pairs]
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"it has the key {twice[:40]!r} twice")
        return found

    return json.loads(data.decode(), object_pairs_hook=mapping)


def cut_off(result: AgentResult) -> bool:
    """Whether what it printed was cut where the limit of output is."""
    return result.process is not None and result.process.output_cut


def _decoded(data: bytes) -> str:
    return data[:_MOST_SAID].decode("utf-8", "replace")


def _with_environment(assignment: Assignment, more: Mapping[str, str]) -> Any:  # noqa: ANN401
    """The assignment's way to start commands, with more variables."""

    def start(
        argv: Sequence[str],
        *,
        stdin: Path | None = None,
        environment: Mapping[str, str] | None = None,
        name: str = "",
        stop_when: StopWhen | None = None,
    ) -> ProcessResult:
        return assignment.start(
            argv,
            stdin=stdin,
            environment={**(environment or {}), **more},
            name=name,
            stop_when=stop_when,
        )

    return start
