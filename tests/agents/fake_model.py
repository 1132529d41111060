"""A model that answers from a script, for tests of real clients; on the loopback address only.

Speaks Anthropic's Messages, OpenAI's Chat Completions and Responses, and Gemini's generateContent,
streamed and whole. Run it as ``fake_model.py --script S.json --port-file F --log L.jsonl``.

The script maps a model's name to its steps, so the name picks the scenario. Which step is next
follows from the request alone: it is the number of answers in its history, at most the last step.
So trying again uses up nothing, and a script of one step goes on for ever.

A step may have ``text``, ``json``, ``tools`` ([{name, input}], or {name, raw} for one that takes
plain text), ``usage`` ({in, out, cache_read, cache_write, reasoning}), ``stop``, ``sleep`` (seconds
before it answers), ``hang`` (seconds in the middle of the answer), and ``status`` with ``body`` for
an error. Of a script with tools, a request that offers none (for a title, say) gets "ok".
"""

from __future__ import annotations

import argparse
import itertools
import json
import threading
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

Json = dict[str, Any]
_ASSISTANT_ITEMS = {"function_call", "custom_tool_call", "local_shell_call", "reasoning"}


def name(kind: str) -> str:
    return f"{kind}_{uuid.uuid4().hex[:20]}"


@dataclass(frozen=True, kw_only=True)
class Answer:
    """One answer, before a protocol gives it a form."""

    model: str
    body: Json
    step: Json

    @property
    def text(self) -> str:
        return json.dumps(self.step["json"]) if "json" in self.step else self.step.get("text", "")

    @property
    def tools(self) -> list[Json]:
        return self.step.get("tools") or []

    @property
    def usage(self) -> Json:
        kinds = {"in": 100, "out": 20, "cache_read": 0, "cache_write": 0, "reasoning": 0}
        return kinds | self.step.get("usage", {})

    @property
    def streamed(self) -> bool:
        return bool(self.body.get("stream"))


@dataclass(frozen=True, kw_only=True)
class Event:
    """One event of a streamed answer; ``pause`` marks the middle, where a step may hang."""

    data: Any
    name: str = ""
    pause: bool = False


# --- protocols --------------------------------------------------------------------------------


def messages(answer: Answer) -> Json:
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
    whole = messages(answer)
    begun = whole["usage"] | {"output_tokens": 1}
    start = whole | {"content": [], "stop_reason": None, "usage": begun}

    def event(kind: str, *, pause: bool = False, **fields: Any) -> Event:
        return Event(data={"type": kind, **fields}, name=kind, pause=pause)

    yield event("message_start", message=start)
    for place, block in enumerate(whole["content"]):
        if block["type"] == "text":
            empty, delta = {"type": "text", "text": ""}, {"type": "text_delta", **block}
            delta["type"] = "text_delta"
        else:
            empty = block | {"input": {}}
            delta = {"type": "input_json_delta", "partial_json": json.dumps(block["input"])}
        yield event("content_block_start", index=place, content_block=empty)
        yield event("content_block_delta", index=place, delta=delta)
        yield event("content_block_stop", index=place, pause=True)
    stop = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
    used = {"output_tokens": answer.usage["out"]}
    yield event("message_delta", delta=stop, usage=used)
    yield event("message_stop")


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
    return answer.step.get("stop") or ("tool_calls" if answer.tools else "stop")


def chat(answer: Answer) -> Json:
    message: Json = {"role": "assistant", "content": answer.text or None}
    if calls := _chat_calls(answer):
        message["tool_calls"] = [
            {key: call[key] for key in call if key != "index"} for call in calls
        ]
    choice = {"index": 0, "message": message, "finish_reason": _chat_finish(answer)}
    return {
        "id": name("chatcmpl"),
        "object": "chat.completion",
        "created": int(time.time()),
        "model": answer.model,
        "choices": [choice],
        "usage": _chat_usage(answer),
    }


