"""Reads what Codex printed and kept: events, usage, and how it says that a turn ended.

Its rollouts (one file for each session, below its home) have times, every call of the model, and
the errors by name; what it prints (``exec --json``) has less, and counts where there is none.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trialbook.api import CallUsage, Event, EventKind, Usage, added
from trialbook_agents.events import EventLog, output_of
from trialbook_agents.jsonl import Records
from trialbook_agents.shapes import Json, count, listed, mapping, number, text, text_or_none

RECONNECTING = "Reconnecting..."
_SHELL_WORDS = 3
_TOKENS = (
    *("input_tokens", "cache_read_tokens", "cache_write_tokens"),
    *("output_tokens", "reasoning_tokens"),
)
_TOOLS = {
    "view_image": EventKind.READ,
    "web_search": EventKind.SEARCH,
    "tool_search": EventKind.SEARCH,
}
_COMMANDS = frozenset({"exec_command", "shell", "shell_command", "local_shell", "container.exec"})
_EXITED = re.compile(r"(?:exited with code|Exit code:) (-?\d+)")
_HELD_UP = re.compile(r"Read-only file system|Operation not permitted|Permission denied")
_PATCH_LINES = ("*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: ")


@dataclass(slots=True, kw_only=True)
class CodexRun:
    """What is known of a run of Codex.

    ``failure`` is the last word of a turn that failed, ``error_info`` its name for that, where the
    rollout has one. ``completed`` says that a turn was completed.
    """

    version: str | None = None
    session: str | None = None
    model: str | None = None
    completed: bool = False
    failure: str | None = None
    error_info: object = None
    events: tuple[Event, ...] = ()
    unknown: int = 0
    cut: bool = False
    last_words: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    from_rollout: bool = False


def read_codex(
    stream: Records, rollouts: Sequence[Records], prompt: str, workspace: Path
) -> CodexRun:
    """Everything that a run left.

    Args:
        stream: What it printed.
        rollouts: Its own records, the session's first, then those of sub-agents.
        prompt: What it was asked.
        workspace: Where it worked.
    """
    run = CodexRun(unknown=stream.broken, cut=stream.cut, from_rollout=bool(rollouts))
    printed = _Printed(run, EventLog(workspace))
    printed.log.add(EventKind.PROMPT, text=prompt)
    for record in stream.items:
        printed.record(record)
    log = printed.log
    if rollouts:
        log = EventLog(workspace)
        log.add(EventKind.PROMPT, text=prompt)
        readers = [_Rollout(run, log, main=place == 0) for place in range(len(rollouts))]
        for reader, rollout in zip(readers, rollouts, strict=True):
            run.unknown += rollout.broken
            for record in rollout.items:
                reader.record(record)
        used = [usage for reader in readers for usage in reader.calls]
        calls = sum(len(reader.calls) for reader in readers)
        known = _at_least(added(used), printed.usage()) if used else printed.usage()
        run.usage = _usage(known, calls if used else None, len(readers[0].calls) if used else None)
    else:
        run.usage = printed.usage()
    run.events = log.events()
    messages = [e.text for e in run.events if e.kind is EventKind.MESSAGE and e.agent is None]
    run.last_words = tuple(messages[-1:])
    return run


def usage_of(said: Json) -> Usage:
    """Tokens as Codex counts them: what it read includes what came from the cache."""
    whole = count(said.get("input_tokens"))
    read = count(said.get("cached_input_tokens")) or 0
    written = count(said.get("cache_write_input_tokens")) or 0
    return Usage(
        input_tokens=None if whole is None else max(whole - read - written, 0),
        cache_read_tokens=None if whole is None else read,
        cache_write_tokens=None if whole is None else written,
        output_tokens=count(said.get("output_tokens")),
        reasoning_tokens=count(said.get("reasoning_output_tokens")),
    )


def _at_least(kept: Usage, printed: Usage) -> Usage:
    """What was kept, which an agent could change, and never less than what was printed."""
    found: dict[str, Any] = {
        name: max(getattr(kept, name) or 0, getattr(printed, name) or 0)
        for name in _TOKENS
        if getattr(kept, name) is not None or getattr(printed, name) is not None
    }
    return Usage(**found)


def _usage(total: Usage, calls: int | None, turns: int | None) -> Usage:
    return Usage(
        input_tokens=total.input_tokens,
        cache_read_tokens=total.cache_read_tokens,
        cache_write_tokens=total.cache_write_tokens,
        output_tokens=total.output_tokens,
        reasoning_tokens=total.reasoning_tokens,
        model_calls=calls,
        turns=turns,
    )


# --- what it prints ---------------------------------------------------------------------------


class _Printed:
    """Goes through the records of standard output."""

    def __init__(self, run: CodexRun, log: EventLog) -> None:
        self.run = run
        self.log = log
        self._used: list[Usage] = []

    def usage(self) -> Usage:
        """What completed turns used; how many calls that took is not told."""
        return added(self._used)

    def record(self, record: Json) -> None:
        """One record."""
        kind = text(record.get("type"))
        if kind == "thread.started":
            self.run.session = text_or_none(record.get("thread_id"))
        elif kind == "turn.completed":
            self.run.completed, self.run.failure = True, None
            self._used.append(usage_of(mapping(record.get("usage"))))
        elif kind == "turn.failed":
            self.run.failure = text(mapping(record.get("error")).get("message")) or "it failed"
            self.log.add(EventKind.ERROR, text=self.run.failure)
        elif kind == "error":
            self._error(text(record.get("message")))
        elif kind in {"item.started", "item.updated", "item.completed"}:
            self._item(mapping(record.get("item")), done=kind == "item.completed")
        elif kind != "turn.started":
            self.run.unknown += 1

    def _error(self, said: str) -> None:
        if said.startswith(RECONNECTING):
            self.log.add(EventKind.RETRY, text=said)

    def _item(self, item: Json, *, done: bool) -> None:
        kind, identity = text(item.get("type")), text(item.get("id"))
        if kind == "command_execution":
            self._command(item, identity)
        elif kind == "file_change":
            self._change(item, identity)
        elif kind in {"agent_message", "reasoning"}:
            if done:
                what = EventKind.MESSAGE if kind == "agent_message" else EventKind.REASONING
                self.log.add(what, text=text(item.get("text")))
        elif kind == "error":
            self.log.add(EventKind.NOTICE, text=text(item.get("message")))
        elif done:
            what = EventKind.SEARCH if kind == "web_search" else EventKind.TOOL
            said = text(item.get("query"))
            self.log.add(what, tool=text_or_none(item.get("tool")) or kind, text=said)

    def _command(self, item: Json, identity: str) -> None:
        if self.log.called(identity) is None:
            self.log.add(
                EventKind.COMMAND,
                tool="exec_command",
                call=identity,
                command=_bare_command(item.get("command")),
            )
        status = item.get("status")
        if status != "in_progress":
            self.log.answer(
                identity,
                exit_code=number(item.get("exit_code")),
                ok=status == "completed",
                denied=status == "declined" or None,
                **output_of(text(item.get("aggregated_output"))),
            )

    def _change(self, item: Json, identity: str) -> None:
        if self.log.called(identity) is None:
            for change in listed(item.get("changes")):
                about = mapping(change)
                self.log.add(
                    EventKind.WRITE,
                    tool="apply_patch",
                    call=identity,
                    path=text(about.get("path")),
                    text=text(about.get("kind")),
                )
        if item.get("status") != "in_progress":
            self.log.answer(identity, ok=item.get("status") == "completed")


# --- what it keeps ----------------------------------------------------------------------------


class _Rollout:
    """Goes through the records of one session's rollout."""

    def __init__(self, run: CodexRun, log: EventLog, *, main: bool) -> None:
        self.run = run
        self.log = log
        self.calls: list[Usage] = []
        self._main = main
        self._agent: str | None = None
        self._detailed = False
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
        held = known.kind is EventKind.COMMAND and exit_code and _HELD_UP.search(output)
        self.log.answer(
            call,
            exit_code=exit_code,
            ok=None if exit_code is None else exit_code == 0,
            denied=True if held else None,
            **output_of(output if mark else said),
        )

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
            command = _bare_command(given.get("cmd", given.get("command")))
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
            self.log.answer(
                text(item.get("id")),
                exit_code=number(item.get("exit_code")),
                ok=status == "completed",
                denied=status == "declined" or None,
                **output_of(text(item.get("aggregated_output"))),
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


def _bare_command(command: object) -> str:
    """A command without the shell that it is handed to."""
    words: list[str] = [str(word) for word in listed(command)]
    if isinstance(command, str):
        try:
            words = shlex.split(command) if command.startswith(("/bin/", "bash ", "sh ")) else []
        except ValueError:
            words = []
    if len(words) == _SHELL_WORDS and words[1] in {"-lc", "-c"}:
        return words[2]
    return command if isinstance(command, str) else shlex.join(words)


def _patched(patch: str) -> list[str | None]:
    found: Iterable[str] = (
        line.removeprefix(start)
        for line in patch.splitlines()
        for start in _PATCH_LINES
        if line.startswith(start)
    )
    return list(dict.fromkeys(path.strip() for path in found))
