"""Readers of what mini-swe-agent, opencode, Gemini CLI and aider leave, against anything."""

from __future__ import annotations

import json
import sqlite3
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plugins.agents.conftest import Assign

from trialbook.api import AgentEnd, EnvironmentProblem, EventKind, Trouble
from trialbook.formats.records import to_json
from trialbook.formats.schema import load_schema
from trialbook.model.trajectory import Trajectory, bounded
from trialbook.testing import check_agent
from trialbook_agents import codex_run, mini_trajectory
from trialbook_agents.aider import AiderAgent
from trialbook_agents.aider_chat import read_aider
from trialbook_agents.claude_stream import read_claude
from trialbook_agents.gemini_cli import GeminiCliAgent
from trialbook_agents.gemini_stream import read_gemini
from trialbook_agents.jsonl import Records, read_object
from trialbook_agents.mini_swe_agent import MiniSweAgent
from trialbook_agents.mini_trajectory import read_mini
from trialbook_agents.opencode import OpencodeAgent
from trialbook_agents.opencode_stream import calls_kept, read_opencode, version_kept
from trialbook_agents.python_clients import interpreter_of, places_of

jsonschema = pytest.importorskip("jsonschema")

NAMES_THERE = """
type role part extra info messages event properties tokens input output state tool id text
content actions response usage model_stats instance_cost api_calls exit_status cost error
timestamp sessionID messageID tool_id tool_name status parameters stats models result reason
prompt_tokens completion_tokens cached message command returncode config metadata exit name data
statusCode interrupt_type choices session_id model delta cache read
"""
KEYS = st.sampled_from(NAMES_THERE.split())
WORDS_THERE = """
assistant user exit text tool_use step_finish error gemini message tool_result init result
message_send Submitted FormatError bash write read run_shell_command success completed stop
tool-calls tool_not_registered
"""
WORDS = st.sampled_from(WORDS_THERE.split())
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 10**18) | st.floats() | WORDS | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6),
    max_leaves=25,
)
OBJECTS = st.lists(st.dictionaries(KEYS, VALUES, max_size=8), max_size=8)


def claim_writable(events: Any) -> None:
    trajectory = Trajectory(client="x", events=events)
    jsonschema.validate(json.loads(to_json(bounded(trajectory))), load_schema("trajectory"))


def printed(records: Any) -> Records:
    return Records(items=tuple(records))


@pytest.mark.slow
@given(st.dictionaries(KEYS, VALUES, max_size=8), OBJECTS)
@settings(max_examples=60, deadline=None)
def test_no_trajectory_breaks_the_reader_of_mini_swe_agent(top: Any, messages: Any) -> None:
    run = read_mini({**top, "messages": messages}, "Do it.", Path("/workspace"))
    claim_writable(run.events)


@pytest.mark.slow
@given(OBJECTS)
@settings(max_examples=60, deadline=None)
def test_nothing_that_opencode_prints_breaks_its_reader(stream: Any) -> None:
    run = read_opencode(printed(stream), [], "Do it.", Path("/workspace"), "m")
    claim_writable(run.events)


@pytest.mark.slow
@given(OBJECTS, OBJECTS)
@settings(max_examples=60, deadline=None)
def test_nothing_that_gemini_prints_breaks_its_reader(stream: Any, chat: Any) -> None:
    run = read_gemini(printed(stream), [printed(chat)], "Do it.", Path("/workspace"))
    claim_writable(run.events)


@pytest.mark.slow
@given(OBJECTS, st.text(max_size=200), st.text(max_size=200))
@settings(max_examples=60, deadline=None)
def test_nothing_that_aider_logs_breaks_its_reader(
    tmp_path_factory: pytest.TempPathFactory, log: Any, chat: str, model_log: str
) -> None:
    folder = tmp_path_factory.mktemp("logs")
    lines = ["> Tokens: 1 sent", "> Applied edit to a.py", "> litellm.Timeout: x", f"> {chat}"]
    (folder / "chat.md").write_text("\n".join(lines), encoding="utf-8", errors="replace")
    said = f"LLM RESPONSE 2026-01-01T00:00:00\nASSISTANT {model_log}\n"
    (folder / "model.log").write_text(said, encoding="utf-8", errors="replace")
    run = read_aider(
        printed(log), folder / "chat.md", folder / "model.log", "Do it.", Path("/workspace")
    )
    claim_writable(run.events)


def test_what_a_model_says_is_not_taken_for_the_client_of_aider(tmp_path: Path) -> None:
    log = [{"event": "message_send", "properties": {"prompt_tokens": 5, "completion_tokens": 2}}]
    said = "ASSISTANT LLM RESPONSE 2026\nASSISTANT All tests pass."
    (tmp_path / "model.log").write_text(f"LLM RESPONSE 2026-01-01T00:00:00\n{said}\n")
    (tmp_path / "chat.md").write_text(
        "> Tokens: 5 sent\n> Applied edit to a.py\n> Applied edit x\n"
    )
    run = read_aider(
        printed(log), tmp_path / "chat.md", tmp_path / "model.log", "Do it.", Path("/workspace")
    )
    assert [event.kind for event in run.events] == [
        *(EventKind.PROMPT, EventKind.MESSAGE, EventKind.WRITE)
    ]
    assert run.last_words == ("LLM RESPONSE 2026\nAll tests pass.",)
    assert (run.edits, run.answers, run.exited) == (1, 1, False)


