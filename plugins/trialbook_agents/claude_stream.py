"""Reads what Claude Code printed and kept: events, usage, denials, and how it says it ended.

What it prints (``--output-format stream-json``) has the events; the transcripts in its own folder
have what each call of the model used, and the events of agents that sub-agents started.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from pathlib import Path
from typing import Any

from trialbook.api import (
    REPORTED,
    CallUsage,
    Denial,
    Event,
    EventKind,
    Usage,
    added,
    money,
)
from trialbook_agents.events import EventLog, output_of
from trialbook_agents.jsonl import Records
from trialbook_agents.shapes import (
    Json,
    count,
    listed,
    mapping,
    one_line,
    text,
    text_or_none,
)

_KINDS = {
    "Bash": EventKind.COMMAND,
    "Read": EventKind.READ,
    "NotebookRead": EventKind.READ,
    "Write": EventKind.WRITE,
    "Edit": EventKind.WRITE,
    "MultiEdit": EventKind.WRITE,
    "NotebookEdit": EventKind.WRITE,
    "Grep": EventKind.SEARCH,
    "Glob": EventKind.SEARCH,
    "LS": EventKind.SEARCH,
    "WebSearch": EventKind.SEARCH,
}
_SYNTHETIC = "<synthetic>"
_EXIT_CODE = re.compile(r"Exit code (\d{1,3})(?:\n|$)")
_QUIET = frozenset({"init", "api_retry", "permission_denied"})


@dataclass(slots=True, kw_only=True)
class ClaudeRun:
    """What is known of a run of Claude Code."""

    version: str | None = None
    session: str | None = None
    model: str | None = None
    results: list[Json] = field(default_factory=list)
    error: Json = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    unknown: int = 0
    cut: bool = False
    denied: tuple[Denial, ...] = ()
    last_words: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    by_model: dict[str, Usage] = field(default_factory=dict)

    @property
    def result(self) -> Json | None:
        """The last result that it printed: it prints one for each time it was woken up."""
        return self.results[-1] if self.results else None


def read_claude(
    stream: Records, transcripts: Sequence[Records], prompt: str, workspace: Path
) -> ClaudeRun:
    """Everything that a run left.

    Args:
        stream: What it printed.
        transcripts: Its own records, the session's first, then those of sub-agents.
        prompt: What it was asked.
        workspace: Where it worked.
    """
    run = ClaudeRun(unknown=stream.broken, cut=stream.cut)
    reader = _Reader(run, EventLog(workspace))
    reader.log.add(EventKind.PROMPT, text=prompt)
    for record in stream.items:
        reader.record(record)
    printed = bool(reader.agents or reader.calls)
    for transcript in transcripts:
        reader.transcript(transcript.items, printed=printed)
    run.events = reader.log.events()
    run.denied = tuple(reader.denials())
    run.last_words = tuple(_last_words(run))
    _count_usage(run, reader)
    return run


class _Reader:
    """Goes through records of either kind: both hold messages of one shape."""

    def __init__(self, run: ClaudeRun, log: EventLog) -> None:
        self.run = run
        self.log = log
        self.agents: set[str] = set()
        self.calls: dict[str, tuple[str, Usage]] = {}
        self._main: set[str] = set()
        self._refused: dict[str, str] = {}

    @property
    def main_calls(self) -> int:
        """How many calls of the model the agent itself made."""
        return len(self._main)

    def record(self, record: Json) -> None:
        """A record of the stream."""
        kind = text(record.get("type"))
        if kind == "assistant":
            self._assistant(record, final=False)
        elif kind == "user":
            self._user(record)
        elif kind == "result":
            self.run.results.append(record)
        elif kind == "system":
            self._system(record)
        elif kind not in {"rate_limit_event", "stream_event", "tool_progress", "control_request"}:
            self.run.unknown += 1

    def transcript(self, records: Iterable[Json], *, printed: bool) -> None:
        """A transcript: what was used, and the events that were not printed."""
        for record in records:
            kind = record.get("type")
            agent = _agent_of(record)
            self.run.version = self.run.version or text_or_none(record.get("version"))
            if kind == "assistant":
                self._used(record)
            # What the stream has of an agent is not told twice.
            if printed and (agent is None or agent in self.agents):
                continue
            if kind == "assistant":
                self._assistant(record, final=True)
            elif kind == "user" and isinstance(mapping(record.get("message")).get("content"), list):
                self._user(record)

    def denials(self) -> Iterable[Denial]:
        """What was not permitted: as the results list it, or else as it was told."""
        found = [item for result in self.run.results for item in _listed_denials(result)]
        known = {identity for identity, _ in found}
        yield from (denial for _, denial in found)
        for call, tool in self._refused.items():
            if call not in known:
                yield Denial(tool=tool)

    def _system(self, record: Json) -> None:
        subtype = text(record.get("subtype"))
        if subtype == "init":
            self.run.version = text_or_none(record.get("claude_code_version"))
            self.run.session = text_or_none(record.get("session_id"))
            self.run.model = text_or_none(record.get("model"))
        elif subtype == "api_retry":
            status = count(record.get("error_status"))
            words = text(record.get("error")) or "no answer"
            said = words if status is None else f"{words} (HTTP {status})"
            self.log.add(EventKind.RETRY, text=said)
        elif subtype == "permission_denied":
            call = text(record.get("tool_use_id"))
            self._refused[call] = text(record.get("tool_name"))
            self.log.answer(call, denied=True, ok=False)
        if subtype not in _QUIET and not subtype.startswith(("task_", "background_", "status")):
            self.log.add(EventKind.NOTICE, text=subtype)

    def _assistant(self, record: Json, *, final: bool) -> None:
        message = mapping(record.get("message"))
        if record.get("isApiErrorMessage") or record.get("is_api_error_message"):
            if not final:
                self.run.error = record
            self.log.add(EventKind.ERROR, text=_words(message), at=_at(record))
            return
        identity = text(message.get("id"))
        agent = _agent_of(record)
        if not final and agent is not None:
            self.agents.add(agent)
        answered = message.get("model") != _SYNTHETIC
        if answered and not final:
            self.calls.setdefault(identity, (text(message.get("model")), Usage()))
        if answered and agent is None:
            self._main.add(identity)
        about: dict[str, Any] = {"at": _at(record), "agent": agent}
        about["turn"] = self.log.turn(identity) if answered else None
        for block in listed(message.get("content")):
            self._block(mapping(block), about)

    def _block(self, block: Json, about: dict[str, Any]) -> None:
        kind = text(block.get("type"))
        if kind == "text":
            self.log.add(EventKind.MESSAGE, text=text(block.get("text")), **about)
        elif kind in {"thinking", "redacted_thinking"}:
            self.log.add(EventKind.REASONING, text=text(block.get("thinking")), **about)
        elif kind in {"tool_use", "server_tool_use"}:
            self._tool(block, about)
        else:
            self.run.unknown += 1

    def _tool(self, block: Json, about: dict[str, Any]) -> None:
        name, given = text(block.get("name")), dict(mapping(block.get("input")))
        path = given.get("file_path") or given.get("notebook_path") or given.get("path")
        self.log.add(
            _KINDS.get(name, EventKind.TOOL),
            text=text(given.get("prompt") or given.get("pattern") or given.get("query")),
            tool=name,
            call=text(block.get("id")),
            arguments=given,
            command=text_or_none(given.get("command")) if name == "Bash" else None,
            path=text_or_none(path),
            **about,
        )

    def _user(self, record: Json) -> None:
        for block in listed(mapping(record.get("message")).get("content")):
            part = mapping(block)
            if part.get("type") == "tool_result":
                self._answer(part, record)

    def _answer(self, part: Json, record: Json) -> None:
        call = text(part.get("tool_use_id"))
        said, failed = _content(part.get("content")), part.get("is_error") is True
        code = _EXIT_CODE.match(said) if failed else None
        denied = any(
            mapping(meta).get("non_execution_kind") == "user-rejected"
            for meta in listed(record.get("tool_result_meta"))
        )
        exit_code = int(code[1]) if code else None
        if not failed and self._ran(call):
            exit_code = 0
        self.log.answer(
            call, ok=not failed, exit_code=exit_code, denied=denied or None, **output_of(said)
        )

    def _ran(self, call: str) -> bool:
        """Whether a call was a command that was waited for."""
        event = self.log.called(call)
        if event is None or event.kind is not EventKind.COMMAND:
            return False
        return not (event.arguments or {}).get("run_in_background")

    def _used(self, record: Json) -> None:
        """What a call used; a message has several records, each with the whole of it."""
        message = mapping(record.get("message"))
        model = text(message.get("model"))
        if model == _SYNTHETIC:
            return
        identity = text(message.get("id"))
        usage = usage_of(mapping(message.get("usage")))
        self.calls[identity] = (model, usage)
        self.log.used(
            self.log.turn(identity),
            CallUsage(
                input_tokens=usage.input_tokens,
                cache_read_tokens=usage.cache_read_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                output_tokens=usage.output_tokens,
                reasoning_tokens=usage.reasoning_tokens,
            ),
        )


def usage_of(said: Json) -> Usage:
    """The usage of a message, as the provider's interface has it."""
    details = mapping(said.get("output_tokens_details"))
    return Usage(
        input_tokens=count(said.get("input_tokens")),
        cache_read_tokens=count(said.get("cache_read_input_tokens")),
        cache_write_tokens=count(said.get("cache_creation_input_tokens")),
        output_tokens=count(said.get("output_tokens")),
        reasoning_tokens=count(details.get("thinking_tokens")),
    )


