"""Collects the events of a trajectory while a client's record is read."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from trialbook.api import CallUsage, Event, EventKind

MOST_EVENTS = 100_000
"""How many are collected; the trajectory keeps fewer."""


class EventLog:
    """Events in order, with tool calls and what came back of them brought together.

    Paths inside the workspace are kept relative to it.
    """

    def __init__(self, workspace: Path) -> None:
        self._inside = f"{workspace}/"
        self._events: list[Event] = []
        self._calls: dict[str, list[int]] = {}
        self._turns: dict[str, int] = {}
        self._usage: dict[int, CallUsage] = {}

    def add(self, kind: EventKind, **fields: Any) -> None:  # noqa: ANN401 - fields of an `Event`
        """Add an event; its number is the next one."""
        if len(self._events) >= MOST_EVENTS:
            return
        if isinstance(fields.get("path"), str):
            fields["path"] = self.place(fields["path"])
        event = Event(number=len(self._events) + 1, kind=kind, **fields)
        if event.call:
            self._calls.setdefault(event.call, []).append(len(self._events))
        self._events.append(event)

    def called(self, call: str) -> Event | None:
        """The call of that id as it is known so far, or None."""
        places = self._calls.get(call)
        return None if places is None else self._events[places[0]]

    def answer(self, call: str, **fields: Any) -> None:  # noqa: ANN401 - fields of an `Event`
        """What came of a call, laid over what is known of it already. None says nothing."""
        known = {name: value for name, value in fields.items() if value is not None}
        for index in self._calls.get(call, ()):
            self._events[index] = replace(self._events[index], **known)

    def turn(self, key: str) -> int:
        """The number of a call of the model, by any key that is its own."""
        return self._turns.setdefault(key, len(self._turns) + 1)

    def used(self, turn: int, usage: CallUsage) -> None:
        """What a call of the model used."""
        self._usage[turn] = usage

    def place(self, path: str) -> str:
        """A path as events have it."""
        return path.removeprefix(self._inside)

    @property
    def turns(self) -> int:
        """How many calls of the model there are."""
        return len(self._turns)

    def events(self) -> tuple[Event, ...]:
        """All of them in order of time; the first of each call of the model has what that used."""
        left = dict(self._usage)
        found = []
        for number, event in enumerate(self._in_time(), 1):
            usage = None if event.turn is None else left.pop(event.turn, None)
            found.append(replace(event, number=number, usage=usage))
        return tuple(found)

    def _in_time(self) -> list[Event]:
        """Records of sub-agents are read one after the other; what has no time stays in place."""
        latest, keys = "", []
        for event in self._events:
            latest = event.at or latest
            keys.append(latest)
        order = sorted(range(len(keys)), key=keys.__getitem__)
        return [self._events[place] for place in order]


def output_of(text: str) -> dict[str, Any]:
    """The fields of an event that say what came back."""
    return {"output": text, "output_bytes": len(text.encode("utf-8", "replace"))}