def chat_events(answer: Answer) -> Iterator[Event]:
    base = {
        "id": name("chatcmpl"),
        "object": "chat.completion.chunk",
        "created": int(time.time()),
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


def responses(answer: Answer) -> Json:
    used = answer.usage
    read = used["in"] + used["cache_read"]
    return {
        "id": name("resp"),
        "object": "response",
        "created_at": int(time.time()),
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
    whole, numbers = responses(answer), itertools.count()

    def event(kind: str, *, pause: bool = False, **fields: Any) -> Event:
        data = {"type": kind, "sequence_number": next(numbers), **fields}
        return Event(data=data, name=kind, pause=pause)

    begun = whole | {"status": "in_progress", "output": [], "usage": None}
    yield event("response.created", response=begun)
    for place, item in enumerate(whole["output"]):
        started = item | {"status": "in_progress"}
        about = {"item_id": item["id"], "output_index": place}
        if item["type"] == "message":
            started |= {"content": []}
        yield event("response.output_item.added", output_index=place, item=started)
        if item["type"] == "message":
            said = {"content_index": 0, "text": answer.text}
            yield event("response.output_text.delta", **about, content_index=0, delta=answer.text)
            yield event("response.output_text.done", **about, **said)
        elif item["type"] == "function_call":
            given = item["arguments"]
            yield event("response.function_call_arguments.delta", **about, delta=given)
            yield event("response.function_call_arguments.done", **about, arguments=given)
        yield event("response.output_item.done", output_index=place, item=item, pause=True)
    yield event("response.completed", response=whole)


def gemini(answer: Answer) -> Json:
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


def protocol_of(path: str) -> str | None:
    if path.endswith(("/count_tokens", ":countTokens")):
        return "count"
    ends = {"/messages": "messages", "/chat/completions": "chat", "/responses": "responses"}
    for end, protocol in ends.items():
        if path.endswith(end):
            return protocol
    return "gemini" if "enerateContent" in path else None


def answers_so_far(protocol: str, body: Json) -> int:
    if protocol == "gemini":
        return sum(one.get("role") == "model" for one in body.get("contents", []))
    given = body.get("input" if protocol == "responses" else "messages")
    items = given if isinstance(given, list) else []
    own = [
        item.get("role") == "assistant" or item.get("type") in _ASSISTANT_ITEMS for item in items
    ]
    return sum(mine and not before for before, mine in itertools.pairwise([False, *own]))


# --- the server -------------------------------------------------------------------------------


class FakeModel(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, scripts: dict[str, list[Json]], log: Path | None) -> None:
        super().__init__(("127.0.0.1", port), Handler)
        self.scripts = scripts
        self._log = log
        self._lock = threading.Lock()

    def note(self, record: Json) -> None:
        if self._log is not None:
            with self._lock, self._log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")

    def step(self, protocol: str, model: str, body: Json) -> tuple[int, Json]:
        steps = self.scripts.get(model) or self.scripts.get("default") or [{"text": "done"}]
        if any(step.get("tools") for step in steps) and not body.get("tools"):
            return -1, {"text": "ok"}
        place = min(answers_so_far(protocol, body), len(steps) - 1)
        return place, steps[place]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: FakeModel

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the library's name
        del format, args

    def do_GET(self) -> None:
        self.server.note({"method": "GET", "path": self.path})
        listed = [{"id": model, "object": "model"} for model in self.server.scripts]
        found = self.path.startswith("/v1/models")
        self._json({"object": "list", "data": listed} if found else {}, 200 if found else 404)

    def do_HEAD(self) -> None:
        self._json({})

    def do_POST(self) -> None:
        body = self._body()
        path = self.path.split("?")[0]
        protocol = protocol_of(path)
        if protocol in {None, "count"}:
            self.server.note({"method": "POST", "path": self.path, "body": body})
            counted = {"input_tokens": 10, "totalTokens": 10}
            self._json(counted if protocol else {}, 200 if protocol else 404)
            return
        assert protocol is not None
        model = body.get("model") or path.split("/models/")[-1].split(":")[0]
        place, step = self.server.step(protocol, model, body)
        about = {"method": "POST", "path": self.path, "model": model, "step": place, "body": body}
        self.server.note(about | {"headers": dict(self.headers)})
        try:
            self._answer(protocol, Answer(model=model, body=body, step=step))
        except OSError:
            self.server.note({"model": model, "step": place, "gone": True})

    def _answer(self, protocol: str, answer: Answer) -> None:
        step = answer.step
        time.sleep(step.get("sleep", 0))
        if "status" in step:
            error = {"type": "api_error", "message": "a scripted failure"}
            self._json(step.get("body", {"type": "error", "error": error}), step["status"])
        elif answer.streamed or "streamGenerateContent" in self.path:
            self._stream(STREAMED[protocol](answer), step.get("hang", 0))
        else:
            self._json(WHOLE[protocol](answer))

    def _stream(self, events: Iterator[Event], hang: float) -> None:
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            if event.pause and hang:
                time.sleep(hang)
            named = f"event: {event.name}\n" if event.name else ""
            data = event.data if isinstance(event.data, str) else json.dumps(event.data)
            self.wfile.write(f"{named}data: {data}\n\n".encode())
            self.wfile.flush()

    def _json(self, value: Json, status: int = 200) -> None:
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def _body(self) -> Json:
        data = self.rfile.read(int(self.headers.get("content-length") or 0))
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            while size := int(self.rfile.readline().strip() or b"0", 16):
                data += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        try:
            value = json.loads(data or b"{}")
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--script", type=Path, required=True)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--port-file", type=Path)
    parser.add_argument("--log", type=Path)
    given = parser.parse_args()
    server = FakeModel(given.port, json.loads(given.script.read_text()), given.log)
    if given.port_file is not None:
        partial = given.port_file.with_suffix(".partial")
        partial.write_text(str(server.server_port))
        partial.rename(given.port_file)
    server.serve_forever()


if __name__ == "__main__":
    main()
