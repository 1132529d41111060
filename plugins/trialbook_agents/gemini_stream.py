"""Reads what Gemini CLI printed and kept: events, usage, denials, and how it says it ended.

What it prints (``-o stream-json``) has the events and the sums; the record of its chat has what
each call of the model used.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trialbook.api import CallUsage, Denial, Event, EventKind, Usage, added
from trialbook_agents.events import EventLog, output_of
from trialbook_agents.jsonl import Records
from trialbook_agents.shapes import Json, count, mapping, one_line, text, text_or_none, without

_KINDS = {
    "run_shell_command": EventKind.COMMAND,
    "read_file": EventKind.READ,
    "read_many_files": EventKind.READ,
    "write_file": EventKind.WRITE,
    "replace": EventKind.WRITE,
    "edit": EventKind.WRITE,
    "grep_search": EventKind.SEARCH,
    "search_file_content": EventKind.SEARCH,
    "glob": EventKind.SEARCH,
    "list_directory": EventKind.SEARCH,
    "google_web_search": EventKind.SEARCH,
}
# Without approval these tools are not offered; a call of one is answered like that of any name.
_GUARDED = frozenset({"run_shell_command", "write_file", "replace", "edit", "web_fetch"})
_REFUSED = frozenset({"policy_violation", "permission_denied", "execution_denied"})
_LOOP = "Loop detected"
_EXIT_CODE = re.compile(r"Command exited with code: (\d{1,3})\b")


@dataclass(slots=True, kw_only=True)
class GeminiRun:
    """What is known of a run of Gemini CLI. ``stopped`` is why it ended the work by itself."""

    session: str | None = None
    model: str | None = None
    result: Json | None = None
    stopped: str = ""
    events: tuple[Event, ...] = ()
    unknown: int = 0
    cut: bool = False
    denied: tuple[Denial, ...] = ()
    last_words: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    by_model: dict[str, Usage] = field(default_factory=dict)


def read_gemini(
    stream: Records, chats: Sequence[Records], prompt: str, workspace: Path
) -> GeminiRun:
    """Everything that a run left.

    Args:
        stream: What it printed.
        chats: Its own records: the session's first, then those of sub-agents.
        prompt: What it was asked.
        workspace: Where it worked.
    """
    run = GeminiRun(unknown=stream.broken, cut=stream.cut)
    reader = _Reader(run, EventLog(workspace))
    reader.log.add(EventKind.PROMPT, text=prompt)
    for record in stream.items:
        reader.record(record)
    reader.said()
    calls = [answers_in(chat) for chat in chats]
    for turn, (_, usage) in enumerate(calls[0].values() if calls else (), start=1):
        reader.log.used(turn, _call_usage(usage))
    run.events = reader.log.events()
    run.denied = tuple(reader.denied)
    run.last_words = tuple(reader.words[-1:])
    _count_usage(run, [answer for chat in calls for answer in chat.values()], reader.log.turns)
    return run


def answers_in(chat: Records) -> dict[str, tuple[str, Usage]]:
    """The answers of models in a record of a chat, by their id; it has several words on each."""
    found: dict[str, tuple[str, Usage]] = {}
    for record in chat.items:
        answer = answer_of(record)
        if answer is not None:
            found[answer[0]] = answer[1:]
    return found


def answer_of(record: Json) -> tuple[str, str, Usage] | None:
    """The id, the model and the usage of an answer; None if the record is something else."""
    tokens = record.get("tokens")
    if record.get("type") != "gemini" or not isinstance(tokens, dict):
        return None
    return text(record.get("id")), text(record.get("model")), _usage_of(tokens)


class _Reader:
    """Goes through the records of the stream; what is said comes in pieces."""

    def __init__(self, run: GeminiRun, log: EventLog) -> None:
        self.run = run
        self.log = log
        self.denied: list[Denial] = []
        self.words: list[str] = []
        self._pieces: list[str] = []
        self._at: str | None = None
        self._turn = 0
        self._answered = True

    def record(self, record: Json) -> None:
        """One record, in order."""
        kind, at = record.get("type"), text_or_none(record.get("timestamp"))
        if kind == "message" and record.get("role") == "assistant":
            self._next(at)
            self._pieces.append(text(record.get("content")))
            return
        self.said()
        if kind == "init":
            self.run.session = text_or_none(record.get("session_id"))
            self.run.model = text_or_none(record.get("model"))
        elif kind == "tool_use":
            self._next(at)
            self._tool(record, at)
        elif kind == "tool_result":
            self._answered = True
            self._answer(record)
        elif kind == "error":
            said = one_line(text(record.get("message")))
            self.log.add(EventKind.ERROR, text=said, at=at)
            self.run.stopped = said if said.startswith(_LOOP) else self.run.stopped
        elif kind == "result":
            self._result(record, at)
        elif kind != "message":
            self.run.unknown += 1

    def said(self) -> None:
        """What was said in pieces so far is a message."""
        said = "".join(self._pieces)
        self._pieces = []
        if said.strip():
            self.words.append(said)
            self.log.add(EventKind.MESSAGE, text=said, at=self._at, turn=self._turn)

    def _next(self, at: str | None) -> None:
        """A new call of the model begins with the first thing after what came back of tools."""
        if self._answered:
            self._answered = False
            self._turn = self.log.turn(str(self.log.turns))
        if not self._pieces:
            self._at = at

    def _tool(self, record: Json, at: str | None) -> None:
        name, given = text(record.get("tool_name")), dict(mapping(record.get("parameters")))
        path = given.get("file_path") or given.get("dir_path") or given.get("path")
        self.log.add(
            _KINDS.get(name, EventKind.TOOL),
            at=at,
            turn=self._turn,
            text=text(given.get("pattern") or given.get("query") or given.get("prompt")),
            tool=name,
            call=text(record.get("tool_id")),
            arguments=given,
            command=text_or_none(given.get("command")) if name == "run_shell_command" else None,
            path=text_or_none(path),
        )

    def _answer(self, record: Json) -> None:
        call = text(record.get("tool_id"))
        event = self.log.called(call)
        tool = text(event.tool) if event else ""
        error = mapping(record.get("error"))
        kind = text(error.get("type"))
        refused = kind in _REFUSED or (kind == "tool_not_registered" and tool in _GUARDED)
        said = text(record.get("output")) or text(error.get("message"))
        fine = record.get("status") == "success"
        code = None
        if event is not None and event.kind is EventKind.COMMAND and fine:
            match = _EXIT_CODE.search(said)
            code = int(match[1]) if match else 0
        self.log.answer(
            call,
            ok=fine and not code,
            exit_code=code,
            denied=refused or None,
            **output_of(said),
        )
        if refused and event is not None:
            wanted = event.command or event.path or json.dumps(event.arguments, default=str)
            self.denied.append(Denial(tool=tool, detail=one_line(wanted)))

    def _result(self, record: Json, at: str | None) -> None:
        self.run.result = record
        error = mapping(record.get("error"))
        if error:
            self.log.add(EventKind.ERROR, text=one_line(text(error.get("message"))), at=at)


def _usage_of(tokens: Json) -> Usage:
    """The usage of a call: what is cached is part of the input, what is thought is apart."""
    read = count(tokens.get("cached")) or 0
    whole, thoughts = count(tokens.get("input")), count(tokens.get("thoughts"))
    output = count(tokens.get("output"))
    return Usage(
        input_tokens=None
        if whole is None
        else without(whole + (count(tokens.get("tool")) or 0), read),
        cache_read_tokens=read,
        cache_write_tokens=0,
        output_tokens=None if output is None else output + (thoughts or 0),
        reasoning_tokens=thoughts,
    )


def _usage_of_sums(sums: Json) -> Usage:
    """The usage of all calls of a model; what was thought is in the total alone."""
    read, whole = count(sums.get("cached")) or 0, count(sums.get("input_tokens"))
    total, output = count(sums.get("total_tokens")), count(sums.get("output_tokens"))
    if total is not None and whole is not None:
        output = max(output or 0, total - whole)
    return Usage(
        input_tokens=without(whole, read),
        cache_read_tokens=read,
        cache_write_tokens=0,
        output_tokens=output,
    )


def _call_usage(usage: Usage) -> CallUsage:
    return CallUsage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
    )


def _count_usage(run: GeminiRun, answers: Sequence[tuple[str, Usage]], turns: int) -> None:
    """By the result, which counts calls on the side too; or else by the calls one by one."""
    sums = mapping(mapping(mapping(run.result).get("stats")).get("models"))
    by_call: dict[str, list[Usage]] = {}
    for model, usage in answers:
        by_call.setdefault(model, []).append(usage)
    if sums:
        run.by_model = {str(model): _usage_of_sums(mapping(part)) for model, part in sums.items()}
    else:
        run.by_model = {model: added(usages) for model, usages in by_call.items()}
    total = added(run.by_model.values())
    # No call was seen, and yet there may have been some: that is not known, and no 0.
    unseen = not answers and (run.result is None or bool(total.output_tokens))
    about: dict[str, Any] = {
        "model_calls": None if unseen else len(answers),
        "turns": None if unseen else max(turns, 0),
    }
    run.usage = Usage(
        input_tokens=total.input_tokens,
        cache_read_tokens=total.cache_read_tokens,
        cache_write_tokens=total.cache_write_tokens,
        output_tokens=total.output_tokens,
        reasoning_tokens=added(usage for _, usage in answers).reasoning_tokens,
        **about,
    )