def _count_usage(run: ClaudeRun, reader: _Reader) -> None:
    """By the last result, which counts the whole session; or else by the calls one by one."""
    known = mapping(mapping(run.result).get("modelUsage"))
    if known:
        run.by_model = {str(name): _usage_of_model(mapping(part)) for name, part in known.items()}
        bases = [mapping(part).get("costBasis") for part in known.values()]
        cost = mapping(run.result).get("total_cost_usd")
    else:
        parts: dict[str, list[Usage]] = {}
        for model, usage in reader.calls.values():
            parts.setdefault(model, []).append(usage)
        run.by_model = {model: added(usages) for model, usages in parts.items()}
        bases, cost = [], None
    total = added(run.by_model.values())
    # A cost of a model that the client does not know is a guess of its.
    reported = isinstance(cost, int | float) and isfinite(cost) and "unknown" not in bases
    # No call was seen, and yet there may have been some: that is not known, and no 0.
    unseen = not reader.calls and (run.result is None or bool(total.output_tokens))
    run.usage = Usage(
        input_tokens=total.input_tokens,
        cache_read_tokens=total.cache_read_tokens,
        cache_write_tokens=total.cache_write_tokens,
        output_tokens=total.output_tokens,
        reasoning_tokens=total.reasoning_tokens,
        model_calls=None if unseen else len(reader.calls),
        # What the client counts as turns is larger where a call asks for several tools.
        turns=None if unseen else reader.main_calls,
        cost_usd=money(_decimal(cost)) if reported else None,
        **({"basis": REPORTED} if reported else {}),
    )


