"""The protocols of OpenAI's Responses and of Gemini, and which of all protocols a path means."""

from __future__ import annotations

import itertools
import json
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from trialbook.testing.scripted_model.answers import (
    CREATED,
    Answer,
    Event,
    Json,
    chat,
    chat_events,
    messages,
    messages_events,
    name,
)

COUNT = "count"
"""The protocol of a request that only wants tokens counted."""

_ASSISTANT_ITEMS = {"function_call", "custom_tool_call", "local_shell_call", "reasoning"}


def responses(answer: Answer) -> Json:
    """The answer as OpenAI's Responses."""
    used = answer.usage
    read = used["in"] + used["cache_read"]
    return {
        "id": name("resp"),
        "object": "response",
        "created_at": CREATED,
        "status": "completed",
        "model": answer.model,
        "output": _responses_items(answer),
        "usage": {
            "input_tokens": read,
            "input_tokens_details": {"cached_tokens": used["cache_read"]},
            "output_tokens": used["out"],
            "output_tokens_details": {"reasoning_tokens": used["reasoning"]},
            "total_tokens": read + used["out"],
        },
        **dict.fromkeys(("error", "incomplete_details", "instructions")),
        "metadata": {},
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
    }


def responses_events(answer: Answer) -> Iterator[Event]:
    """The same in pieces."""
    whole, numbers = responses(answer), itertools.count()

    def event(kind: str, *, pause: bool = False, **fields: Any) -> Event:  # noqa: ANN401 - JSON
        data = {"type": kind, "sequence_number": next(numbers), **fields}
        return Event(data=data, name=kind, pause=pause)

    begun = whole | {"status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=begun)
    for place, item in enumerate(whole["output"]):
        started = item | {"status": "in_progress"}
        about: Json = {"item_id": item["id"], "output_index": place}
        if item["type"] == "message":
            started |= {"content": []}
        yield event("response.output_item.added", output_index=place, item=started)
        if item["type"] == "message":
            said: Json = {"content_index": 0, "text": answer.text}
            yield event("response.output_text.delta", **about, content_index=0, delta=answer.text)
            yield event("response.output_text.done", **about, **said)
        elif item["type"] == "function_call":
            given = item["arguments"]
            yield event("response.function_call_arguments.delta", **about, delta=given)
            yield event("response.function_call_arguments.done", **about, arguments=given)
        yield event("response.output_item.done", output_index=place, item=item, pause=True)
    yield event("response.completed", response=whole)


def _responses_items(answer: Answer) -> list[Json]:
    items: list[Json] = []
    if answer.text:
        part = {"type": "output_text", "text": answer.text, "annotations": []}
        items.append({"type": "message", "id": name("msg"), "role": "assistant", "content": [part]})
    for tool in answer.tools:
        item: Json = {"call_id": name("call"), "name": tool["name"]}
        if "raw" in tool:
            item |= {"type": "custom_tool_call", "id": name("ctc"), "input": tool["raw"]}
        else:
            given = json.dumps(tool["input"])
            item |= {"type": "function_call", "id": name("fc"), "arguments": given}
        items.append(item)
    return [item | {"status": "completed"} for item in items]


def gemini(answer: Answer) -> Json:
    """The answer as Gemini's generateContent."""
    used = answer.usage
    parts: list[Json] = [{"text": answer.text}] if answer.text else []
    parts += [
        {"functionCall": {"name": tool["name"], "args": tool["input"]}} for tool in answer.tools
    ]
    read = used["in"] + used["cache_read"]
    content = {"role": "model", "parts": parts}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": read,
            "candidatesTokenCount": used["out"],
            "cachedContentTokenCount": used["cache_read"],
            "totalTokenCount": read + used["out"],
        },
        "modelVersion": answer.model,
        "responseId": uuid.uuid4().hex,
    }


def gemini_events(answer: Answer) -> Iterator[Event]:
    """The same as a stream of one piece."""
    yield Event(data=gemini(answer), pause=True)


WHOLE: dict[str, Callable[[Answer], Json]] = {
    "messages": messages,
    "chat": chat,
    "responses": responses,
    "gemini": gemini,
}
STREAMED: dict[str, Callable[[Answer], Iterator[Event]]] = {
    "messages": messages_events,
    "chat": chat_events,
    "responses": responses_events,
    "gemini": gemini_events,
}
_ENDS = {"/messages": "messages", "/chat/completions": "chat", "/responses": "responses"}


def protocol_of(path: str) -> str | None:
    """The protocol that a path belongs to; None if it belongs to none."""
    if path.endswith(("/count_tokens", ":countTokens")):
        return COUNT
    for end, protocol in _ENDS.items():
        if path.endswith(end):
            return protocol
    return "gemini" if "enerateContent" in path else None


def answers_so_far(protocol: str, body: Mapping[str, Any]) -> int:
    """How many answers of the model stand in the history that a request brings along."""
    if protocol == "gemini":
        return sum(one.get("role") == "model" for one in body.get("contents", []))
    given = body.get("input" if protocol == "responses" else "messages")
    items = given if isinstance(given, list) else []
    own = [
        item.get("role") == "assistant" or item.get("type") in _ASSISTANT_ITEMS for item in items
    ]
    return sum(mine and not before for before, mine in itertools.pairwise([False, *own]))