def test_a_trajectory_that_is_half_written_is_none(tmp_path: Path) -> None:
    path = tmp_path / "mini.traj.json"
    assert read_object(path) is None
    for data in (b"", b'{"info": {', b"[1]", b"\xff\xfe", b"[" * 100_000):
        path.write_bytes(data)
        assert read_object(path) is None
    path.write_bytes(b'{"info": "\xff"}')
    assert read_object(path) == {"info": "\ufffd"}
    link = tmp_path / "link"
    link.symlink_to(path)
    assert read_object(link) is None


@pytest.mark.parametrize("cost", [float("inf"), float("nan"), 1e300, -1.0, True, "1", None])
def test_a_cost_that_is_none_is_not_known(cost: Any) -> None:
    message = {"role": "assistant", "extra": {"actions": [], "cost": cost, "timestamp": cost}}
    info = {"model_stats": {"instance_cost": cost, "api_calls": 1}}
    run = read_mini({"info": info, "messages": [message]}, "p", Path("/w"))
    assert run.usage.cost_usd is None
    part = {"type": "step_finish", "timestamp": cost, "part": {"cost": cost, "tokens": {}}}
    assert read_opencode(printed([part]), [], "p", Path("/w"), "m").usage.cost_usd is None
    log = [{"event": "message_send", "properties": {"cost": cost}}]
    nothing = Path("/nowhere")
    aider = read_aider(printed(log), nothing, nothing, "p", Path("/w"))
    assert aider.usage.cost_usd is None
    claim_writable(run.events)
    claim_writable(aider.events)


def test_a_database_of_opencode_is_read_and_never_trusted(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    assert (calls_kept(path), version_kept(path)) == ([], None)
    path.write_bytes(b"this is no database" * 100)
    assert (calls_kept(path), version_kept(path)) == ([], None)
    path.unlink()
    answer = {
        "role": "assistant",
        "providerID": "p",
        "modelID": "m",
        "cost": 0.5,
        "tokens": {"input": 10, "output": 4, "reasoning": 1, "cache": {"read": 3, "write": 2}},
    }
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE message (data)")
        connection.execute("CREATE TABLE session (version)")
        connection.execute("INSERT INTO session VALUES ('1.2.3')")
        for data in (json.dumps(answer), "{broken", 7, None, json.dumps({"role": "user"})):
            connection.execute("INSERT INTO message VALUES (?)", (data,))
    connection.close()
    (call,) = calls_kept(path)
    assert (call.model, call.cost) == ("p/m", 0.5)
    usage = call.usage
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (10, 3, 2)
    # Its output is without reasoning; a record's has it.
    assert (usage.output_tokens, usage.reasoning_tokens) == (5, 1)
    assert version_kept(path) == "1.2.3"


def test_work_without_end_in_a_database_is_given_up(tmp_path: Path) -> None:
    path = tmp_path / "opencode.db"
    endless = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) "
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE VIEW message AS {endless} SELECT x AS data FROM n WHERE x < 0")
    connection.close()
    assert calls_kept(path) == []


def program(folder: Path, name: str, *lines: str) -> str:
    path = folder / name
    path.write_text("#!/bin/sh\ncat >/dev/null\n" + "\n".join(lines) + "\n")
    path.chmod(0o755)
    return str(path)


def test_opencode_keeps_the_promises_of_its_seam(tmp_path: Path) -> None:
    part = {"id": "p", "reason": "stop", "tokens": {"input": 1, "output": 1}}
    line = json.dumps({"type": "step_finish", "sessionID": "s", "part": part})
    made = program(tmp_path, "opencode", f"printf '%s\\n' '{line}'")
    (tmp_path / "bench").mkdir()
    check_agent(OpencodeAgent(), tmp_path / "bench", parameters={"program": made})


def test_gemini_cli_keeps_the_promises_of_its_seam(tmp_path: Path) -> None:
    line = json.dumps({"type": "result", "status": "success", "stats": {}})
    made = program(tmp_path, "gemini", f"printf '%s\\n' '{line}'")
    (tmp_path / "bench").mkdir()
    check_agent(GeminiCliAgent(), tmp_path / "bench", parameters={"program": made})


def test_aider_keeps_the_promises_of_its_seam(tmp_path: Path) -> None:
    answer = json.dumps({"event": "message_send", "properties": {"prompt_tokens": 1}})
    made = program(tmp_path, "aider", f"printf '%s\\n' '{answer}' > $HOME/.aider/events.jsonl")
    (tmp_path / "bench").mkdir()
    check_agent(AiderAgent(), tmp_path / "bench", parameters={"program": made})


