"""The rules of ATIF, a format in which programs exchange trajectories: every breach, by place.

ATIF 1.8 and what came before it. A document is strict: what its objects may not hold is named, and
what does not fit the format goes into their ``extra``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from typing import Any

from trialbook.formats.nearest import nearest

VERSION = "ATIF-v1.8"
_VERSION = re.compile(r"ATIF-v1\.[0-8](?:\.\d+)?")
_MOST_FAULTS = 50
_DEEPEST = 16
_LONGEST_QUOTED = 60

Json = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One breach of a rule; ``where`` is a path as ``$.steps[2].tool_calls[0].arguments``."""

    where: str
    message: str

    def __str__(self) -> str:
        return f"{self.where}: {self.message}"


def atif_faults(data: object) -> list[Fault]:
    """Every breach of a rule in a document, at most 50 of them; empty if it is valid."""
    return list(islice(_document(data, "$", 0), _MOST_FAULTS))


def is_metrics(value: object) -> bool:
    """Whether a value is what a step's ``metrics`` may be."""
    return not any(_metrics(value, "$"))


# --- kinds of values -----------------------------------------------------------------------------

Check = Callable[[object, str], Iterator[Fault]]


def _kind(words: str, *kinds: type) -> Check:
    def check(value: object, where: str) -> Iterator[Fault]:
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            yield Fault(where=where, message=f"must be {words}, and is {_said(value)}")

    return check


def _said(value: object) -> str:
    names = {dict: "an object", list: "a list", type(None): "null", bool: "true or false"}
    return names.get(type(value)) or repr(value)[:_LONGEST_QUOTED]


def _count(value: object, where: str) -> Iterator[Fault]:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        message = f"must be a whole number from 0 on, and is {_said(value)}"
        yield Fault(where=where, message=message)


def _amount(value: object, where: str) -> Iterator[Fault]:
    if not isinstance(value, int | float) or isinstance(value, bool) or value < 0:
        yield Fault(where=where, message=f"must be a number from 0 on, and is {_said(value)}")


def _moment(value: object, where: str) -> Iterator[Fault]:
    try:
        datetime.fromisoformat(value if isinstance(value, str) else "")
    except ValueError:
        message = f"must be a time as ISO 8601 writes it, and is {_said(value)}"
        yield Fault(where=where, message=message)


def _version(value: object, where: str) -> Iterator[Fault]:
    if not isinstance(value, str) or not _VERSION.fullmatch(value):
        message = f"must be ATIF-v1.0 to {VERSION}, and is {_said(value)}"
        yield Fault(where=where, message=message)


def _one_of(*words: str) -> Check:
    def check(value: object, where: str) -> Iterator[Fault]:
        if value not in words:
            message = f"must be {', '.join(words[:-1])} or {words[-1]}, and is {_said(value)}"
            yield Fault(where=where, message=message)

    return check


def _list_of(check: Check) -> Check:
    def every(value: object, where: str) -> Iterator[Fault]:
        if not isinstance(value, list):
            yield Fault(where=where, message=f"must be a list, and is {_said(value)}")
            return
        for number, item in enumerate(value):
            yield from check(item, f"{where}[{number}]")

    return every


def _object(required: Mapping[str, Check], optional: Mapping[str, Check]) -> Check:
    """An object with these fields and no other; null stands for a field that is not there."""
    known = {**required, **optional}

    def check(value: object, where: str) -> Iterator[Fault]:
        if not isinstance(value, dict):
            yield Fault(where=where, message=f"must be an object, and is {_said(value)}")
            return
        for name in required:
            if value.get(name) is None:
                yield Fault(where=where, message=f"has no {name}, which it needs")
        for name, item in value.items():
            if name not in known:
                hint = nearest(name, known)
                message = "is no field that this object may have; put it into `extra`"
                yield Fault(where=f"{where}.{name[:80]}", message=message + (hint and f" ({hint})"))
            elif item is not None:
                yield from known[name](item, f"{where}.{name}")

    return check


# --- the objects ---------------------------------------------------------------------------------

_text = _kind("a text", str)
_extra = _kind("an object", dict)
_MEDIA = {
    "image": ("image/jpeg", "image/png", "image/gif", "image/webp"),
    "audio": (),
}


def _part(value: object, where: str) -> Iterator[Fault]:
    kind = value.get("type") if isinstance(value, dict) else None
    if kind == "text":
        yield from _object({"type": _text, "text": _text}, {"extra": _extra})(value, where)
        return
    media = _MEDIA.get(kind) if isinstance(kind, str) else None
    if media is None:
        yield Fault(where=where, message="must be a part of type text, image or audio")
        return
    source = _object(
        {"media_type": _one_of(*media) if media else _text, "path": _text}, {"extra": _extra}
    )
    yield from _object({"type": _text, "source": source}, {"extra": _extra})(value, where)


def _content(value: object, where: str) -> Iterator[Fault]:
    if isinstance(value, list):
        yield from _list_of(_part)(value, where)
    elif not isinstance(value, str):
        yield Fault(where=where, message=f"must be a text or a list of parts, is {_said(value)}")


