"""The pages of what an agent did: every event in order, with its arguments and its output."""

from __future__ import annotations

import json
import posixpath
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from trialbook.api import Page
from trialbook.model.runfiles import TRAJECTORY, attempt_folder
from trialbook.model.trajectory import Event, EventKind, Trajectory
from trialbook.model.trial import Trial
from trialbook.reporting.wording import number_of, size, words
from trialbook.site.addresses import run_page, suite_page, trajectory_page, trial_page
from trialbook.site.paging import Paged, paged
from trialbook.site.text import plain_text
from trialbook.site.trial.files import Place
from trialbook.site.trial.strip import offsets, strip
from trialbook.stats.event_marks import EventMark, event_marks
from trialbook.storage.reader import RunRef

EVENTS = 500
"""How many events a page has."""

_WORTH = 8
_HEAD = 200
_SHORT = 600
_SHORT_LINES = 12
_MINUTE = 60
_SPOKEN = (EventKind.PROMPT, EventKind.MESSAGE, EventKind.REASONING)


class TrajectoryPages:
    """The pages of one trial's trajectories, and where each event is."""

    def __init__(self, run: RunRef, trial: Trial, trajectories: Mapping[Place, Trajectory]) -> None:
        self._run = run
        self._trial = trial
        self._trajectories = trajectories
        self._marks = {
            place: event_marks(trajectory.events) for place, trajectory in trajectories.items()
        }

    def first(self, place: Place) -> str:
        """The page that the events of an attempt begin on."""
        return trajectory_page(self._run, self._trial.path, *place)

    def of_session(self, session: int) -> str:
        """The page of the first attempt of a session; empty if nothing of it is on record."""
        places = [place for place in self._trajectories if place[0] == session]
        return self.first(places[0]) if places else ""

    def strips(self) -> list[dict[str, Any]]:
        """Each attempt at a glance, as the trial's page shows it."""
        found = []
        for place, trajectory in self._trajectories.items():
            drawn = strip(trajectory.events, _Targets(self.first(place)))
            notable = _index(trajectory.events, self._marks[place], self.first(place))
            title = f"session {place[0]}, attempt {place[1]}"
            found.append(
                {
                    "title": title if len(self._trajectories) > 1 else "",
                    "page": self.first(place),
                    "strip": drawn,
                    "notable": notable[:_WORTH],
                    "more": max(0, len(notable) - _WORTH),
                    "notes": _notes(trajectory),
                }
            )
        return found

    def pages(self) -> Iterator[Page]:
        """All of them."""
        for place, trajectory in self._trajectories.items():
            marks = self._marks[place]
            spent = offsets(trajectory.events)
            path = self.first(place)
            drawn = strip(trajectory.events, _Targets(path))
            notable = _index(trajectory.events, marks, path)
            indices = range(len(trajectory.events))
            for part in paged(indices, path, "event", size=EVENTS):
                events = [
                    _event(trajectory.events[i], spent[i], marks.get(i, ())) for i in part.rows
                ]
                _gaps(events, part, trajectory.events)
                shown = {"events": events, "strip": drawn, "marks": notable}
                yield self._page(place, part, shown)

    def _page(self, place: Place, part: Paged[int], shown: dict[str, Any]) -> Page:
        trial, trajectory = self._trial, self._trajectories[place]
        title = f"{trial.task} · {trial.configuration} · r{trial.repetition}"
        folder = f"runs/{trial.suite}/{trial.run}/{trial.path}/{attempt_folder(*place)}"
        files = [TRAJECTORY, *([trajectory.source] if trajectory.source else [])]
        context = {
            **shown,
            "suite": {"name": trial.suite, "page": suite_page(trial.suite)},
            "run": {"name": trial.run, "page": run_page(self._run)},
            "trial": {"name": title, "page": trial_page(self._run, trial.path)},
            "task": trial.task,
            "session": place[0],
            "attempt": place[1],
            "paged": part,
            "about": [
                ["Client", f"{trajectory.client} {trajectory.client_version or ''}".strip()],
                ["Model", trajectory.model or "not told"],
                ["Session of the client", trajectory.session_id or "not told"],
                ["Read from", trajectory.source or "nothing that is kept"],
            ],
            "notes": _notes(trajectory),
            "others": [
                [f"Session {one[0]}, attempt {one[1]}", self.first(one)]
                for one in self._trajectories
            ]
            if len(self._trajectories) > 1
            else [],
            "first_page": self.first(place),
            "commands": [f"git show HEAD:./{shlex.quote(f'{folder}/{name}')}" for name in files],
        }
        title = f"What the agent did: {title}"
        if part.number > 1:
            title += f", page {part.number}"
        return Page(path=part.path, template="trajectory.html", title=title, context=context)


