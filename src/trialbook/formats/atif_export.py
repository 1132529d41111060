"""Writes a trajectory as ATIF, so that reading it back gives the same one.

A step of the agent is at most one thing that it thought, one that it said, and then its tool calls;
what one call of the model came to may be several steps, of which the first has what it used.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any

from trialbook.formats.atif import VERSION
from trialbook.formats.atif_steps import (
    DEFAULTS,
    DONE,
    LEFT_OVER,
    OURS,
    SAID,
    dollars,
    metrics_of,
)
from trialbook.model.trajectory import SCHEMA, Event, EventKind, Trajectory
from trialbook.model.usage import Usage

_UNKNOWN = "unknown"
_NOTHING = "No event is on record."
_ORDER = {EventKind.REASONING: 0, EventKind.MESSAGE: 1}
_CALLS = 2


def to_atif(trajectory: Trajectory, name: str, usage: Usage | None = None) -> dict[str, Any]:
    """The document.

    Args:
        trajectory: What the agent did.
        name: What to call it where it has no session id.
        usage: What the attempt used in all, if that is known.
    """
    groups = list(_grouped(trajectory.events))
    seen: set[int] = set()
    steps = [_step(number, group, seen) for number, group in enumerate(groups, 1)]
    if not steps:
        steps = [_told(1, "system", _NOTHING, [])]
    agent: dict[str, Any] = {
        "name": trajectory.client,
        "version": trajectory.client_version or _UNKNOWN,
    }
    if trajectory.model is not None:
        agent["model_name"] = trajectory.model
    return {
        "schema_version": VERSION,
        "session_id": trajectory.session_id or name,
        "trajectory_id": name,
        "agent": agent,
        "steps": steps,
        "final_metrics": {**_totals(usage), "total_steps": len(steps)},
        "extra": {
            OURS: {
                "schema": SCHEMA,
                "client_version": trajectory.client_version,
                "session_id": trajectory.session_id,
                "source": trajectory.source,
                "truncated": trajectory.truncated,
                "unknown_events": trajectory.unknown_events,
                "omitted_events": trajectory.omitted_events,
            }
        },
    }


def _grouped(events: Sequence[Event]) -> Iterator[list[Event]]:
    """Events that make one step: of one call of the model and one agent, in the order of a step."""
    group: list[Event] = []
    for event in events:
        if group and not _goes_on(group[-1], event):
            yield group
            group = []
        group.append(event)
    if group:
        yield group


def _goes_on(before: Event, event: Event) -> bool:
    if not (_is_agents(before) and _is_agents(event)) or event.usage is not None:
        return False
    if event.turn is None or (event.turn, event.agent) != (before.turn, before.agent):
        return False
    earlier, now = _ORDER.get(before.kind, _CALLS), _ORDER.get(event.kind, _CALLS)
    return earlier < now or earlier == now == _CALLS


def _is_agents(event: Event) -> bool:
    return event.kind in SAID or event.kind in DONE


def _step(number: int, group: list[Event], seen: set[int]) -> dict[str, Any]:
    first = group[0]
    if not _is_agents(first):
        source = "user" if first.kind is EventKind.PROMPT else "system"
        return _told(number, source, first.text, group)
    step = _told(number, "agent", "", group)
    calls = [event for event in group if event.kind in DONE]
    for event in group:
        if event.kind is EventKind.REASONING:
            step["reasoning_content"] = event.text
        elif event.kind is EventKind.MESSAGE:
            step["message"] = event.text
    names = _call_ids(calls)
    if calls:
        step["tool_calls"] = [_call(event, name) for event, name in zip(calls, names, strict=True)]
    results = [
        {"source_call_id": name, "content": event.output}
        for event, name in zip(calls, names, strict=True)
        if event.output is not None
    ]
    if results:
        step["observation"] = {"results": results}
    if first.usage is not None:
        step["metrics"] = metrics_of(first.usage)
    elif first.turn is not None and first.turn in seen and "reasoning_content" not in step:
        step["llm_call_count"] = 0
    if first.turn is not None and first.turn not in seen:
        step["llm_call_count"] = 1
        seen.add(first.turn)
    return step


def _told(number: int, source: str, message: str, group: list[Event]) -> dict[str, Any]:
    step: dict[str, Any] = {"step_id": number}
    time = group[0].at if group else None
    if time is not None and _is_time(time):
        step["timestamp"] = time
    kept = [_left_over(event, step.get("timestamp"), source) for event in group]
    step |= {"source": source, "message": message, "extra": {OURS: {"events": kept}}}
    return step


def _left_over(event: Event, time: str | None, source: str) -> dict[str, Any]:
    """What of an event has no place in its step."""
    held = {"call", "tool", "arguments", "output"} if event.kind in DONE else {"text"}
    if event.at == time:
        held.add("at")
    found: dict[str, Any] = {"kind": event.kind.value}
    for name in LEFT_OVER:
        value = getattr(event, name)
        if name not in held and value != getattr(DEFAULTS, name):
            found[name] = value
    # A time of null beside others, what was called without a name, id or input.
    missing = [
        name for name in ("at", "call", "tool", "arguments") if _is_missing(event, name, time)
    ]
    if missing:
        found["without"] = missing
    if event.call is not None and event.kind in DONE:
        found["call"] = event.call
    if event.usage is not None and source != "agent":
        found["usage"] = metrics_of(event.usage)
    return found


def _is_missing(event: Event, name: str, time: str | None) -> bool:
    if name == "at":
        return event.at is None and time is not None
    return event.kind in DONE and getattr(event, name) is None


def _call_ids(calls: Sequence[Event]) -> list[str]:
    """An id for each call; what one call did to several files is several here."""
    found: dict[str, None] = {}
    used: dict[str, int] = {}
    for event in calls:
        name = base = event.call or f"event-{event.number}"
        while name in found:
            used[base] = used.get(base, 1) + 1
            name = f"{base}#{used[base]}"
        found[name] = None
    return list(found)


def _call(event: Event, name: str) -> dict[str, Any]:
    given = event.arguments
    if given is None:
        known = {"command": event.command, "path": event.path}
        given = {key: value for key, value in known.items() if value is not None}
    return {
        "tool_call_id": name,
        "function_name": event.kind.value if event.tool is None else event.tool,
        "arguments": given,
    }


def _totals(usage: Usage | None) -> dict[str, Any]:
    if usage is None:
        return {}
    known = {
        "total_prompt_tokens": None
        if usage.input_tokens is None
        else usage.input_tokens + (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0),
        "total_completion_tokens": usage.output_tokens,
        "total_cached_tokens": usage.cache_read_tokens,
        "total_cost_usd": dollars(usage.cost_usd),
    }
    return {name: value for name, value in known.items() if value is not None}


def _is_time(text: str) -> bool:
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return False
    return True