_texts = dict.fromkeys(("trajectory_id", "session_id", "trajectory_path"), _text)
_result = _object(
    {},
    {
        "source_call_id": _text,
        "content": _content,
        "subagent_trajectory_ref": _list_of(_object({}, {**_texts, "extra": _extra})),
        "extra": _extra,
    },
)
_numbers = _list_of(_kind("a number", int, float))
_metrics = _object(
    {},
    {
        "prompt_tokens": _count,
        "completion_tokens": _count,
        "cached_tokens": _count,
        "cost_usd": _amount,
        "prompt_token_ids": _numbers,
        "completion_token_ids": _numbers,
        "logprobs": _numbers,
        "extra": _extra,
    },
)
_AGENTS_ONLY: dict[str, Check] = {
    "model_name": _text,
    "reasoning_effort": _kind("a text or a number", str, int, float),
    "reasoning_content": _text,
    "tool_calls": _list_of(
        _object(
            {"tool_call_id": _text, "function_name": _text, "arguments": _extra},
            {"extra": _extra},
        )
    ),
    "metrics": _metrics,
}
_step = _object(
    {
        "step_id": _count,
        "source": _one_of("system", "user", "agent"),
        "message": _content,
    },
    {
        **_AGENTS_ONLY,
        "timestamp": _moment,
        "observation": _object({"results": _list_of(_result)}, {"extra": _extra}),
        "is_copied_context": _kind("true or false", bool),
        "llm_call_count": _count,
        "extra": _extra,
    },
)
_totals = dict.fromkeys(
    ("total_prompt_tokens", "total_completion_tokens", "total_cached_tokens", "total_steps"), _count
)


def _anything(value: object, where: str) -> Iterator[Fault]:
    del value, where
    yield from ()


_root = _object(
    {
        "schema_version": _version,
        "agent": _object(
            {"name": _text},
            {
                "version": _text,
                "model_name": _text,
                "tool_definitions": _list_of(_extra),
                "extra": _extra,
            },
        ),
        "steps": _list_of(_anything),
    },
    {
        "session_id": _text,
        "trajectory_id": _text,
        "notes": _text,
        "final_metrics": _object({}, {**_totals, "total_cost_usd": _amount, "extra": _extra}),
        "continued_trajectory_ref": _text,
        "subagent_trajectories": _list_of(_anything),
        "extra": _extra,
    },
)


# --- what goes beyond one object -----------------------------------------------------------------


def _document(data: object, where: str, depth: int) -> Iterator[Fault]:
    yield from _root(data, where)
    if not isinstance(data, dict):
        return
    steps = data.get("steps")
    if isinstance(steps, list):
        if not steps:
            yield Fault(where=f"{where}.steps", message="must have at least one step")
        for number, step in enumerate(steps):
            yield from _in_steps(step, f"{where}.steps[{number}]", number + 1)
    inner = data.get("subagent_trajectories")
    if isinstance(inner, list):
        yield from _subagents(inner, f"{where}.subagent_trajectories", depth)


def _subagents(inner: list[Any], where: str, depth: int) -> Iterator[Fault]:
    if depth >= _DEEPEST:
        yield Fault(where=where, message=f"are more than {_DEEPEST} levels deep")
        return
    seen: set[str] = set()
    for number, one in enumerate(inner):
        at = f"{where}[{number}]"
        identity = one.get("trajectory_id") if isinstance(one, dict) else None
        if not isinstance(identity, str) or not identity:
            yield Fault(where=at, message="needs a trajectory_id of its own")
        elif identity in seen:
            message = f"is the id of another one, too: {_said(identity)}"
            yield Fault(where=f"{at}.trajectory_id", message=message)
        else:
            seen.add(identity)
        yield from _document(one, at, depth + 1)


def _in_steps(step: object, where: str, number: int) -> Iterator[Fault]:
    yield from _step(step, where)
    if not isinstance(step, dict):
        return
    if isinstance(step.get("step_id"), int) and step["step_id"] != number:
        message = f"must count on from 1: this is {number}, and it says {_said(step['step_id'])}"
        yield Fault(where=f"{where}.step_id", message=message)
    if step.get("source") in ("system", "user"):
        for name in _AGENTS_ONLY:
            if step.get(name) is not None:
                message = f"is for steps of the agent only, and this is one of the {step['source']}"
                yield Fault(where=f"{where}.{name}", message=message)
    if step.get("llm_call_count") == 0:
        for name in ("metrics", "reasoning_content"):
            if step.get(name) is not None:
                message = "cannot be where llm_call_count is 0: no model was asked"
                yield Fault(where=f"{where}.{name}", message=message)
    yield from _calls(step, where)
    yield from _cached(step.get("metrics"), f"{where}.metrics")


def _calls(step: Json, where: str) -> Iterator[Fault]:
    calls = step.get("tool_calls")
    known = {
        call["tool_call_id"]
        for call in (calls if isinstance(calls, list) else ())
        if isinstance(call, dict) and isinstance(call.get("tool_call_id"), str)
    }
    observation = step.get("observation")
    results = observation.get("results") if isinstance(observation, dict) else None
    for number, result in enumerate(results if isinstance(results, list) else ()):
        source = result.get("source_call_id") if isinstance(result, dict) else None
        if isinstance(source, str) and source not in known:
            at = f"{where}.observation.results[{number}].source_call_id"
            yield Fault(where=at, message=f"is no tool call of this step: {_said(source)}")


def _cached(metrics: object, where: str) -> Iterator[Fault]:
    if not isinstance(metrics, dict):
        return
    prompt, cached = metrics.get("prompt_tokens"), metrics.get("cached_tokens")
    if isinstance(prompt, int) and isinstance(cached, int) and cached > prompt:
        message = f"are a part of prompt_tokens, and {cached} is more than {prompt}"
        yield Fault(where=f"{where}.cached_tokens", message=message)