def test_mini_swe_agent_keeps_the_promises_of_its_seam(tmp_path: Path) -> None:
    environment = tmp_path / "environment"
    settings_of = environment / "lib/python3.11/site-packages/minisweagent/config"
    settings_of.mkdir(parents=True)
    (settings_of / "mini.yaml").write_text("agent: {}\n")
    (environment / "bin").mkdir()
    (environment / "bin/python3").symlink_to(sys.executable)
    made = environment / "bin/mini"
    done = {"info": {"exit_status": "Submitted", "mini_version": "1"}, "messages": []}
    made.write_text(
        f"#!{environment}/bin/python3\nimport sys\n"
        f"open(sys.argv[sys.argv.index('-o') + 1], 'w').write({json.dumps(done)!r})\n"
    )
    made.chmod(0o755)
    (tmp_path / "bench").mkdir()
    check_agent(MiniSweAgent(), tmp_path / "bench", parameters={"program": str(made)})


def test_the_interpreter_of_a_script_is_found_however_pip_wrote_it(tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "mini"
    script.write_text(f"#!{folder}/python3\nimport sys\n")
    assert interpreter_of(script) == folder / "python3"
    script.write_text(f"#!/bin/sh\n'''exec' {folder}/python3.11 \"$0\" \"$@\"\n' '''\n")
    assert interpreter_of(script) == folder / "python3.11"
    script.write_text(f"#!/bin/sh\n'''exec' \"{tmp_path}/a b/python3\" \"$0\" \"$@\"\n' '''\n")
    assert interpreter_of(script) == tmp_path / "a b/python3"
    for text in ("#!/bin/bash\n", "", "#!/usr/bin/env python3\n", "\x7fELF"):
        script.write_text(text)
        with pytest.raises(EnvironmentProblem):
            interpreter_of(script)


def test_a_sandbox_is_shown_the_environment_and_what_it_was_made_with(tmp_path: Path) -> None:
    environment, base = tmp_path / "environment", tmp_path / "base"
    for folder in (environment / "bin", base / "bin"):
        folder.mkdir(parents=True)
    (environment / "pyvenv.cfg").write_text(f"home = {base}/bin\nversion = 3.11\n")
    script = environment / "bin/aider"
    script.write_text(f"#!{environment}/bin/python3\n")
    assert places_of(script) == (environment, base)
    elsewhere = tmp_path / "aider"
    elsewhere.write_text(f"#!{environment}/bin/python3\n")
    with pytest.raises(EnvironmentProblem, match="is not installed beside its interpreter"):
        places_of(elsewhere)


@pytest.mark.parametrize(
    ("said", "code", "end", "trouble"),
    [
        ("echo '  status: 429' >&2", 173, AgentEnd.OUTAGE, Trouble.RATE_LIMIT),
        ("echo '  code: 404' >&2", 1, AgentEnd.OUTAGE, Trouble.MODEL),
        ("true", 145, AgentEnd.OUTAGE, Trouble.AUTHENTICATION),
        ("echo 'TypeError: fetch failed' >&2", 1, AgentEnd.OUTAGE, Trouble.CONNECTION),
        ("echo 'No input provided' >&2", 42, AgentEnd.ERROR, None),
        ("true", 0, AgentEnd.ERROR, None),
    ],
)
def test_gemini_without_a_result_is_judged_by_status_and_words(
    assign: Assign,
    tmp_path: Path,
    said: str,
    code: int,
    end: AgentEnd,
    trouble: Trouble | None,
) -> None:
    made = program(tmp_path, "gemini", said, f"exit {code}")
    result = GeminiCliAgent().run(assign(parameters={"program": made}))
    assert (result.end, result.trouble) == (end, trouble), result.message


def test_counts_that_contradict_each_other_are_unknown_and_not_0() -> None:
    said = {"input_tokens": 100, "cached_input_tokens": 200, "output_tokens": 80}
    assert codex_run.usage_of(said).input_tokens is None
    assert codex_run.usage_of({**said, "input_tokens": 300}).input_tokens == 100
    other = {"prompt_tokens": 1, "prompt_tokens_details": {"cached_tokens": 2}}
    assert mini_trajectory.usage_of(other).input_tokens is None


def test_calls_that_nobody_saw_are_unknown_and_not_0() -> None:
    model = {"inputTokens": 10, "outputTokens": 3}
    ended = {"type": "result", "modelUsage": {"m": model}}
    for stream in ((), (ended,)):
        usage = read_claude(Records(items=stream), [], "p", Path("/w")).usage
        assert (usage.model_calls, usage.turns) == (None, None)
    refused = {"type": "result", "is_error": True, "modelUsage": {}}
    assert read_claude(Records(items=(refused,)), [], "p", Path("/w")).usage.model_calls == 0