class _Targets:
    """Where events are, from any page of the same trajectory or of its trial."""

    def __init__(self, first: str) -> None:
        self._stem = posixpath.basename(first).removesuffix(".html")

    def __call__(self, place: int, number: int) -> str:
        """An event's address, relative to the folder of all these pages."""
        page = place // EVENTS + 1
        more = f"-page-{page}" if page > 1 else ""
        return f"{self._stem}{more}.html#e{number}"


def _event(event: Event, spent: float | None, marks: Sequence[EventMark]) -> dict[str, Any]:
    text = plain_text(event.text)
    spoken = event.kind in _SPOKEN
    whole = spoken and len(text) <= _SHORT and text.count("\n") < _SHORT_LINES
    head = _line(event.command or event.path or text)
    return {
        "number": event.number,
        "kind": event.kind.value,
        "spoken": spoken,
        "spent": _clock(spent),
        "turn": event.turn,
        "agent": event.agent,
        "tool": event.tool,
        "head": "" if whole else head,
        "code": bool(event.command or event.path),
        "whole": text if whole else "",
        "marks": [{"said": one.said, "notable": one.notable} for one in marks],
        "ended": _ended(event),
        "parts": list(_parts(event, "" if whole or text == head else text)),
        "gap": "",
    }


def _parts(event: Event, text: str) -> Iterator[dict[str, str]]:
    """What is under the line of an event."""
    if text:
        yield {"name": words(event.kind.value), "text": text, "more": ""}
    if event.command and _line(event.command) != event.command:
        yield {"name": "command", "text": plain_text(event.command), "more": ""}
    if event.arguments:
        given = json.dumps(event.arguments, indent=2, ensure_ascii=False)
        if event.arguments != {"command": event.command}:
            yield {"name": "arguments", "text": given, "more": ""}
    if event.output:
        kept = len(event.output.encode("utf-8", "replace"))
        more = ""
        if event.output_bytes is not None and event.output_bytes > kept:
            more = f"{size(event.output_bytes)} in all"
        yield {"name": "output", "text": plain_text(event.output), "more": more}
    if event.usage is not None:
        used = [
            f"{words(name)} {value:,}"
            for name, value in (
                ("input_tokens", event.usage.input_tokens),
                ("cache_read_tokens", event.usage.cache_read_tokens),
                ("cache_write_tokens", event.usage.cache_write_tokens),
                ("output_tokens", event.usage.output_tokens),
            )
            if value is not None
        ]
        if event.usage.cost_usd is not None:
            used.append(f"cost ${event.usage.cost_usd}")
        if used:
            yield {"name": "usage of this call of the model", "text": ", ".join(used), "more": ""}


def _ended(event: Event) -> dict[str, str]:
    """How it ended, where that is worth a mark."""
    if event.denied:
        return {}
    if event.exit_code:
        return {"said": f"exit {event.exit_code}", "tone": "bad"}
    if event.ok is False:
        return {"said": "failed", "tone": "bad"}
    if event.exit_code == 0 or event.ok:
        return {"said": "ok", "tone": "good"}
    return {}


def _gaps(events: list[dict[str, Any]], part: Paged[int], every: Sequence[Event]) -> None:
    """Say before an event how many are not on record there."""
    for row, place in zip(events, part.rows, strict=True):
        before = every[place - 1].number if place else 0
        missing = every[place].number - before - 1
        if missing > 0:
            row["gap"] = number_of(missing, "event")


def _index(
    events: Sequence[Event], marks: Mapping[int, Sequence[EventMark]], path: str
) -> list[dict[str, str]]:
    """What asks for a look, as a list of ways to it."""
    targets = _Targets(path)
    return [
        {
            "number": str(events[place].number),
            "target": targets(place, events[place].number),
            "said": mark.said,
            "head": _line(events[place].command or events[place].path or ""),
        }
        for place in sorted(marks)
        for mark in marks[place]
        if mark.notable
    ]


def _notes(trajectory: Trajectory) -> list[str]:
    found = []
    if trajectory.truncated:
        found.append("The client's record ends before the agent's work did.")
    if trajectory.omitted_events:
        left = number_of(trajectory.omitted_events, "event")
        found.append(f"{left} in the middle are not kept for their number; the client's record is.")
    if trajectory.unknown_events:
        entries = number_of(trajectory.unknown_events, "entry", "entries")
        found.append(f"{entries} of the client's record could not be read.")
    return found


def _line(text: str) -> str:
    """The beginning of a text, on one line."""
    first = plain_text(text).strip().partition("\n")[0].rstrip()
    if len(first) > _HEAD:
        return f"{first[:_HEAD]}…"
    return first


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return ""
    if seconds < _MINUTE:
        return f"+{seconds:.1f} s"
    whole = int(seconds)
    hours, minutes = divmod(whole // 60, 60)
    if hours:
        return f"+{hours}:{minutes:02}:{whole % 60:02}"
    return f"+{minutes}:{whole % 60:02}"
