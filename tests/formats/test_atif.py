from __future__ import annotations

import copy
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trialbook.errors import UserError
from trialbook.formats.atif import atif_faults
from trialbook.formats.atif_export import to_atif
from trialbook.formats.atif_import import from_atif
from trialbook.formats.records import to_json
from trialbook.model.trajectory import CallUsage, Event, EventKind, Trajectory
from trialbook.model.usage import Usage

AGENT_STEP: dict[str, Any] = {
    "step_id": 2,
    "timestamp": "2026-01-01T00:00:00Z",
    "source": "agent",
    "model_name": "m",
    "reasoning_effort": "high",
    "message": [{"type": "text", "text": "I look."}],
    "reasoning_content": "Hm.",
    "tool_calls": [
        {"tool_call_id": "a", "function_name": "bash", "arguments": {"command": "ls"}},
        {"tool_call_id": "b", "function_name": "Read", "arguments": {"file_path": "x.py"}},
    ],
    "observation": {
        "results": [{"source_call_id": "a", "content": "x.py"}, {"source_call_id": "b"}]
    },
    "metrics": {
        "prompt_tokens": 100,
        "cached_tokens": 60,
        "completion_tokens": 5,
        "cost_usd": 0.25,
    },
    "llm_call_count": 1,
}
DOCUMENT: dict[str, Any] = {
    "schema_version": "ATIF-v1.8",
    "session_id": "s",
    "agent": {"name": "other", "version": "2", "model_name": "m"},
    "steps": [{"step_id": 1, "source": "user", "message": "Do."}, AGENT_STEP],
    "final_metrics": {"total_steps": 2},
}


def document(path: str = "", value: object = None) -> dict[str, Any]:
    """The document with one value put in place; ``...`` takes it out."""
    made = copy.deepcopy(DOCUMENT)
    if path:
        here: Any = made
        *way, last = [int(p) if p.isdigit() else p for p in path.split(".")]
        for name in way:
            here = here[name]
        if value is ...:
            del here[last]
        else:
            here[last] = value
    return made


def test_a_valid_document_has_no_faults() -> None:
    assert atif_faults(DOCUMENT) == []
    for version in range(9):
        assert atif_faults(document("schema_version", f"ATIF-v1.{version}")) == []
    image = {"type": "image", "source": {"media_type": "image/png", "path": "a.png"}}
    assert atif_faults(document("steps.1.message", [image])) == []


@pytest.mark.parametrize(
    ("path", "value", "where", "said"),
    [
        ("schema_version", "ATIF-v1.9", "$.schema_version", "ATIF-v1.0 to ATIF-v1.8"),
        ("schema_version", ..., "$", "has no schema_version"),
        ("agent", ..., "$", "has no agent"),
        ("agent.name", ..., "$.agent", "has no name"),
        ("agent.nam", "x", "$.agent.nam", "put it into `extra`"),
        ("steps", [], "$.steps", "at least one step"),
        ("steps", {}, "$.steps", "must be a list"),
        ("foo", 1, "$.foo", "no field"),
        ("steps.0.step_id", 2, "$.steps[0].step_id", "count on from 1"),
        ("steps.1.step_id", 3, "$.steps[1].step_id", "count on from 1"),
        ("steps.1.source", "robot", "$.steps[1].source", "system, user or agent"),
        ("steps.1.timestamp", "yesterday", "$.steps[1].timestamp", "ISO 8601"),
        ("steps.1.message", 3, "$.steps[1].message", "list of parts"),
        ("steps.1.message", ..., "$.steps[1]", "has no message"),
        ("steps.1.message", [{"type": "video"}], "$.steps[1].message[0]", "text, image or audio"),
        (
            "steps.1.message",
            [{"type": "image", "source": {"media_type": "image/bmp", "path": "a"}}],
            "$.steps[1].message[0].source.media_type",
            "image/jpeg",
        ),
        ("steps.0.model_name", "m", "$.steps[0].model_name", "agent only"),
        ("steps.0.reasoning_effort", "x", "$.steps[0].reasoning_effort", "agent only"),
        ("steps.0.reasoning_content", "x", "$.steps[0].reasoning_content", "agent only"),
        ("steps.0.tool_calls", [], "$.steps[0].tool_calls", "agent only"),
        ("steps.0.metrics", {}, "$.steps[0].metrics", "agent only"),
        ("steps.1.llm_call_count", 0, "$.steps[1].metrics", "llm_call_count is 0"),
        ("steps.1.tool_calls.0.arguments", "ls", "$.steps[1].tool_calls[0].arguments", "object"),
        ("steps.1.tool_calls.0.function_name", ..., "$.steps[1].tool_calls[0]", "function_name"),
        ("steps.1.tool_calls.0.x", 1, "$.steps[1].tool_calls[0].x", "no field"),
        (
            "steps.1.observation.results.0.source_call_id",
            "z",
            "$.steps[1].observation.results[0].source_call_id",
            "no tool call of this step",
        ),
        ("steps.1.metrics.prompt_tokens", -1, "$.steps[1].metrics.prompt_tokens", "from 0 on"),
        ("steps.1.metrics.prompt_tokens", True, "$.steps[1].metrics.prompt_tokens", "from 0 on"),
        ("steps.1.metrics.cached_tokens", 101, "$.steps[1].metrics.cached_tokens", "part of"),
        ("steps.1.metrics.tokens", 1, "$.steps[1].metrics.tokens", "no field"),
        ("final_metrics.total_steps", "2", "$.final_metrics.total_steps", "from 0 on"),
        ("subagent_trajectories", [{}], "$.subagent_trajectories[0]", "trajectory_id of its own"),
    ],
)
def test_each_breach_of_a_rule_is_told_with_its_place(
    path: str, value: object, where: str, said: str
) -> None:
    made = document(path, value)
    found = atif_faults(made)
    assert any(one.where == where and said in one.message for one in found), found
    with pytest.raises(UserError) as caught:
        from_atif(made, "f.json")
    assert any(where in one.path for one in caught.value.problems)


