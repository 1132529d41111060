"""Reads what opencode printed and kept: events, usage, denials, and why it stopped.

What it prints (``--format json``) has the events of the session itself; its database has what the
sessions of sub-agents used, too.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from trialbook.api import (
    REPORTED,
    UNKNOWN,
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
    dollars,
    mapping,
    moment,
    number,
    one_line,
    text,
    text_or_none,
)

_KINDS = {
    "bash": EventKind.COMMAND,
    "read": EventKind.READ,
    "write": EventKind.WRITE,
    "edit": EventKind.WRITE,
    "multiedit": EventKind.WRITE,
    "patch": EventKind.WRITE,
    "apply_patch": EventKind.WRITE,
    "grep": EventKind.SEARCH,
    "glob": EventKind.SEARCH,
    "list": EventKind.SEARCH,
    "websearch": EventKind.SEARCH,
    "codesearch": EventKind.SEARCH,
}
_REFUSED = ("rejected permission to use", "prevents you from using")
_MOST_ROWS = 100_000
_MOST_STEPS = 500
_STEP = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class OpencodeCall:
    """One answer of a model: who gave it, what it used, what it cost by the client's prices."""

    model: str
    usage: Usage
    cost: Decimal | None


@dataclass(slots=True, kw_only=True)
class OpencodeRun:
    """What is known of a run of opencode. ``reason`` is why the last answer ended."""

    session: str | None = None
    reason: str = ""
    steps: int = 0
    failure: Json = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    unknown: int = 0
    cut: bool = False
    denied: tuple[Denial, ...] = ()
    last_words: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)
    by_model: dict[str, Usage] = field(default_factory=dict)


def read_opencode(
    stream: Records, kept: list[OpencodeCall], prompt: str, workspace: Path, model: str
) -> OpencodeRun:
    """Everything that a run left.

    Args:
        stream: What it printed.
        kept: The answers of models in its database; what was printed counts if there are none.
        prompt: What it was asked.
        workspace: Where it worked.
        model: The model that it was to ask, for what was printed.
    """
    run = OpencodeRun(unknown=stream.broken, cut=stream.cut)
    reader = _Reader(run, EventLog(workspace))
    reader.log.add(EventKind.PROMPT, text=prompt)
    for record in stream.items:
        reader.record(record)
    run.events = reader.log.events()
    run.denied = tuple(reader.denied)
    run.last_words = tuple(reader.words[-1:])
    run.steps = len(reader.calls)
    _count_usage(run, kept, [OpencodeCall(model=model, usage=u, cost=c) for u, c in reader.calls])
    return run


def usage_of(tokens: Json) -> Usage:
    """The usage of an answer; what was read from a cache is apart, reasoning is as well."""
    cache = mapping(tokens.get("cache"))
    output, reasoning = count(tokens.get("output")), count(tokens.get("reasoning"))
    return Usage(
        input_tokens=count(tokens.get("input")),
        cache_read_tokens=count(cache.get("read")),
        cache_write_tokens=count(cache.get("write")),
        output_tokens=None if output is None else output + (reasoning or 0),
        reasoning_tokens=reasoning,
    )


def calls_kept(database: Path) -> list[OpencodeCall]:
    """Every answer of a model in its database, those of sub-agents too; none if it has none."""
    rows = _column(database, "SELECT data FROM message")
    return [call for data in rows if (call := _call(data)) is not None]


def version_kept(database: Path) -> str | None:
    """The version of the client that wrote its database; None if nothing says."""
    return next(map(text_or_none, _column(database, "SELECT version FROM session")), None)


def _column(database: Path, query: str) -> list[object]:
    if database.is_symlink() or not database.is_file():
        return []
    with contextlib.suppress(sqlite3.Error, OSError):
        connection = sqlite3.connect(f"{database.as_uri()}?mode=ro", uri=True)
        with contextlib.closing(connection):
            # An agent may have written to it: no work without end, and no functions.
            connection.execute("PRAGMA trusted_schema = OFF")
            steps = iter(range(_MOST_STEPS))
            connection.set_progress_handler(lambda: next(steps, None) is None, _STEP)
            return [row[0] for row in connection.execute(f"{query} LIMIT {_MOST_ROWS}")]
    return []


