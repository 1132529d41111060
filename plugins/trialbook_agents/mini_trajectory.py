"""Reads the trajectory that mini-swe-agent writes: events, usage, and how it says it ended."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path
from typing import Any

from trialbook.api import REPORTED, UNKNOWN, CallUsage, Event, EventKind, Usage, added, money
from trialbook_agents.events import EventLog, output_of
from trialbook_agents.shapes import (
    Json,
    count,
    dollars,
    listed,
    mapping,
    moment,
    number,
    text,
    text_or_none,
    without,
)

_NOT_DONE = "action was not executed"
SUBMITTED = "Submitted"


@dataclass(slots=True, kw_only=True)
class MiniRun:
    """What is known of a run of mini-swe-agent. ``status`` is empty while it was still at work."""

    version: str | None = None
    model: str | None = None
    status: str = ""
    error: str = ""
    causes: str = ""
    calls: int | None = None
    cost: Decimal | None = None
    limits: Json = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)
    events: tuple[Event, ...] = ()
    unknown: int = 0
    last_words: tuple[str, ...] = ()


def read_mini(trajectory: Json | None, prompt: str, workspace: Path) -> MiniRun:
    """Everything that a trajectory says; an empty run if there is none."""
    log = EventLog(workspace)
    log.add(EventKind.PROMPT, text=prompt)
    info = mapping(mapping(trajectory).get("info"))
    stats, config = mapping(info.get("model_stats")), mapping(info.get("config"))
    run = MiniRun(
        version=text_or_none(info.get("mini_version")),
        model=text_or_none(mapping(config.get("model")).get("model_name")),
        status=text(info.get("exit_status")),
        calls=count(stats.get("api_calls")),
        cost=dollars(stats.get("instance_cost")),
        limits=mapping(config.get("agent")),
    )
    reader = _Reader(run, log)
    messages = listed(mapping(trajectory).get("messages"))
    for message in messages:
        reader.message(mapping(message))
    run.events = log.events()
    run.last_words = tuple(reader.last_words())
    run.usage = _usage(run, messages)
    return run


def calls_in(messages: Sequence[object]) -> Iterator[tuple[Usage, bool]]:
    """What each answer of the model used, and whether the client knew what it cost."""
    for message in messages:
        extra = mapping(mapping(message).get("extra"))
        said = mapping(mapping(extra.get("response")).get("usage"))
        if said:
            yield usage_of(said), dollars(extra.get("cost")) is not None


def usage_of(said: Json) -> Usage:
    """The usage of an answer in the form of either of OpenAI's interfaces: cached is part of it."""
    read_details = mapping(said.get("prompt_tokens_details") or said.get("input_tokens_details"))
    wrote = mapping(said.get("completion_tokens_details") or said.get("output_tokens_details"))
    whole = _first(said, "prompt_tokens", "input_tokens")
    read = _first(read_details, "cached_tokens")
    if read is None:
        read = _first(said, "cache_read_input_tokens")
    written = _first(said, "cache_creation_input_tokens")
    if written is None:
        written = _first(read_details, "cache_creation_tokens")
    return Usage(
        input_tokens=without(whole, read, written),
        cache_read_tokens=read or 0,
        cache_write_tokens=written or 0,
        output_tokens=_first(said, "completion_tokens", "output_tokens"),
        reasoning_tokens=_first(wrote, "reasoning_tokens"),
    )


