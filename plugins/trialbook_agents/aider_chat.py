"""Reads what aider kept: its chat, its own event log, and what the model said.

It prints prose. Tokens are in its event log (``--analytics-log``), which stays on this machine;
what it did is in the lines of its chat that are its own, and what was said in its model log.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from trialbook.api import REPORTED, UNKNOWN, CallUsage, Event, EventKind, Usage, added, money
from trialbook_agents.events import EventLog
from trialbook_agents.jsonl import Records
from trialbook_agents.shapes import Json, count, dollars, mapping, one_line

_MOST_BYTES = 64_000_000
_RESPONSE = re.compile(r"LLM RESPONSE (\S+)$")
_SAID = "ASSISTANT"
_OWN = "> "
_VERSION = re.compile(r"Aider v(\S+)$")
_TOKENS = "Tokens: "
_EDIT = re.compile(r"Applied edit to (.+)$")
_EXCEPTION = re.compile(r"litellm\.(?:exceptions\.)?(\w+): (.*)$")
_RETRY = "Retrying in "
_STUCK = re.compile(r"Only \d+ reflections allowed, stopping\.$")
_MISSHAPEN = "The LLM did not conform to the edit format."


@dataclass(slots=True, kw_only=True)
class AiderRun:
    """What is known of a run of aider.

    ``failure`` is the name of the last exception that no answer came after, and what it said;
    ``stuck`` what it said when it gave up on edits; ``exited`` whether it came to its end.
    """

    failure: tuple[str, str] | None = None
    stuck: str = ""
    exited: bool = False
    version: str | None = None
    answers: int = 0
    edits: int = 0
    events: tuple[Event, ...] = ()
    unknown: int = 0
    cut: bool = False
    last_words: tuple[str, ...] = ()
    usage: Usage = field(default_factory=Usage)


def read_aider(log: Records, chat: Path, model_log: Path, prompt: str, workspace: Path) -> AiderRun:
    """Everything that a run left.

    Args:
        log: Its event log.
        chat: Its chat, as Markdown.
        model_log: What it sent to the model, and what came back.
        prompt: What it was asked.
        workspace: Where it worked.
    """
    run = AiderRun(unknown=log.broken, cut=log.cut)
    events = EventLog(workspace)
    events.add(EventKind.PROMPT, text=prompt)
    said = list(_responses(model_log))
    run.last_words = tuple(text for _, text in said[-1:])
    _walk(run, events, _own_lines(chat), said)
    calls = [mapping(one.get("properties")) for one in log.items if is_answer(one)]
    run.exited = any(one.get("event") == "exit" for one in log.items)
    run.answers = len(calls)
    for turn, call in enumerate(calls, start=1):
        events.used(turn, _call_usage(call))
    run.events = events.events()
    run.usage = _usage(calls)
    return run


def is_answer(record: Json) -> bool:
    """Whether a record of the event log tells of an answer of the model."""
    return record.get("event") == "message_send"


def usage_of(record: Json) -> Usage:
    """The usage of an answer. What was read from a cache is not told apart."""
    said = mapping(record.get("properties"))
    return Usage(
        input_tokens=count(said.get("prompt_tokens")),
        output_tokens=count(said.get("completion_tokens")),
    )


def _walk(
    run: AiderRun, events: EventLog, lines: Iterator[str], said: list[tuple[str, str]]
) -> None:
    """Its own lines in order: each count of tokens is an answer, and the lines after are of it."""
    turn = 0
    for line in lines:
        if run.version is None and (named := _VERSION.match(line)):
            run.version = named[1]
        edit, exception = _EDIT.match(line), _EXCEPTION.match(line)
        if line.startswith(_TOKENS):
            turn = events.turn(str(events.turns))
            run.failure = None
            at, text = said[turn - 1] if turn <= len(said) else ("", "")
            events.add(EventKind.MESSAGE, text=text, at=at or None, turn=turn)
        elif edit is not None:
            run.edits += 1
            events.add(EventKind.WRITE, tool="edit", path=edit[1], ok=True, turn=turn or None)
        elif exception is not None:
            run.failure = exception[1], one_line(exception[2])
            events.add(EventKind.ERROR, text=one_line(line))
        elif line.startswith(_RETRY):
            events.add(EventKind.RETRY, text=one_line(line))
        elif _STUCK.match(line):
            run.stuck = line
            events.add(EventKind.ERROR, text=line, turn=turn or None)
        elif line == _MISSHAPEN:
            events.add(EventKind.ERROR, text=line, turn=turn or None)


def _own_lines(chat: Path) -> Iterator[str]:
    """The lines of the chat that are the client's own, without their mark."""
    for line in _text_of(chat).split("\n"):
        if line.startswith(_OWN):
            yield line.removeprefix(_OWN).strip()


def _responses(model_log: Path) -> Iterator[tuple[str, str]]:
    """What the model said, and when: every line of it is marked, so that it cannot be mistaken."""
    at = ""
    lines: list[str] | None = None
    for line in _text_of(model_log).split("\n"):
        head = _RESPONSE.match(line)
        if head is not None:
            if lines is not None:
                yield at, "\n".join(lines)
            at, lines = f"{head[1]}Z", []
        elif lines is not None and line.startswith(_SAID):
            lines.append(line.removeprefix(_SAID)[1:])
        elif lines is not None:
            yield at, "\n".join(lines)
            lines = None
    if lines is not None:
        yield at, "\n".join(lines)


def _usage(calls: list[Json]) -> Usage:
    if not calls:
        return Usage(model_calls=0, turns=0)
    total = added(usage_of({"properties": call}) for call in calls)
    # A model without a price costs nothing for it.
    known = [cost for call in calls if (cost := dollars(call.get("cost"))) is not None]
    told = len(known) == len(calls)
    return Usage(
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        model_calls=len(calls),
        turns=len(calls),
        cost_usd=money(sum(known, Decimal(0))) if told else None,
        basis=REPORTED if told else UNKNOWN,
    )


def _call_usage(call: Json) -> CallUsage:
    usage, cost = usage_of({"properties": call}), dollars(call.get("cost"))
    return CallUsage(
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cost_usd=None if cost is None else money(cost),
    )


def _text_of(path: Path) -> str:
    try:
        if path.is_symlink() or not path.is_file():
            return ""
        with path.open("rb") as file:
            return file.read(_MOST_BYTES).decode("utf-8", "replace")
    except OSError:
        return ""
