"""What pages show of series: a timeline with its handovers and diffs, and counts by dimension."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trialbook.formats.records import plain
from trialbook.reporting.results import RunResults
from trialbook.reporting.series import SeriesView
from trialbook.reporting.series_said import SessionSaid, series_said
from trialbook.reporting.series_table import TIE, series_table
from trialbook.reporting.wording import tone
from trialbook.site.addresses import trial_page
from trialbook.site.diff.figure import Change
from trialbook.storage.reader import RunRef

_LEFT_OUT = "quiet"
_ROOM = (1_500, 120)
"""How many lines and files of the change of one session a page shows."""


def series_figure(view: SeriesView | None, patches: Mapping[int, bytes]) -> dict[str, Any] | None:
    """A series for the page of its trial; None for a trial of an ordinary task."""
    if view is None:
        return None
    said = series_said(view)
    outcomes = {one.session: one.outcome for one in view.files.sessions}
    tones = {n: _LEFT_OUT if one is None else tone(one.value) for n, one in outcomes.items()}
    return {
        **plain(said),
        "sessions": [
            _session(one, tones[one.number], patches.get(one.number, b"")) for one in said.sessions
        ],
        "dimensions": [
            {
                "name": score.dimension,
                "score": plain(score),
                "answers": [plain(a) for a in said.answers if a.dimension == score.dimension],
            }
            for score in said.scores
        ],
        "numbers": [one.number for one in said.sessions],
    }


def series_rows(run: RunRef, results: RunResults) -> dict[str, Any] | None:
    """The series of a run side by side; None if it has none."""
    found = series_table(tuple(results.plan.configurations), tuple(results.series.values()))
    if found is None:
        return None
    return {
        **plain(found),
        "several": len(found.projects) > 1,
        "tie": TIE,
        "series": [{**plain(one), "page": trial_page(run, one.trial)} for one in found.series],
    }


def _session(one: SessionSaid, colour: str, patch: bytes) -> dict[str, Any]:
    states: dict[str, list[dict[str, Any]]] = {}
    for thing in one.handed:
        states.setdefault(thing.state, []).append(plain(thing))
    return {
        **plain(one),
        "tone": colour,
        "states": [{"state": state, "things": things} for state, things in sorted(states.items())],
        "diff": Change.read(patch, prefix=f"s{one.number}", room=_ROOM).figure(),
        "size": len(patch),
    }
