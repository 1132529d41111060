"""The server: loopback only, one thread a request, everything that it is asked in a log."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from trialbook.testing.scripted_model.answers import Answer, Event, Json
from trialbook.testing.scripted_model.protocols import COUNT, STREAMED, WHOLE, protocol_of
from trialbook.testing.scripted_model.scripts import Scripts

_FAILURE = {"type": "error", "error": {"type": "api_error", "message": "a scripted failure"}}
_COUNTED = {"input_tokens": 10, "totalTokens": 10}
_FOUND, _NOT_FOUND = 200, 404


class ScriptedModel(ThreadingHTTPServer):
    """Answers by scripts; port 0 is one that is free. ``log`` gets one JSON line a request."""

    daemon_threads = True
    request_queue_size = 64

    def __init__(self, port: int, scripts: Scripts, log: Path | None = None) -> None:
        super().__init__(("127.0.0.1", port), _Handler)
        self.scripts = scripts
        self._log = log
        self._lock = threading.Lock()

    def note(self, record: Json) -> None:
        """Write into the log, if there is one."""
        if self._log is not None:
            with self._lock, self._log.open("a", encoding="utf-8") as file:
                file.write(json.dumps(record) + "\n")


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: ScriptedModel

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002, ANN401 - as in the library
        del format, args

    def do_GET(self) -> None:
        self.server.note({"method": "GET", "path": self.path})
        listed = [{"id": model, "object": "model"} for model in self.server.scripts.scenes]
        found = self.path.startswith("/v1/models")
        answer: Json = {"object": "list", "data": listed} if found else {}
        self._json(answer, _FOUND if found else _NOT_FOUND)

    def do_HEAD(self) -> None:
        self._json({})

    def do_POST(self) -> None:
        body = self._body()
        path = self.path.split("?")[0]
        protocol = protocol_of(path)
        if protocol is None or protocol == COUNT:
            self.server.note({"method": "POST", "path": self.path, "body": body})
            self._json(_COUNTED if protocol else {}, _FOUND if protocol else _NOT_FOUND)
            return
        model = str(body.get("model") or path.split("/models/")[-1].split(":")[0])
        place, step = self.server.scripts.step(protocol, model, body)
        about = {"method": "POST", "path": self.path, "model": model, "step": place, "body": body}
        self.server.note(about | {"headers": dict(self.headers)})
        try:
            self._answer(protocol, Answer(model=model, body=body, step=step))
        except OSError:
            self.server.note({"model": model, "step": place, "gone": True})

    def _answer(self, protocol: str, answer: Answer) -> None:
        step = answer.step
        _wait(step.get("sleep", 0))
        if "status" in step:
            self._json(step.get("body", _FAILURE), step["status"])
        elif answer.streamed or "streamGenerateContent" in self.path:
            self._stream(STREAMED[protocol](answer), step.get("hang", 0))
        else:
            self._json(WHOLE[protocol](answer))

    def _stream(self, events: Iterator[Event], hang: float) -> None:
        self.send_response(_FOUND)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        self.close_connection = True
        for event in events:
            if event.pause:
                _wait(hang)
            named = f"event: {event.name}\n" if event.name else ""
            data = event.data if isinstance(event.data, str) else json.dumps(event.data)
            self.wfile.write(f"{named}data: {data}\n\n".encode())
            self.wfile.flush()

    def _json(self, value: Json, status: int = _FOUND) -> None:
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


def _wait(seconds: float) -> None:
    if seconds:
        threading.Event().wait(seconds)
