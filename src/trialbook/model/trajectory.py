"""What an agent did, in order, in one form for every client; and the bounds that hold for it.

The client's own record is kept beside it as it is: this is for reading and counting, not a copy.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

SCHEMA = "trialbook/trajectory/1"

MOST_EVENTS = 5_000
"""How many events are kept: the first and the last half of so many."""

LONGEST_TEXT = 8_000
LONGEST_OUTPUT = 4_000
"""Characters of a text, and of an output: its beginning and its end."""

_LONGEST_ARGUMENT = 2_000
_MOST_ARGUMENTS = 50
_DEEPEST = 6
_LARGEST = 2.0**53  # what every reader of JSON can hold
_MOST_CHARACTERS = 4_000_000  # of all events together


class EventKind(StrEnum):
    """What happened.

    ``prompt`` is what the agent was told, ``message`` what it said. ``command`` is a shell command,
    ``write`` any change of a file, ``search`` a look for names or contents, ``tool`` every other
    call of a tool. ``error`` is what the client or the provider could not do, ``retry`` a call of
    the model that was made again, ``notice`` what the client tells of itself.
    """

    PROMPT = "prompt"
    MESSAGE = "message"
    REASONING = "reasoning"
    COMMAND = "command"
    READ = "read"
    WRITE = "write"
    SEARCH = "search"
    TOOL = "tool"
    ERROR = "error"
    RETRY = "retry"
    NOTICE = "notice"


@dataclass(frozen=True, slots=True, kw_only=True)
class CallUsage:
    """What one call of the model used. Counted as in `Usage`; null is not known."""

    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    cache_write_tokens: int | None = None
    output_tokens: int | None = None
    reasoning_tokens: int | None = None
    cost_usd: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """One thing that happened.

    ``number`` counts from 1 over all events, those that are not kept too. ``at`` is when (UTC), or
    null. ``turn`` is the call of the model that it came from, counted from 1; the events of one
    call follow each other, and the first of them has what the call used in ``usage``. ``agent``
    names the sub-agent that did it; null for the agent itself. ``text`` is what was said, or what a
    tool was asked in words.

    ``tool``, ``call`` and ``arguments`` are a tool's name, the call's id and its input in the words
    of the client; ``command`` and ``path`` what they mean, where that is known. ``output`` is what
    came back, ``output_bytes`` how much that was as a whole; ``exit_code`` and ``ok`` how it ended,
    null if not known. ``denied`` says that it was not permitted, and so did not happen.
    """

    number: int
    kind: EventKind
    at: str | None = None
    turn: int | None = None
    agent: str | None = None
    text: str = ""
    tool: str | None = None
    call: str | None = None
    arguments: dict[str, Any] | None = None
    command: str | None = None
    path: str | None = None
    output: str | None = None
    output_bytes: int | None = None
    exit_code: int | None = None
    ok: bool | None = None
    denied: bool = False
    usage: CallUsage | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """What an agent did in one attempt, as in ``trajectory.json``.

    ``model`` is the one that answered, as the client names it. ``source`` is the file beside it
    that the events were read from. ``truncated`` says that the source ends before the agent's work
    did; ``unknown_events`` counts what could not be read in it, ``omitted_events`` what was left
    out here for its length.
    """

    schema: str = SCHEMA
    client: str
    client_version: str | None = None
    session_id: str | None = None
    model: str | None = None
    source: str | None = None
    truncated: bool = False
    unknown_events: int = 0
    omitted_events: int = 0
    events: tuple[Event, ...] = field(default_factory=tuple)


def bounded(trajectory: Trajectory) -> Trajectory:
    """The same within bounds, and of text that can be written; safe for what any client printed."""
    events, half = trajectory.events, MOST_EVENTS // 2
    if len(events) > MOST_EVENTS:
        events = (*events[:half], *events[-half:])
    size, kept = 0, []
    for event in events:
        small = _bounded_event(event)
        size += _size(small)
        if size > _MOST_CHARACTERS:
            break
        kept.append(small)
    omitted = trajectory.omitted_events + len(trajectory.events) - len(kept)
    clean = {
        name: _plain(getattr(trajectory, name))
        for name in ("client", "client_version", "session_id", "model", "source")
    }
    return replace(trajectory, **clean, omitted_events=omitted, events=tuple(kept))


def cut(text: str, most: int) -> str:
    """The text, or its beginning and its end with a mark between them that says how much is not."""
    if len(text) <= most:
        return text
    half = most // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half} characters ...]\n{text[-half:]}"


def _bounded_event(event: Event) -> Event:
    return replace(
        event,
        text=_short(event.text, LONGEST_TEXT),
        command=_short(event.command, LONGEST_TEXT),
        path=_short(event.path, LONGEST_OUTPUT),
        output=_short(event.output, LONGEST_OUTPUT),
        arguments=None if event.arguments is None else _value(event.arguments, _DEEPEST),
        at=_plain(event.at),
        agent=_plain(event.agent),
        tool=_plain(event.tool),
        call=_plain(event.call),
    )


def _size(event: Event) -> int:
    texts = (event.text, event.command, event.path, event.output)
    return sum(len(text or "") for text in texts) + len(str(event.arguments or "")) + 200


def _value(value: Any, depth: int) -> Any:  # noqa: ANN401 - any JSON value
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int | float) and abs(value) < _LARGEST:
        return value
    if depth > 0 and isinstance(value, Mapping):
        pairs = list(value.items())[:_MOST_ARGUMENTS]
        return {_plain(str(key)[:200]): _value(item, depth - 1) for key, item in pairs}
    if depth > 0 and isinstance(value, list | tuple):
        return [_value(item, depth - 1) for item in value[:_MOST_ARGUMENTS]]
    nested = isinstance(value, Mapping | list | tuple)
    return "[...]" if nested else _short(str(value), _LONGEST_ARGUMENT)


def _short(text: Any, most: int) -> Any:  # noqa: ANN401 - a text or None
    return None if text is None else _writable(cut(text, most))


def _plain(text: Any) -> Any:  # noqa: ANN401 - a text or None
    return None if text is None else _writable(text[:LONGEST_OUTPUT])


def _writable(text: str) -> str:
    """Without the halves of characters that JSON can hold and files cannot."""
    return text.encode("utf-8", "replace").decode("utf-8")