class _Reader:
    """Goes through the records of the stream."""

    def __init__(self, run: OpencodeRun, log: EventLog) -> None:
        self.run = run
        self.log = log
        self.calls: list[tuple[Usage, Decimal | None]] = []
        self.denied: list[Denial] = []
        self.words: list[str] = []

    def record(self, record: Json) -> None:
        """One record, in order."""
        kind, part = record.get("type"), mapping(record.get("part"))
        self.run.session = self.run.session or text_or_none(record.get("sessionID"))
        stamp = record.get("timestamp")
        at = moment(stamp / 1000) if isinstance(stamp, int | float) else None
        if kind == "error":
            self.run.failure = mapping(record.get("error"))
            self.log.add(EventKind.ERROR, text=failure_text(self.run.failure), at=at)
            return
        about: dict[str, Any] = {"at": at, "turn": self.log.turn(text(part.get("messageID")))}
        if kind == "text":
            self.words.append(text(part.get("text")))
            self.log.add(EventKind.MESSAGE, text=text(part.get("text")), **about)
        elif kind == "reasoning":
            self.log.add(EventKind.REASONING, text=text(part.get("text")), **about)
        elif kind == "tool_use":
            self._tool(part, about)
        elif kind == "step_finish":
            self._finished(part, about["turn"])
        elif kind != "step_start":
            self.run.unknown += 1

    def _finished(self, part: Json, turn: int) -> None:
        usage, cost = usage_of(mapping(part.get("tokens"))), dollars(part.get("cost"))
        self.calls.append((usage, cost))
        self.run.reason, self.run.failure = text(part.get("reason")), {}
        self.log.used(
            turn,
            CallUsage(
                input_tokens=usage.input_tokens,
                cache_read_tokens=usage.cache_read_tokens,
                cache_write_tokens=usage.cache_write_tokens,
                output_tokens=usage.output_tokens,
                reasoning_tokens=usage.reasoning_tokens,
                cost_usd=None if cost is None else money(cost),
            ),
        )

    def _tool(self, part: Json, about: dict[str, Any]) -> None:
        name, state = text(part.get("tool")), mapping(part.get("state"))
        given = dict(mapping(state.get("input")))
        failed = text(state.get("error"))
        refused = any(words in failed for words in _REFUSED)
        command = text_or_none(given.get("command")) if name == "bash" else None
        path = text_or_none(given.get("filePath")) or text_or_none(given.get("path"))
        code = number(mapping(state.get("metadata")).get("exit"))
        done = state.get("status") == "completed"
        self.log.add(
            _KINDS.get(name, EventKind.TOOL),
            text=text(given.get("prompt") or given.get("pattern") or given.get("query")),
            tool=name,
            call=text(part.get("callID")),
            arguments=given,
            command=command,
            path=path,
            exit_code=code,
            ok=(done and not code) if state.get("status") else None,
            denied=refused,
            **output_of(failed or text(state.get("output"))),
            **about,
        )
        if refused:
            detail = command or path or json.dumps(given, default=str)
            self.denied.append(Denial(tool=name, detail=one_line(detail)))


def failure_text(failure: Json) -> str:
    """What an error says, in one line."""
    data = mapping(failure.get("data"))
    said = text(data.get("message")) or text(failure.get("message"))
    return one_line(f"{text(failure.get('name'))}: {said}")


def _call(data: object) -> OpencodeCall | None:
    try:
        message = mapping(json.loads(data)) if isinstance(data, str) else {}
    except (ValueError, RecursionError):
        return None
    if message.get("role") != "assistant" or not mapping(message.get("tokens")).get("output"):
        return None
    return OpencodeCall(
        model=f"{text(message.get('providerID'))}/{text(message.get('modelID'))}",
        usage=usage_of(mapping(message.get("tokens"))),
        cost=dollars(message.get("cost")),
    )


def _count_usage(run: OpencodeRun, kept: list[OpencodeCall], printed: list[OpencodeCall]) -> None:
    calls: Iterator[OpencodeCall] = iter(kept if len(kept) >= len(printed) else printed)
    parts: dict[str, list[Usage]] = {}
    cost, number_of, unpriced = Decimal(0), 0, False
    for call in calls:
        parts.setdefault(call.model, []).append(call.usage)
        cost += call.cost or 0
        number_of += 1
        # A model whose price it does not know costs nothing for it.
        unpriced = unpriced or call.cost is None
    run.by_model = {model: added(usages) for model, usages in parts.items()}
    total = added(run.by_model.values())
    told = bool(number_of) and not unpriced
    run.usage = Usage(
        input_tokens=total.input_tokens,
        cache_read_tokens=total.cache_read_tokens,
        cache_write_tokens=total.cache_write_tokens,
        output_tokens=total.output_tokens,
        reasoning_tokens=total.reasoning_tokens,
        # Nothing tells a run without a call from one whose calls were not seen.
        model_calls=number_of or None,
        turns=run.steps or None,
        cost_usd=money(cost) if told else None,
        basis=REPORTED if told else UNKNOWN,
    )
