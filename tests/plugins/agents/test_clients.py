"""What adapters of real clients have in common; their readers against anything that is printed."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.plugins.agents.conftest import Assign

from trialbook.api import (
    AgentEnd,
    AgentResult,
    Client,
    Ended,
    EventKind,
    Limits,
    Price,
    PriceTable,
    ProcessResult,
    Trouble,
    Usage,
)
from trialbook.formats.records import to_json
from trialbook.formats.schema import load_schema
from trialbook.model.trajectory import Trajectory, bounded
from trialbook.process import run
from trialbook.testing import check_agent
from trialbook_agents.claude_code import ClaudeCodeAgent
from trialbook_agents.claude_stream import read_claude
from trialbook_agents.clients import (
    Ending,
    Finish,
    ask_version,
    files_below,
    find_program,
    keep_copy,
)
from trialbook_agents.codex import CodexAgent
from trialbook_agents.codex_record import read_codex
from trialbook_agents.events import EventLog
from trialbook_agents.jsonl import Records, Tail, read_records
from trialbook_agents.meter import Meter


def script(folder: Path, name: str, *lines: str) -> str:
    """A program that reads its input, prints some lines, and ends well."""
    path = folder / name
    path.write_text("#!/bin/sh\ncat >/dev/null\n" + "\n".join(lines) + "\n")
    path.chmod(0o755)
    return str(path)


def printed(*records: dict[str, Any]) -> list[str]:
    return [f"printf '%s\\n' '{json.dumps(record)}'" for record in records]


_ENDING = Ending(
    client="Thing", process=ProcessResult(ended=Ended.EXITED, exit_code=3, seconds=1.5)
)
INIT = {"type": "system", "subtype": "init", "session_id": "s", "model": "m"}
RESULT = {"type": "result", "subtype": "success", "is_error": False, "result": "Done."}


def test_claude_code_keeps_the_promises_of_its_seam(tmp_path: Path) -> None:
    program = script(tmp_path, "claude", *printed(INIT, RESULT))
    (tmp_path / "bench").mkdir()
    check_agent(ClaudeCodeAgent(), tmp_path / "bench", parameters={"program": program})


def test_codex_keeps_the_promises_of_its_seam(tmp_path: Path) -> None:
    started = {"type": "thread.started", "thread_id": "t"}
    program = script(tmp_path, "codex", *printed(started, {"type": "turn.completed", "usage": {}}))
    (tmp_path / "bench").mkdir()
    check_agent(CodexAgent(), tmp_path / "bench", parameters={"program": program})


def claude_says(assign: Assign, tmp_path: Path, *lines: str) -> AgentResult:
    program = script(tmp_path, "claude", *lines)
    return ClaudeCodeAgent().run(assign(parameters={"program": program}))


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ((), "without a result"),
        (("echo 'Sorry, no.'",), "without a result"),
        (("echo 'bad option' >&2", "exit 1"), " without a result: bad option"),
        ((*printed(INIT), 'printf \'{"type": "resu\''), "without a result"),
        (("printf '\\377\\376\\n'",), "without a result"),
    ],
)
def test_output_that_is_cut_or_no_json_is_an_error_and_no_guess(
    assign: Assign, tmp_path: Path, lines: tuple[str, ...], said: str
) -> None:
    result = claude_says(assign, tmp_path, *lines)
    assert result.end is AgentEnd.ERROR
    assert said in result.message
    assert result.trajectory is not None
    assert result.trajectory.truncated


def test_a_result_that_says_success_counts_only_with_status_0(
    assign: Assign, tmp_path: Path
) -> None:
    assert claude_says(assign, tmp_path, *printed(RESULT)).end is AgentEnd.FINISHED
    result = claude_says(assign, tmp_path, *printed(RESULT), "exit 7")
    assert result.end is AgentEnd.ERROR
    assert "status 7" in result.message


def test_a_turn_that_was_not_completed_is_an_error(assign: Assign, tmp_path: Path) -> None:
    lines = printed({"type": "thread.started", "thread_id": "t"}, {"type": "turn.started"})
    program = script(tmp_path, "codex", *lines)
    result = CodexAgent().run(assign(parameters={"program": program}))
    assert result.end is AgentEnd.ERROR
    assert "no turn was completed" in result.message


def test_a_sandbox_of_codex_that_lets_nothing_through_is_our_problem(
    assign: Assign, tmp_path: Path
) -> None:
    item = {"id": "i", "type": "command_execution", "command": "ls", "exit_code": 1}
    item |= {"aggregated_output": "bwrap: execvp codex-linux-sandbox: no", "status": "failed"}
    records = ({"type": "item.completed", "item": item}, {"type": "turn.completed", "usage": {}})
    program = script(tmp_path, "codex", *printed(*records))
    result = CodexAgent().run(assign(parameters={"program": program}))
    assert result.end is AgentEnd.ENVIRONMENT
    assert "execvp codex-linux-sandbox" in result.message


# --- whatever stands there --------------------------------------------------------------------

KEYS = """
type subtype message content id name input text tool_use tool_result assistant user result
system usage model input_tokens output_tokens modelUsage costBasis total_cost_usd item items
item.completed command_execution file_change changes path status turn.completed turn.failed
error payload response_item event_msg token_usage_record function_call arguments call_id
session_meta item_completed CommandExecution task_complete permission_denials is_error
tool_use_id Bash command reasoning summary apply_patch custom_tool_call output
function_call_output agent_id parent_tool_use_id thread.started aggregated_output
"""
WORDS = st.sampled_from(KEYS.split())
TEXT = WORDS | st.text(max_size=8) | st.just("*** Add File: a\x00b\ud800")
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=6),
    max_leaves=25,
)
OBJECTS = st.lists(st.dictionaries(WORDS, VALUES, max_size=6), max_size=8)


def fits(events: Any) -> None:
    """What was read can be written, and is what the schema says."""
    from jsonschema import Draft202012Validator  # noqa: PLC0415 - slow to import

    data = to_json(bounded(Trajectory(client="c", events=events)))
    Draft202012Validator(load_schema("trajectory")).validate(json.loads(data))


@pytest.mark.slow
@given(OBJECTS, OBJECTS)
@settings(max_examples=80, deadline=None)
def test_nothing_that_claude_code_prints_breaks_its_reader(stream: Any, kept: Any) -> None:
    workspace = Path("/w")
    read = read_claude(Records(items=tuple(stream)), [Records(items=tuple(kept))], "p", workspace)
    fits(read.events)
    assert isinstance(read.usage, Usage)


@pytest.mark.slow
@given(OBJECTS, OBJECTS)
@settings(max_examples=80, deadline=None)
def test_nothing_that_codex_prints_breaks_its_reader(stream: Any, kept: Any) -> None:
    workspace = Path("/w")
    read = read_codex(Records(items=tuple(stream)), [Records(items=tuple(kept))], "p", workspace)
    fits(read.events)
    assert isinstance(read.usage, Usage)


# --- reading ----------------------------------------------------------------------------------


def test_lines_that_are_no_objects_are_counted(tmp_path: Path) -> None:
    path = tmp_path / "out"
    path.write_bytes(b'{"a": 1}\n\nprose\n[1]\n{"b": "\xff"}\n{"c"')
    assert read_records(path) == Records(items=({"a": 1}, {"b": "\ufffd"}), broken=3, cut=True)
    path.write_bytes(b'{"a": 1}\n{"b": 2}')
    assert read_records(path) == Records(items=({"a": 1}, {"b": 2}))
    assert read_records(path, 12) == Records(items=({"a": 1},), broken=1, cut=True)
    assert read_records(tmp_path / "nothing") == Records()
    (tmp_path / "link").symlink_to(path)
    assert read_records(tmp_path / "link") == Records()
    path.write_bytes(b"[" * 200_000 + b"\n{" + b'"a":[' * 100_000 + b"\n")
    assert read_records(path).broken == 2


def test_a_file_that_grows_is_read_on(tmp_path: Path) -> None:
    path = tmp_path / "out"
    tail = Tail(path)
    assert tail.more() == []
    with path.open("ab", buffering=0) as file:
        file.write(b'{"a": 1}\n{"b"')
        assert tail.more() == [{"a": 1}]
        file.write(b": 2}\nprose\n")
        assert tail.more() == [{"b": 2}]
    assert tail.more() == []


def test_copies_are_bounded_and_follow_no_link(tmp_path: Path) -> None:
    source, target = tmp_path / "source", tmp_path / "target"
    source.write_bytes(b"0123456789")
    keep_copy(source, target, 4)
    assert target.read_bytes() == b"0123"
    link = tmp_path / "link"
    link.symlink_to(source)
    keep_copy(link, tmp_path / "other", 4)
    keep_copy(tmp_path, tmp_path / "other", 4)
    assert not (tmp_path / "other").exists()
    assert files_below(tmp_path, "s*") == [source]


# --- programs ---------------------------------------------------------------------------------


def test_a_program_is_found_by_path_home_and_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = Path(script(tmp_path, "thing", "echo 'thing 1.2.3 (x)'"))
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin/other").symlink_to(program)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    assert find_program(str(program)) == program
    assert find_program("~/thing") == program
    assert find_program("other") == program
    assert find_program("thing") is None


def test_a_version_is_what_the_program_says(tmp_path: Path) -> None:
    good = Path(script(tmp_path, "good", "echo 'thing-cli 1.2.3-rc.1 (x)'"))
    assert ask_version(good, "Thing", run, "get it") == Client(
        program=str(good), version="1.2.3-rc.1", hint="get it"
    )
    bad = Path(script(tmp_path, "bad", "echo nothing here", "exit 3"))
    found = ask_version(bad, "Thing", run, "get it")
    assert found.version is None
    assert found.reason == f"{bad} --version fails: nothing here"
    assert found.hint == "install it again: get it"
    assert ask_version(None, "Thing", run, "get it").reason == "Thing is not on the PATH"


@pytest.mark.parametrize("ended", list(Ended))
def test_a_process_that_did_not_end_by_itself_decides(ended: Ended) -> None:
    process = ProcessResult(ended=ended, signal=9, message="because", leftover_processes=2)
    ending = Ending(client="Thing", process=process)
    finish = ending.judged(ending.finished)
    assert (finish.end is AgentEnd.FINISHED) is (ended is Ended.EXITED)
    assert finish.message.endswith("because; 2 of its processes had to be killed")
    # Only a run that was stopped from outside can have been stopped for trouble with the provider.
    lost = ending.judged(
        ending.finished, lambda said: Trouble.SERVER if "because" in said else None
    )
    expected = (
        (AgentEnd.FINISHED, None)
        if ended is Ended.EXITED
        else (*(AgentEnd.OUTAGE, Trouble.SERVER),)
    )
    assert (lost.end, lost.trouble) == expected
    assert ending.judged(ending.finished, lambda _: None) == finish


@pytest.mark.parametrize(
    ("finish", "said"),
    [
        (_ENDING.finished(), (AgentEnd.FINISHED, "Thing finished after 1.5 s")),
        (_ENDING.stopped("enough"), (AgentEnd.BUDGET, "Thing stopped after 1.5 s: enough")),
        (
            _ENDING.gave_up(Trouble.SERVER, "boom", ", HTTP 500"),
            (AgentEnd.OUTAGE, "Thing gave up after 1.5 s: server, HTTP 500: boom"),
        ),
        (
            _ENDING.gave_up(Trouble.REQUEST, "too long"),
            (AgentEnd.ERROR, "Thing gave up after 1.5 s: request: too long"),
        ),
        (_ENDING.gave_up(None, "stuck"), (AgentEnd.ERROR, "Thing gave up after 1.5 s: stuck")),
        (
            _ENDING.failed(", with no answer"),
            (AgentEnd.ERROR, "Thing exited with status 3 after 1.5 s, with no answer"),
        ),
        (
            _ENDING.failed("", "why"),
            (AgentEnd.ERROR, "Thing exited with status 3 after 1.5 s: why"),
        ),
    ],
)
def test_every_end_is_told_in_one_form(finish: Finish, said: tuple[AgentEnd, str]) -> None:
    assert (finish.end, finish.message) == said


# --- events and limits ------------------------------------------------------------------------


def test_a_call_and_its_answer_are_one_event(tmp_path: Path) -> None:
    log = EventLog(tmp_path)
    log.add(EventKind.COMMAND, call="c", command="ls", at="2026-11-30T10:00:01Z")
    log.add(EventKind.READ, path=f"{tmp_path}/src/a.py", at="2026-11-30T10:00:03Z", agent="x")
    log.add(EventKind.WRITE, path="/elsewhere/b", at="2026-11-30T10:00:02Z")
    log.answer("c", exit_code=0, ok=True, output="a")
    log.answer("unknown", exit_code=1)
    command, write, read = log.events()
    assert (command.number, command.command, command.exit_code) == (1, "ls", 0)
    assert (write.number, write.path) == (2, "/elsewhere/b")
    assert (read.number, read.path, read.agent) == (3, "src/a.py", "x")


def test_a_meter_says_which_limit_is_exceeded(assign: Assign) -> None:
    prices = PriceTable(
        path="p", sha256="0", date="2026-11-30", models={"m": Price(input="2", output="4")}
    )
    limits = Limits(turns=2, tokens=2_000_000, usd=3)
    meter = Meter(assign(limits=limits, prices=prices, model="m"))
    meter.call("one", Usage(input_tokens=500_000, output_tokens=500_000))
    assert meter.over() == ""
    meter.call("two", Usage(input_tokens=100, output_tokens=0))
    meter.call("two", Usage(input_tokens=200, output_tokens=0))
    assert meter.over() == "it cost 3.0004 US dollars, and 3 are allowed"
    meter.call("two", Usage(input_tokens=2_000_000, output_tokens=0))
    assert meter.over() == "it used 3000000 tokens, and 2000000 are allowed"
    meter.call("three", Usage())
    assert meter.over() == "it asked the model 3 times, and 2 are allowed"
    other = Meter(assign(limits=limits, prices=prices, model="unpriced"))
    other.call("one", Usage(input_tokens=1_900_000, output_tokens=0))
    assert other.over() == ""
