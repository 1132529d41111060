"""What stands out in a trajectory, event by event: the facts of `conduct` where they happened."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from trialbook.model.trajectory import Event, EventKind
from trialbook.stats.conduct import (
    Followed,
    command_of,
    failing_commands,
    passed,
    reads_of_parts,
)
from trialbook.stats.shell import risks, runs_tests


class MarkKind(StrEnum):
    """What stands out."""

    DENIED = "denied"
    FAILED_AGAIN = "failed_again"
    READ_AGAIN = "read_again"
    REPEATED = "repeated"
    RISKY = "risky"
    TAKEN_BACK = "taken_back"
    TESTS = "tests"


@dataclass(frozen=True, slots=True, kw_only=True)
class EventMark:
    """One thing that stands out of an event, in words; ``notable`` asks for a look at it."""

    kind: MarkKind
    said: str
    notable: bool = False


_ENDED = {True: "tests passed", False: "tests failed", None: "ran tests"}


def event_marks(events: Sequence[Event]) -> Mapping[int, list[EventMark]]:
    """What stands out of each event, by its place in the sequence; nothing of most."""
    found: dict[int, list[EventMark]] = {}
    for place, mark in _marks(events):
        found.setdefault(place, []).append(mark)
    return found


def _marks(events: Sequence[Event]) -> Iterator[tuple[int, EventMark]]:
    for place, count in failing_commands(events):
        if count > 1:
            said = f"failed {count} times in a row"
            yield place, EventMark(kind=MarkKind.FAILED_AGAIN, said=said, notable=True)
    for place, count in reads_of_parts(events):
        if count > 1:
            said = f"unchanged, read {count} times"
            yield place, EventMark(kind=MarkKind.READ_AGAIN, said=said)
    followed, times = Followed(), Counter[str]()
    for place, event in enumerate(events):
        if event.denied:
            yield place, EventMark(kind=MarkKind.DENIED, said="not permitted", notable=True)
        if followed.takes_back(event):
            yield place, EventMark(kind=MarkKind.TAKEN_BACK, said="took an edit back", notable=True)
        words = command_of(event)
        if event.kind is EventKind.COMMAND and words:
            yield from ((place, mark) for mark in _of_command(event, words, times))


def _of_command(event: Event, words: str, times: Counter[str]) -> Iterator[EventMark]:
    found = risks(words)
    if found:
        yield EventMark(kind=MarkKind.RISKY, said=f"risky: {', '.join(found)}", notable=True)
    if event.denied:
        return
    times[words] += 1
    if times[words] > 1:
        yield EventMark(kind=MarkKind.REPEATED, said=f"run {times[words]} times")
    if runs_tests(words):
        yield EventMark(kind=MarkKind.TESTS, said=_ENDED[passed(event)])