def test_sub_agents_have_ids_of_their_own_and_do_not_go_down_for_ever() -> None:
    inner = {**document(), "trajectory_id": "t"}
    twice = document("subagent_trajectories", [inner, inner])
    assert "$.subagent_trajectories[1].trajectory_id" in {one.where for one in atif_faults(twice)}
    deep = inner
    for _ in range(40):
        deep = {**inner, "subagent_trajectories": [deep]}
    assert "levels deep" in "".join(one.message for one in atif_faults(deep))
    many = document("steps", [{"step_id": 0}] * 10_000)
    assert len(atif_faults(many)) == 50


def test_documents_of_other_programs_are_read_as_events() -> None:
    found = from_atif(DOCUMENT, "f.json")
    made = found.trajectory
    assert (made.client, made.client_version, made.session_id, made.model) == (
        "other",
        "2",
        "s",
        "m",
    )
    assert [(one.number, one.kind.value, one.turn) for one in made.events] == [
        (1, "prompt", None),
        (2, "reasoning", 1),
        (3, "message", 1),
        (4, "command", 1),
        (5, "read", 1),
    ]
    _, thought, said, ran, read = made.events
    assert (thought.text, said.text) == ("Hm.", "I look.")
    assert (ran.command, ran.call, ran.output, ran.path) == ("ls", "a", "x.py", None)
    assert (read.path, read.output) == ("x.py", None)
    # What was read without a cache is the whole without what came from it.
    assert thought.usage == CallUsage(
        input_tokens=40, cache_read_tokens=60, output_tokens=5, cost_usd="0.25"
    )
    assert found.left_out == {"final_metrics": 1, "reasoning_effort": 1}


def test_steps_of_others_among_ours_are_counted_on() -> None:
    made = to_atif(Trajectory(client="c", events=(Event(number=7, kind=EventKind.PROMPT),)), "n")
    made["steps"].append({"step_id": 2, "source": "system", "message": "end"})
    assert [one.number for one in from_atif(made, "f").trajectory.events] == [1, 2]


def test_sub_agents_stand_where_they_are_spoken_of_and_once() -> None:
    inner = {**document(), "trajectory_id": "t", "steps": [AGENT_STEP | {"step_id": 1}]}
    made = document("subagent_trajectories", [inner, {**inner, "trajectory_id": "u"}])
    reference = [{"trajectory_id": "t"}, {"trajectory_id": "t"}, {"trajectory_id": "none"}]
    made["steps"][1]["observation"]["results"][0]["subagent_trajectory_ref"] = reference
    made["steps"].append({"step_id": 3, "source": "system", "message": "end"})
    events = from_atif(made, "f").trajectory.events
    agents = [one.agent for one in events]
    assert agents == [None] * 5 + ["t"] * 4 + [None] + ["u"] * 4
    assert [one.number for one in events] == list(range(1, 15))


