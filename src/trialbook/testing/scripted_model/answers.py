"""One answer of a script, and the protocols of Anthropic and of OpenAI's chat that carry it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]

CREATED = 1_700_000_000
"""When every answer was made, in seconds since 1970: a script knows no time."""


def name(kind: str) -> str:
    """A new name for a part of an answer."""
    return f"{kind}_{uuid.uuid4().hex[:20]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """One answer, before a protocol gives it a form."""

    model: str
    body: Mapping[str, Any]
    step: Mapping[str, Any]

    @property
    def text(self) -> str:
        """What it says."""
        said = json.dumps(self.step["json"]) if "json" in self.step else self.step.get("text", "")
        return str(said)

    @property
    def tools(self) -> list[Json]:
        """The calls of tools that it asks for."""
        return list(self.step.get("tools") or [])

    @property
    def usage(self) -> dict[str, int]:
        """What it says that it used."""
        used = {"in": 100, "out": 20, "cache_read": 0, "cache_write": 0, "reasoning": 0}
        used.update(self.step.get("usage", {}))
        return used

    @property
    def streamed(self) -> bool:
        """Whether it was asked for in pieces."""
        return bool(self.body.get("stream"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One event of a streamed answer; ``pause`` marks the middle, where a step may hang."""

    data: Any
    name: str = ""
    pause: bool = False


def messages(answer: Answer) -> Json:
    """The answer as Anthropic's Messages."""
    blocks: list[Json] = [{"type": "text", "text": answer.text}] if answer.text else []
    blocks += [
        {"type": "tool_use", "id": name("toolu"), "name": tool["name"], "input": tool["input"]}
        for tool in answer.tools
    ]
    used = answer.usage
    return {
        "id": name("msg"),
        "type": "message",
        "role": "assistant",
        "model": answer.model,
        "content": blocks,
        "stop_reason": answer.step.get("stop") or ("tool_use" if answer.tools else "end_turn"),
        "stop_sequence": None,
        "usage": {
            "input_tokens": used["in"],
            "output_tokens": used["out"],
            "cache_read_input_tokens": used["cache_read"],
            "cache_creation_input_tokens": used["cache_write"],
        },
    }


def messages_events(answer: Answer) -> Iterator[Event]:
    """The same in pieces."""
    whole = messages(answer)
    begun = whole["usage"] | {"output_tokens": 1}
    start = whole | {"content": [], "stop_reason": None, "usage": begun}

    def event(kind: str, *, pause: bool = False, **fields: Any) -> Event:  # noqa: ANN401 - JSON
        return Event(data={"type": kind, **fields}, name=kind, pause=pause)

    yield event("message_start", message=start)
    for place, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty: Json = {"type": "text", "text": ""}
            delta: Json = {"type": "text_delta", "text": block["text"]}
        else:
            empty = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield event("content_block_start", index=place, content_block=empty)
        yield event("content_block_delta", index=place, delta=delta)
        yield event("content_block_stop", index=place, pause=True)
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    yield event("message_delta", delta=stop, usage={"output_tokens": answer.usage["out"]})
    yield event("message_stop")


def chat(answer: Answer) -> Json:
    """The answer as OpenAI's Chat Completions."""
    message: Json = {"role": "assistant", "content": answer.text or None}
    if calls := _chat_calls(answer):
        message["tool_calls"] = [
            {key: call[key] for key in call if key != "index"} for call in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": _chat_finish(answer)}
    whole = {"id": name("chatcmpl"), "object": "chat.completion", "created": CREATED}
    return {**whole, "model": answer.model, "choices": [choice], "usage": _chat_usage(answer)}


def chat_events(answer: Answer) -> Iterator[Event]:
    """The same in pieces."""
    base = {
        "id": name("chatcmpl"),
        "object": "chat.completion.chunk",
        "created": CREATED,
        "model": answer.model,
    }

    def chunk(delta: Json, finish: str | None = None, *, pause: bool = False) -> Event:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return Event(data=base | {"choices": [choice]}, pause=pause)

    yield chunk({"role": "assistant", "content": answer.text or None})
    if calls := _chat_calls(answer):
        yield chunk({"tool_calls": calls}, pause=True)
    yield chunk({}, _chat_finish(answer), pause=not answer.tools)
    yield Event(data=base | {"choices": [], "usage": _chat_usage(answer)})
    yield Event(data="[DONE]")


def _chat_usage(answer: Answer) -> Json:
    used = answer.usage
    read = used["in"] + used["cache_read"]
    return {
        "prompt_tokens": read,
        "completion_tokens": used["out"],
        "total_tokens": read + used["out"],
        "prompt_tokens_details": {"cached_tokens": used["cache_read"]},
        "completion_tokens_details": {"reasoning_tokens": used["reasoning"]},
    }


def _chat_calls(answer: Answer) -> list[Json]:
    return [
        {
            "index": place,
            "id": name("call"),
            "type": "function",
            "function": {"name": tool["name"], "arguments": json.dumps(tool["input"])},
        }
        for place, tool in enumerate(answer.tools)
    ]


def _chat_finish(answer: Answer) -> str:
    return str(answer.step.get("stop") or ("tool_calls" if answer.tools else "stop"))
