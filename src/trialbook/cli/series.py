"""What the terminal shows of a series: its timeline, its decisions, its answers by dimension."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from trialbook.cli.terminal import Column, Part, Text, facts, heading, safe, table
from trialbook.formats.records import plain
from trialbook.reporting.series import SeriesView
from trialbook.reporting.series_said import (
    AnswerSaid,
    DecisionSaid,
    ScoreSaid,
    SeriesSaid,
    SessionSaid,
    series_said,
)
from trialbook.reporting.series_table import SeriesTable

_STYLE = {"yes": "green", "no": "bold red", "open": "yellow"}
_BECAME = {"kept": "green", "contradicted": "bold red", "revised": "cyan", "unknown": "yellow"}


def series_json(view: SeriesView | None) -> dict[str, Any] | None:
    """A series for programs; None for a trial of an ordinary task."""
    if view is None:
        return None
    return {
        "conflict": None if view.conflict is None else view.conflict.value,
        "repair": None if view.repair is None else view.repair.value,
        "scores": [
            {**plain(one), "share": None if one.share is None else str(one.share)}
            for one in view.scores
        ],
        "answers": plain(view.answers),
        "decisions": plain(view.decisions),
        "rework": [{**plain(one), "share": one.share} for one in view.rework],
        "rediscovered": plain(view.again),
        "verdicts": dict(view.verdicts),
        "key_open": view.key_open,
    }


def series_parts(view: SeriesView | None) -> Iterable[Part]:
    """The timeline and all answers; nothing for a trial of an ordinary task."""
    if view is None:
        return
    said = series_said(view)
    yield from _head(said)
    for one in said.sessions:
        yield from _session(one)
    if said.decisions:
        yield ""
        yield heading("decisions")
        columns = [Column(head="decision"), Column(head="at the end of"), Column(head="more")]
        yield table(columns, [_decision(one) for one in said.decisions])
    yield from _answers(said.answers)


def table_parts(found: SeriesTable | None) -> Iterable[Part]:
    """The series of a run side by side."""
    if found is None:
        return
    yield ""
    yield heading("series, by dimension")
    names = found.configurations
    means = names if len(found.projects) > 1 else ()
    heads = ("dimension", *names, *(f"{name}, mean" for name in means), "first")
    yield table(
        [Column(head=head) for head in heads],
        [
            [
                row.dimension,
                *(row.counts[name] for name in names),
                *(row.means[name] for name in means),
                row.first,
            ]
            for row in found.rows
        ],
    )
    yield safe(found.note, style="dim")


def project_parts(found: SeriesTable) -> Iterable[Part]:
    """Each series with its two outcomes, project by project."""
    yield ""
    yield heading("series, by project")
    heads = ("project", "configuration", "the conflict", "the repair")
    yield table(
        [Column(head=head) for head in heads],
        [[one.project, one.configuration, one.conflict, one.repair] for one in found.series],
    )


def _head(said: SeriesSaid) -> Iterator[Part]:
    yield ""
    yield heading("the series, by dimension")
    columns = [Column(head="dimension"), Column(head="yes"), Column(head="share"), Column(head="")]
    yield table(columns, [_score(one) for one in said.scores])
    rows: list[tuple[str, str | Text]] = [
        ("the conflict", said.conflict),
        ("the repair", said.repair),
    ]
    if said.verdicts:
        rows.append(("reviewers", ", ".join(said.verdicts)))
    if said.key is not None:
        rows.append(("the true cause", safe(said.key.cause or said.key.note)))
        rows += [("where it is", safe(path)) for path in said.key.component]
    yield facts(rows)


def _score(one: ScoreSaid) -> list[str | Text]:
    return [one.dimension, one.counts, one.share, safe(one.others, style="dim")]


def _session(one: SessionSaid) -> Iterator[Part]:
    yield ""
    yield heading(f"session {one.number}  {one.name}  {one.outcome}")
    rows: list[tuple[str, str | Text]] = [("why", safe(one.reason)), ("began with", one.start)]
    by_state: dict[str, list[str]] = {}
    for thing in one.handed:
        by_state.setdefault(thing.state, []).append(thing.thing)
    rows += [(state, safe("; ".join(things))) for state, things in sorted(by_state.items())]
    if one.planted:
        rows.append(("laid in", safe(one.planted)))
    rows += [("notes there", safe(text)) for text in one.notes]
    rows.append(("changed", one.change))
    for commit in one.commits:
        rows.append(("committed", safe(commit.head)))
        rows += [("", safe(f"  {line}", style="dim")) for line in commit.body.splitlines()]
    if one.notes_change:
        rows.append(("notes changed", safe(one.notes_change)))
    rows += [("asked", text) for text in one.checks]
    rows += [("fails at the end", safe(text, style="yellow")) for text in one.failing]
    if one.rework:
        rows.append(("rework", one.rework))
    rows += [("found out again", safe(text)) for text in one.again]
    yield facts(rows)


def _decision(one: DecisionSaid) -> list[str | Text]:
    became = Text()
    for number, state in one.became.items():
        became.append_text(safe(f"{number} "))
        became.append_text(safe(f"{state}  ", style=_BECAME.get(state, "")))
    told = safe(f"{one.statement} (from session {one.session})")
    if one.conflict:
        told.append("\n").append_text(safe(one.conflict, style="yellow"))
    for place in one.evidence[:3]:
        told.append("\n").append_text(safe(place, style="dim"))
    return [safe(one.name, style="bold"), became, told]


def _answers(answers: Iterable[AnswerSaid]) -> Iterator[Part]:
    by_dimension: dict[str, list[AnswerSaid]] = {}
    for one in answers:
        by_dimension.setdefault(one.dimension, []).append(one)
    columns = [Column(head=""), Column(head="answer"), Column(head="question and evidence")]
    for dimension, found in by_dimension.items():
        yield ""
        yield heading(dimension)
        yield table(columns, [_answer(one) for one in found])


def _answer(one: AnswerSaid) -> list[str | Text]:
    told = safe(one.question, style="bold")
    if one.answer != "open":
        told.append_text(safe(f"  by {one.by}", style="dim"))
    for text in one.evidence[:6]:
        told.append("\n").append_text(safe(text))
    if len(one.evidence) > 6:  # noqa: PLR2004 - as many as above
        told.append("\n").append_text(safe(f"and {len(one.evidence) - 6} more", style="dim"))
    if one.hint:
        told.append("\n").append_text(safe(f"hint: {one.hint}", style="dim"))
    return [one.code, safe(one.answer, style=_STYLE.get(one.answer, "")), told]