def test_what_an_agent_did_is_written_in_steps() -> None:
    usage = CallUsage(
        input_tokens=10,
        cache_read_tokens=60,
        cache_write_tokens=30,
        output_tokens=5,
        cost_usd="0.1",
    )
    call = {"turn": 1, "at": "2026-01-01T00:00:00Z"}
    events = (
        Event(number=1, kind=EventKind.PROMPT, text="Do."),
        Event(number=2, kind=EventKind.REASONING, text="Hm.", usage=usage, **call),
        Event(number=3, kind=EventKind.MESSAGE, text="I look.", **call),
        Event(number=4, kind=EventKind.COMMAND, command="ls", tool="Bash", call="a", **call),
        Event(number=5, kind=EventKind.WRITE, path="x", call="a", output="done", **call),
        Event(number=6, kind=EventKind.MESSAGE, text="Done.", **call),
        Event(number=7, kind=EventKind.ERROR, text="overloaded"),
    )
    trajectory = Trajectory(client="c", client_version="1", model="m", events=events)
    total = Usage(input_tokens=10, cache_read_tokens=60, cache_write_tokens=30, cost_usd="0.1")
    made = to_atif(trajectory, "run/task/c/r1", total)
    assert atif_faults(made) == []
    assert [(one["source"], one["message"]) for one in made["steps"]] == [
        ("user", "Do."),
        ("agent", "I look."),
        ("agent", "Done."),
        ("system", "overloaded"),
    ]
    step = made["steps"][1]
    assert step["reasoning_content"] == "Hm."
    assert [one["tool_call_id"] for one in step["tool_calls"]] == ["a", "a#2"]
    assert step["tool_calls"][0]["arguments"] == {"command": "ls"}
    assert step["observation"] == {"results": [{"source_call_id": "a#2", "content": "done"}]}
    assert step["metrics"]["prompt_tokens"] == 100
    assert (step["llm_call_count"], made["steps"][2]["llm_call_count"]) == (1, 0)
    assert made["final_metrics"] == {
        "total_prompt_tokens": 100,
        "total_cached_tokens": 60,
        "total_cost_usd": 0.1,
        "total_steps": 4,
    }
    assert from_atif(made, "f").trajectory == trajectory


def test_a_trajectory_without_events_is_a_valid_document_too() -> None:
    trajectory = Trajectory(client="c")
    made = to_atif(trajectory, "n")
    assert atif_faults(made) == []
    assert from_atif(made, "f").trajectory == trajectory


COUNTS = st.one_of(st.none(), st.integers(0, 10**9))
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
TEXTS = st.one_of(st.none(), TEXT)
USAGES = st.builds(
    CallUsage,
    input_tokens=COUNTS,
    cache_read_tokens=COUNTS,
    cache_write_tokens=COUNTS,
    output_tokens=COUNTS,
    reasoning_tokens=COUNTS,
    cost_usd=st.one_of(
        st.none(), st.sampled_from(["0.1", "0.100", "1e-9", "12", "NaN", "x", "-1"])
    ),
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), TEXT),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(TEXT, inner, max_size=3)),
    max_leaves=5,
)
EVENTS = st.builds(
    Event,
    number=st.integers(-2, 10_000),
    kind=st.sampled_from(EventKind),
    at=st.one_of(TEXTS, st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:00:01+02:00"])),
    turn=st.one_of(st.none(), st.integers(-1, 3)),
    agent=st.one_of(st.none(), st.sampled_from(["a", "b", ""])),
    text=TEXT,
    tool=TEXTS,
    call=st.one_of(st.none(), st.sampled_from(["a", "a#2", "event-1", ""])),
    arguments=st.one_of(st.none(), st.dictionaries(TEXT, VALUES, max_size=3)),
    command=TEXTS,
    path=TEXTS,
    output=TEXTS,
    output_bytes=COUNTS,
    exit_code=st.one_of(st.none(), st.integers(-255, 255)),
    ok=st.sampled_from([None, True, False]),
    denied=st.booleans(),
    usage=st.one_of(st.none(), USAGES),
)
TRAJECTORIES = st.builds(
    Trajectory,
    client=TEXT,
    client_version=TEXTS,
    session_id=TEXTS,
    model=TEXTS,
    source=TEXTS,
    truncated=st.booleans(),
    unknown_events=st.integers(0, 5),
    omitted_events=st.integers(0, 5),
    events=st.lists(EVENTS, max_size=8).map(tuple),
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(TRAJECTORIES)
def test_what_is_written_is_valid_and_comes_back_as_it_was(trajectory: Trajectory) -> None:
    made = json.loads(json.dumps(to_atif(trajectory, "n")))
    assert atif_faults(made) == []
    assert from_atif(made, "f").trajectory == trajectory


PLACES = st.sampled_from(
    ["kind", "number", "text", "without", "usage", "call", "arguments", "exit_code", "denied", "x"]
)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(TRAJECTORIES, PLACES, VALUES)
def test_what_was_tampered_with_is_read_or_refused_and_nothing_else(
    trajectory: Trajectory, place: str, value: object
) -> None:
    made = to_atif(trajectory, "n")
    for step in made["steps"]:
        for event in step["extra"]["trialbook"]["events"]:
            event[place] = value
    with suppress(UserError):
        to_json(from_atif(made, "f").trajectory)


@settings(max_examples=200, deadline=None)
@given(st.one_of(VALUES, st.dictionaries(st.sampled_from(list(DOCUMENT)), VALUES)))
def test_any_value_is_judged(value: object) -> None:
    for made in (value, {**DOCUMENT, **(value if isinstance(value, dict) else {})}):
        with suppress(UserError):
            from_atif(made, "f")