class _Reader:
    """Goes through the messages; what came back of a command follows the message it stands in."""

    def __init__(self, run: MiniRun, log: EventLog) -> None:
        self.run = run
        self.log = log
        self._waiting: list[str] = []
        self._undone: list[str] = []
        self._words: list[str] = []
        self._started = False

    def message(self, message: Json) -> None:
        """One message, in order."""
        role = text(message.get("role"))
        extra = mapping(message.get("extra"))
        if role == "exit":
            self._exit(message, extra)
        elif "actions" in extra or role == "assistant" or message.get("object") == "response":
            self._answer(message, extra)
        elif "returncode" in extra:
            self._observation(extra)
        elif extra.get("interrupt_type") == "FormatError":
            self._misshapen(message, extra)
        elif self._started or role not in {"system", "user"}:
            self.run.unknown += 1

    def last_words(self) -> Iterator[str]:
        """What it said last, and what it handed in."""
        yield from self._words[-1:]

    def _answer(self, message: Json, extra: Json) -> None:
        self._started = True
        about = self._about(extra)
        if thought := text(message.get("reasoning_content")):
            self.log.add(EventKind.REASONING, text=thought, **about)
        if said := _content(message):
            self._words.append(said)
            self.log.add(EventKind.MESSAGE, text=said, **about)
        self._waiting, self._undone = [], []
        for place, action in enumerate(listed(extra.get("actions"))):
            command = text(mapping(action).get("command"))
            # Ids of calls may come again; these are unlike each other.
            call = f"{about['turn']}.{place + 1}"
            self._waiting.append(call)
            self.log.add(
                EventKind.COMMAND,
                tool="bash",
                call=call,
                arguments={"command": command},
                command=command,
                **about,
            )

    def _about(self, extra: Json) -> dict[str, Any]:
        turn = self.log.turn(str(self.log.turns))
        said = mapping(mapping(extra.get("response")).get("usage"))
        if said:
            self.log.used(turn, _call_usage(usage_of(said), extra.get("cost")))
        elif dollars(extra.get("cost")) is not None:
            self.log.used(turn, _call_usage(Usage(), extra.get("cost")))
        return {"turn": turn, "at": moment(extra.get("timestamp"))}

    def _observation(self, extra: Json) -> None:
        if not self._waiting:
            self.run.unknown += 1
            return
        call = self._waiting.pop(0)
        trouble = text(extra.get("exception_info"))
        if trouble == _NOT_DONE:
            self._undone.append(call)
        code = number(extra.get("returncode"))
        output = text(extra.get("raw_output")) or trouble
        self.log.answer(
            call,
            exit_code=None if trouble else code,
            ok=code == 0 and not trouble,
            **output_of(output),
        )

    def _misshapen(self, message: Json, extra: Json) -> None:
        """An answer that had no command in it, and what the agent was told about it."""
        self._started = True
        about = self._about(extra)
        choices = listed(mapping(extra.get("response")).get("choices"))
        said = _content(mapping(mapping(choices[0] if choices else None).get("message")))
        if said:
            self._words.append(said)
            self.log.add(EventKind.MESSAGE, text=said, **about)
        self.log.add(EventKind.ERROR, text=_content(message), **about)

    def _exit(self, message: Json, extra: Json) -> None:
        self.run.status = self.run.status or text(extra.get("exit_status"))
        self.run.error = text(extra.get("exception_str"))
        self.run.causes = text(extra.get("traceback"))
        if self.run.status == SUBMITTED:
            # The command that hands in the work is never told about: it is the first one that
            # nothing came back of.
            for call in [*self._undone, *self._waiting][:1]:
                self.log.answer(call, exit_code=0, ok=True, **output_of(_content(message)))
            if handed_in := text(extra.get("submission")):
                self._words.append(handed_in)
        if self.run.error:
            self.log.add(EventKind.ERROR, text=self.run.error)
        elif self.run.status != SUBMITTED:
            self.log.add(EventKind.NOTICE, text=self.run.status)


def _call_usage(usage: Usage, cost: object) -> CallUsage:
    known = dollars(cost)
    return CallUsage(
        input_tokens=usage.input_tokens,
        cache_read_tokens=usage.cache_read_tokens,
        cache_write_tokens=usage.cache_write_tokens,
        output_tokens=usage.output_tokens,
        reasoning_tokens=usage.reasoning_tokens,
        cost_usd=None if known is None else money(known),
    )


def _usage(run: MiniRun, messages: Sequence[object]) -> Usage:
    calls = list(calls_in(messages))
    total = added(usage for usage, _ in calls)
    # A call without a price costs 0 for the client, so that its sum says too little.
    told = run.cost is not None and all(known for _, known in calls)
    return Usage(
        input_tokens=total.input_tokens,
        cache_read_tokens=total.cache_read_tokens,
        cache_write_tokens=total.cache_write_tokens,
        output_tokens=total.output_tokens,
        reasoning_tokens=total.reasoning_tokens,
        model_calls=run.calls,
        turns=run.calls,
        cost_usd=money(run.cost) if told and run.cost is not None else None,
        basis=REPORTED if told else UNKNOWN,
    )


def _first(said: Json, *names: str) -> int | None:
    return next((value for name in names if (value := count(said.get(name))) is not None), None)


def _content(message: Json) -> str:
    return "\n".join(part for part in _parts(message) if part)


def _parts(message: Json) -> Iterable[str]:
    content = message.get("content")
    if isinstance(content, str):
        yield content
        return
    for item in listed(content):
        yield text(mapping(item).get("text"))
    for item in listed(message.get("output")):
        for part in listed(mapping(item).get("content")):
            yield text(mapping(part).get("text"))
