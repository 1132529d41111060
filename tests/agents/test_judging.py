"""Real clients, asked for one JSON value by a scripted model instead of work."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.agents.bench import Bench

from trialbook.api import AgentEnd, JudgeReply, Trouble
from trialbook_agents.claude_code import ClaudeCodeAgent
from trialbook_agents.codex import CodexAgent

pytestmark = pytest.mark.agents

MakeBench = Callable[..., Bench]
CLAUDE = {"ANTHROPIC_API_KEY": "sk-ant-scripted"}
CODEX = {"OPENAI_API_KEY": "sk-scripted"}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"verdict": {"type": "string", "enum": ["MERGE", "FIX"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}


def structured(value: Any) -> dict[str, Any]:
    return {"tools": [{"name": "StructuredOutput", "input": value}]}


def claude_judges(bench: Bench, claude: str) -> JudgeReply:
    parameters = {"program": claude, "base_url": bench.model.url, "retries": 0}
    return ClaudeCodeAgent().judge(bench.assignment("Judge.\n", parameters=parameters), SCHEMA)


def codex_judges(bench: Bench, codex: str) -> JudgeReply:
    parameters = {"program": codex, "base_url": f"{bench.model.url}/v1", "retries": 0}
    return CodexAgent().judge(bench.assignment("Judge.\n", parameters=parameters), SCHEMA)


def test_claude_code_answers_by_its_one_tool(bench: MakeBench, claude: str) -> None:
    made = bench(CLAUDE, default=[structured({"verdict": "FIX"}), {"text": "Done."}])
    reply = claude_judges(made, claude)
    assert reply.result.end is AgentEnd.FINISHED, reply.result.message
    assert reply.answer == {"verdict": "FIX"}
    assert reply.result.usage.output_tokens
    tools = {tool["name"] for one in made.model.requests for tool in one["body"].get("tools", ())}
    assert "StructuredOutput" in tools
    assert not tools & {"Bash", "Read", "Write", "Edit", "Glob", "Grep", "WebFetch", "WebSearch"}
    assert made.model.heard("You are a reviewer.")


def test_prose_of_claude_code_is_no_answer_although_it_ends_well(
    bench: MakeBench, claude: str
) -> None:
    made = bench(CLAUDE, default=[{"text": '{"verdict": "MERGE"}'}])
    reply = claude_judges(made, claude)
    assert reply.answer is None
    assert reply.missing == "it gave no structured output"
    assert reply.said == '{"verdict": "MERGE"}'


def test_claude_code_does_not_have_the_model_try_for_long(bench: MakeBench, claude: str) -> None:
    made = bench(CLAUDE, default=[structured({"verdict": "PERHAPS"})])
    reply = claude_judges(made, claude)
    assert reply.answer is None
    assert reply.result.end is AgentEnd.ERROR
    assert len(made.model.requests) <= 3


def test_codex_answers_in_a_file_and_the_server_gets_the_schema(
    bench: MakeBench, codex: str
) -> None:
    made = bench(CODEX, default=[{"json": {"verdict": "FIX"}}])
    reply = codex_judges(made, codex)
    assert reply.result.end is AgentEnd.FINISHED, reply.result.message
    assert reply.answer == {"verdict": "FIX"}
    body = made.model.requests[0]["body"]
    form = body["text"]["format"]
    assert (form["strict"], form["schema"]) == (True, SCHEMA)
    # Nothing to run, and nothing that the server would look up by itself.
    assert [tool.get("name") or tool["type"] for tool in body["tools"]] == ["request_user_input"]
    assert made.model.heard("You are a reviewer.")
    assert not made.model.heard("You are a coding agent")


def test_prose_of_codex_is_no_answer_although_it_ends_well(bench: MakeBench, codex: str) -> None:
    reply = codex_judges(bench(CODEX, default=[{"text": "MERGE, I would say."}]), codex)
    assert reply.answer is None
    assert reply.missing.startswith("its last message is not JSON")
    assert reply.said == "MERGE, I would say."


@pytest.mark.parametrize("client", ["claude", "codex"])
def test_a_provider_in_trouble_is_told_as_such(
    bench: MakeBench, client: str, request: pytest.FixtureRequest
) -> None:
    program = request.getfixturevalue(client)
    error = {"type": "error", "error": {"type": "api_error", "message": "down"}}
    made = bench(CLAUDE | CODEX, default=[{"status": 500, "body": error}])
    reply = (claude_judges if client == "claude" else codex_judges)(made, program)
    assert reply.answer is None
    assert reply.result.end is AgentEnd.OUTAGE
    assert reply.result.trouble is Trouble.SERVER