def _decimal(cost: object) -> Decimal:
    # As many digits as prices can give; the rest is the noise of binary fractions.
    return round(Decimal(repr(cost)), 10)


def _usage_of_model(part: Json) -> Usage:
    return Usage(
        input_tokens=count(part.get("inputTokens")),
        cache_read_tokens=count(part.get("cacheReadInputTokens")),
        cache_write_tokens=count(part.get("cacheCreationInputTokens")),
        output_tokens=count(part.get("outputTokens")),
        reasoning_tokens=count(part.get("thinkingTokens")),
    )


def _listed_denials(result: Json) -> Iterable[tuple[str, Denial]]:
    for item in listed(result.get("permission_denials")):
        denial = mapping(item)
        given = mapping(denial.get("tool_input"))
        detail = text(given.get("command") or given.get("file_path") or given.get("url"))
        if not detail and given:
            detail = json.dumps(dict(given), ensure_ascii=True, default=str)
        yield (
            text(denial.get("tool_use_id")),
            Denial(tool=text(denial.get("tool_name")), detail=one_line(detail)),
        )


def _last_words(run: ClaudeRun) -> Iterable[str]:
    for result in run.results:
        if said := text(result.get("result")):
            yield said
    if not run.results:
        messages = [event.text for event in run.events if event.kind is EventKind.MESSAGE]
        yield from messages[-1:]


def _agent_of(record: Json) -> str | None:
    agent = text_or_none(record.get("agent_id")) or text_or_none(record.get("agentId"))
    return agent or text_or_none(record.get("parent_tool_use_id"))


def _at(record: Json) -> str | None:
    return text_or_none(record.get("timestamp"))


def _words(message: Json) -> str:
    return _content(message.get("content"))


def _content(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = [mapping(part) for part in listed(content)]
    return "\n".join(text(part.get("text")) or f"[{part.get('type')}]" for part in parts)
