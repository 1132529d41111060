from __future__ import annotations

import json

from trialbook.formats.records import from_json, to_json
from trialbook.model.trajectory import (
    LONGEST_OUTPUT,
    MOST_EVENTS,
    Event,
    EventKind,
    Trajectory,
    bounded,
    cut,
)


def command(number: int, **fields: object) -> Event:
    return Event(number=number, kind=EventKind.COMMAND, **fields)  # type: ignore[arg-type]


def test_what_is_within_bounds_stays_as_it_is() -> None:
    event = command(1, command="ls", output="a\n", arguments={"cmd": "ls", "n": [1, None, True]})
    trajectory = Trajectory(client="codex", events=(event,))
    assert bounded(trajectory) == trajectory
    assert from_json(Trajectory, to_json(trajectory), "t") == trajectory


def test_long_texts_keep_their_beginning_and_their_end() -> None:
    text = "begin" + "x" * 100_000 + "end"
    event = command(1, output=text, arguments={"a": text, "deep": [[[[[[[["x"]]]]]]]]})
    (kept,) = bounded(Trajectory(client="codex", events=(event,))).events
    assert kept.output is not None
    assert kept.output.startswith("begin")
    assert kept.output.endswith("end")
    assert len(kept.output) < LONGEST_OUTPUT + 100
    assert len(json.dumps(kept.arguments)) < 5_000
    assert cut("short", 10) == "short"


def test_many_events_keep_the_first_and_the_last() -> None:
    events = tuple(command(number) for number in range(1, MOST_EVENTS + 101))
    kept = bounded(Trajectory(client="codex", events=events))
    assert (len(kept.events), kept.omitted_events) == (MOST_EVENTS, 100)
    assert kept.events[0].number == 1
    assert kept.events[-1].number == MOST_EVENTS + 100
    large = tuple(command(number, output="x" * 4_000) for number in range(1, 5_001))
    kept = bounded(Trajectory(client="codex", events=large))
    assert len(kept.events) + kept.omitted_events == 5_000
    assert len(to_json(kept)) < 6_000_000


def test_halves_of_characters_can_be_written() -> None:
    event = command(1, text="a\ud800b", tool="\udfff", arguments={"\ud800": "\ud800"})
    trajectory = bounded(Trajectory(client="c", model="\ud800", events=(event,)))
    assert b"a?b" in to_json(trajectory)
