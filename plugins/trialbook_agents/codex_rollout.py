"""Reads the rollout that Codex keeps of a session: times, calls of the model, errors by name."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from typing import Any

from trialbook.api import CallUsage, EventKind, Usage
from trialbook_agents.codex_run import CodexRun, bare_command, usage_of
from trialbook_agents.events import EventLog, output_of
from trialbook_agents.shapes import Json, listed, mapping, number, text, text_or_none

_TOOLS = {
    "view_image": EventKind.READ,
    "web_search": EventKind.SEARCH,
    "tool_search": EventKind.SEARCH,
}
_COMMANDS = frozenset({"exec_command", "shell", "shell_command", "local_shell", "container.exec"})
_EXITED = re.compile(r"(?:exited with code|Exit code:) (-?\d+)")
_HELD_UP = re.compile(r"Read-only file system|Operation not permitted|Permission denied")
_HOLDING = frozenset({"read-only", "workspace-write"})
_PATCH_LINES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


class Rollout:
    """Goes through the records of one session's rollout."""

    def __init__(self, run: CodexRun, log: EventLog, *, main: bool) -> None:
        self.run = run
        self.log = log
        self.calls: list[Usage] = []
        self._main = main
        self._agent: str | None = None
        self._detailed = False
        self._sandboxed = False
        self._handlers = {
            "session_meta": self._meta,
            "turn_context": self._context,
            "response_item": self._response,
            "token_usage_record": self._used,
            "event_msg": self._message,
        }

    def record(self, record: Json) -> None:
        """One record."""
        handler = self._handlers.get(text(record.get("type")))
        if handler is not None:
            handler(mapping(record.get("payload")), text_or_none(record.get("timestamp")))

    @property
    def _turn(self) -> int:
        """The call of the model whose answer is being read."""
        return self.log.turn(f"{self._agent}:{len(self.calls)}")

    def _meta(self, payload: Json, at: str | None) -> None:
        del at
        if self._main:
            self.run.version = text_or_none(payload.get("cli_version"))
            self.run.session = self.run.session or text_or_none(payload.get("id"))
        else:
            self._agent = text_or_none(payload.get("id")) or "sub-agent"

    def _context(self, payload: Json, at: str | None) -> None:
        del at
        policy = text(mapping(payload.get("sandbox_policy")).get("type"))
        self._sandboxed = policy in _HOLDING
        if self._main:
            self.run.model = text_or_none(payload.get("model"))

    def _response(self, payload: Json, at: str | None) -> None:
        kind = text(payload.get("type"))
        if kind == "message":
            if payload.get("role") == "assistant":
                self._say(EventKind.MESSAGE, _texts(payload.get("content")), at)
        elif kind == "reasoning":
            self._say(EventKind.REASONING, _texts(payload.get("summary")), at)
        elif kind in {"function_call", "custom_tool_call", "local_shell_call"}:
            self._call(payload, at)
        elif kind in {"function_call_output", "custom_tool_call_output"}:
            self._answer(text(payload.get("call_id")), _output_text(payload.get("output")))
        elif kind.endswith("_call"):
            self._say(_TOOLS.get(kind.removesuffix("_call"), EventKind.TOOL), kind, at)

    def _answer(self, call: str, said: str) -> None:
        """What the model is told of a call; all there is of one that the sandbox held up."""
        known = self.log.called(call)
        if known is None or known.ok is not None:
            return
        head, mark, output = said.partition("\nOutput:\n")
        code = _EXITED.search(head) if mark else None
        exit_code = None if code is None else int(code[1])
        command = known.kind is EventKind.COMMAND
        self.log.answer(
            call,
            exit_code=exit_code,
            ok=None if exit_code is None else exit_code == 0,
            denied=(command and self._held_up(exit_code, output)) or None,
            **output_of(output if mark else said),
        )

    def _held_up(self, exit_code: int | None, output: str) -> bool:
        """Whether a command failed for what the client's own sandbox does not permit."""
        return self._sandboxed and bool(exit_code) and _HELD_UP.search(output) is not None

    def _say(self, kind: EventKind, said: str, at: str | None) -> None:
        self.log.add(kind, text=said, at=at, turn=self._turn, agent=self._agent)

    def _call(self, payload: Json, at: str | None) -> None:
        name = text(payload.get("name")) or "local_shell"
        raw = payload.get("arguments", payload.get("input", payload.get("action")))
        given = _arguments(raw)
        about: dict[str, Any] = {
            "tool": name,
            "call": text(payload.get("call_id")),
            "at": at,
            "turn": self._turn,
            "agent": self._agent,
            "arguments": given,
        }
        patch = text(raw) if name == "apply_patch" else ""
        if name == "apply_patch":
            paths = _patched(patch or text(given.get("input"))) or [None]
            for path in paths:
                self.log.add(EventKind.WRITE, path=path, **about)
                about["arguments"] = None
        elif name in _COMMANDS:
            command = bare_command(given.get("cmd", given.get("command")))
            self.log.add(EventKind.COMMAND, command=command, **about)
        else:
            path = text_or_none(given.get("path"))
            self.log.add(_TOOLS.get(name, EventKind.TOOL), path=path, **about)

    def _used(self, payload: Json, at: str | None) -> None:
        del at
        self._detailed = True
        self._count(mapping(payload.get("usage")))

    def _count(self, said: Json) -> None:
        usage = usage_of(said)
        call = CallUsage(
            input_tokens=usage.input_tokens,
            cache_read_tokens=usage.cache_read_tokens,
            cache_write_tokens=usage.cache_write_tokens,
            output_tokens=usage.output_tokens,
            reasoning_tokens=usage.reasoning_tokens,
        )
        self.log.used(self._turn, call)
        self.calls.append(usage)

    def _message(self, payload: Json, at: str | None) -> None:
        kind = payload.get("type")
        if kind == "token_count" and not self._detailed:
            # Older clients have no other record of a call.
            last = mapping(mapping(payload.get("info")).get("last_token_usage"))
            if last:
                self._count(last)
        elif kind == "item_completed":
            self._done(mapping(payload.get("item")))
        elif kind == "task_complete" and self._main:
            error = mapping(payload.get("error"))
            self.run.error_info = error.get("codex_error_info")
            if error:
                self.log.add(EventKind.ERROR, text=text(error.get("message")), at=at)
        elif kind == "stream_error":
            self.log.add(EventKind.RETRY, text=text(payload.get("message")), at=at)

    def _done(self, item: Json) -> None:
        status = text(item.get("status"))
        if item.get("type") == "CommandExecution":
            said, exit_code = text(item.get("aggregated_output")), number(item.get("exit_code"))
            self.log.answer(
                text(item.get("id")),
                exit_code=exit_code,
                ok=status == "completed",
                denied=status == "declined" or self._held_up(exit_code, said) or None,
                **output_of(said),
            )
        elif item.get("type") == "FileChange":
            said = text(item.get("stdout")) + text(item.get("stderr"))
            declined = status == "declined" or None
            self.log.answer(
                text(item.get("id")), ok=status == "completed", denied=declined, **output_of(said)
            )


def _texts(parts: object) -> str:
    return "\n".join(text(mapping(part).get("text")) for part in listed(parts))


def _output_text(output: object) -> str:
    return output if isinstance(output, str) else _texts(output)


def _arguments(raw: object) -> dict[str, Any]:
    if isinstance(raw, str):
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            return {"input": raw}
        return value if isinstance(value, dict) else {"input": raw}
    return dict(mapping(raw))


def _patched(patch: str) -> list[str | None]:
    found: Iterable[str] = (
        line.removeprefix(start)
        for line in patch.splitlines()
        for start in _PATCH_LINES
        if line.startswith(start)
    )
    return list(dict.fromkeys(path.strip() for path in found))
