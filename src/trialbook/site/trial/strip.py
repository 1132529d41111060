"""The events of an attempt over time at a glance, a line for each kind, leading to each event."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from markupsafe import Markup, escape

from trialbook.model.trajectory import Event, EventKind
from trialbook.reporting.wording import duration, number_of

_WIDTH = 1_000
_MARKS = 250
"""How many marks a line bears; events that fall together beyond that share one."""

_LANES: tuple[tuple[str, frozenset[EventKind]], ...] = (
    ("said", frozenset({EventKind.PROMPT, EventKind.MESSAGE, EventKind.REASONING})),
    ("read", frozenset({EventKind.READ, EventKind.SEARCH})),
    ("command", frozenset({EventKind.COMMAND})),
    ("write", frozenset({EventKind.WRITE})),
    ("tool", frozenset({EventKind.TOOL})),
    ("trouble", frozenset({EventKind.ERROR, EventKind.RETRY, EventKind.NOTICE})),
)


def offsets(events: Sequence[Event]) -> list[float | None]:
    """Seconds since the first event that has a time; None where an event has none."""
    times = [_moment(event.at) for event in events]
    begun = next((time for time in times if time is not None), None)
    return [
        None if time is None or begun is None else max(0.0, (time - begun).total_seconds())
        for time in times
    ]


def strip(events: Sequence[Event], target: Callable[[int, int], str]) -> dict[str, Any] | None:
    """The strip: a line of marks for each kind that occurs, and what it says in words.

    ``target`` gives the relative address of an event by its place and its number.
    None where there are no events.
    """
    if not events:
        return None
    spent = offsets(events)
    known = [seconds for seconds in spent if seconds is not None]
    # Without times, or all at once, the order is what there is to show.
    timed = 2 * len(known) >= len(events) and max(known) > 0
    length = max(known) if timed else max(1, len(events) - 1)
    at = _filled(spent) if timed else [float(place) for place in range(len(events))]
    lanes = []
    for name, kinds in _LANES:
        places = [place for place, event in enumerate(events) if event.kind in kinds]
        if places:
            marks: dict[int, list[int]] = {}
            for place in places:
                x = round(at[place] / length * _MARKS)
                marks.setdefault(x, []).append(place)
            drawn = [_mark(x, found, events, target) for x, found in marks.items()]
            lanes.append({"name": name, "count": len(places), "svg": _svg(drawn)})
    return {"lanes": lanes, "said": _said(events, known, lanes), "timed": timed}


def _filled(spent: Sequence[float | None]) -> list[float]:
    """An event that does not tell its time stands where the one before it does."""
    found, before = [], 0.0
    for seconds in spent:
        before = before if seconds is None else seconds
        found.append(before)
    return found


def _mark(
    x: int, places: Sequence[int], events: Sequence[Event], target: Callable[[int, int], str]
) -> str:
    """One mark: higher and broken where something went wrong."""
    first = next((place for place in places if _bad(events[place])), places[0])
    bad = _bad(events[first])
    left = round(2 + x / _MARKS * (_WIDTH - 4))
    shape = f"M{left} 0V16" if bad else f"M{left} 4V12"
    kind = ' class="bad"' if bad else ""
    event = events[first]
    title = f"{event.number}: {event.kind}" + (
        f" and {number_of(len(places) - 1, 'other')}" if len(places) > 1 else ""
    )
    return (
        f'<a href="{escape(target(first, event.number))}" tabindex="-1"><path{kind} d="{shape}"/>'
        f"<title>{escape(title)}</title></a>"
    )


def _svg(marks: Sequence[str]) -> Markup:
    svg = (
        f'<svg class="lane" viewBox="0 0 {_WIDTH} 16" preserveAspectRatio="none" '
        f'aria-hidden="true">{"".join(marks)}</svg>'
    )
    return Markup(svg)  # noqa: S704 - numbers, and escaped addresses and titles


def _said(events: Sequence[Event], known: Sequence[float], lanes: Sequence[dict[str, Any]]) -> str:
    took = f" in {duration(max(known))}" if known and max(known) > 0 else ""
    counts = ", ".join(f"{lane['name']} {lane['count']}" for lane in lanes)
    wrong = sum(_bad(event) for event in events)
    bad = f"; {number_of(wrong, 'event')} did not go well" if wrong else ""
    return f"{number_of(len(events), 'event')}{took}: {counts}{bad}."


def _bad(event: Event) -> bool:
    return event.denied or event.ok is False or bool(event.exit_code) or event.kind == "error"


def _moment(text: str | None) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text or "")
    except ValueError:
        return None
    return moment if moment.tzinfo is not None else None
