"""Series side by side: by dimension, by project, and never in one number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from trialbook.reporting.markdown import code, prose, table
from trialbook.reporting.series import SeriesView
from trialbook.reporting.series_said import CASE_REPORT, conflict_said, repair_said, score_said
from trialbook.reporting.wording import number_of, percent
from trialbook.stats.series import DIMENSIONS, Score, first_of, mean_share, summed

TIE = "nobody"
_NO_TOTAL = (
    "Each dimension stands for itself: they are not added up, and nobody is first over all of them."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DimensionRow:
    """One dimension: each configuration's counts in words, and whose share is the largest.

    ``means`` are the means over projects, where there are several; ``first`` is `TIE` for a tie, or
    where a share is missing.
    """

    dimension: str
    counts: Mapping[str, str]
    means: Mapping[str, str]
    first: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesRow:
    """One series: what its two closed outcomes are, and its counts by dimension."""

    project: str
    configuration: str
    trial: str
    conflict: str
    repair: str
    counts: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesTable:
    """All series of a run, or of several. ``note`` says what may be concluded from them."""

    configurations: tuple[str, ...]
    projects: tuple[str, ...]
    note: str
    rows: tuple[DimensionRow, ...]
    series: tuple[SeriesRow, ...]


def series_table(configurations: Sequence[str], views: Sequence[SeriesView]) -> SeriesTable | None:
    """Series side by side; None if there are none.

    A configuration is the same in all of them if its name is. A trial that another one replaces
    does not count.
    """
    replaced = {(one.files.trial.run, one.files.trial.replaces) for one in views}
    views = [one for one in views if (one.files.trial.run, one.files.trial.path) not in replaced]
    if not views:
        return None
    named = _projects(views)
    projects = tuple(dict.fromkeys(named.values()))
    several = len(projects) > 1
    found: dict[str, dict[str, Sequence[Score]]] = {name: {} for name in configurations}
    for name, each in found.items():
        for project in projects:
            own = [
                view.scores
                for view in views
                if view.files.trial.configuration == name and named[_place(view)] == project
            ]
            if own:
                each[project] = summed(own)
    rows = tuple(_row(place, found, several=several) for place in range(len(DIMENSIONS)))
    said = CASE_REPORT if not several else f"{number_of(len(projects), 'project')}"
    more = "one project is one sample, so there are no intervals"
    if several:
        more = "the mean gives each project the same weight; so few give no intervals"
    return SeriesTable(
        configurations=tuple(configurations),
        projects=projects,
        note=f"{said.capitalize()}: {more}. {_NO_TOTAL}",
        rows=rows,
        series=tuple(_series(view, named[_place(view)]) for view in views),
    )


def series_section(found: SeriesTable | None) -> Iterator[str]:
    """The section of a report; nothing without series."""
    if found is None:
        return
    yield "## Series\n"
    yield f"{prose(found.note)}\n"
    several = len(found.projects) > 1
    head = ["dimension", *found.configurations]
    head += [f"{name}, mean of projects" for name in found.configurations] if several else []
    yield table(
        [*head, "first"],
        (
            [
                row.dimension,
                *(row.counts[name] for name in found.configurations),
                *((row.means[name] for name in found.configurations) if several else ()),
                row.first if row.first == TIE else code(row.first),
            ]
            for row in found.rows
        ),
    )
    yield (
        "Counts are yes of yes and no; what does not apply is left out, and below three answers "
        "there are counts only. *First* has the largest share of the dimension; *nobody* is a tie, "
        "or a share is missing.\n"
    )
    yield table(
        ["project", "configuration", "the conflicting requirement", "the repair", *DIMENSIONS],
        (
            [
                code(one.project),
                code(one.configuration),
                one.conflict,
                one.repair,
                *(one.counts[name] for name in DIMENSIONS),
            ]
            for one in found.series
        ),
    )


def _place(view: SeriesView) -> tuple[str, str]:
    return view.files.trial.suite, view.files.trial.task


def _projects(views: Sequence[SeriesView]) -> dict[tuple[str, str], str]:
    """What each project is called: by its task, and by its suite too where there are several."""
    places = list(dict.fromkeys(map(_place, views)))
    if len({suite for suite, _ in places}) == 1:
        return {place: place[1] for place in places}
    return {place: "/".join(place) for place in places}


def _row(
    place: int, found: Mapping[str, Mapping[str, Sequence[Score]]], *, several: bool
) -> DimensionRow:
    name = DIMENSIONS[place]
    by_project = {who: [scored[place] for scored in each.values()] for who, each in found.items()}
    whole = {who: summed([one] for one in each)[place] for who, each in by_project.items()}
    means = {who: mean_share(each) for who, each in by_project.items()}
    first = _ahead(means) if several else first_of(whole)
    return DimensionRow(
        dimension=name,
        counts={who: _counts(one) for who, one in whole.items()},
        means={who: "unknown" if one is None else percent(one) for who, one in means.items()},
        first=first or TIE,
    )


def _ahead(means: Mapping[str, Fraction | None]) -> str | None:
    """Whose mean over projects is the largest; None for a tie, or if one is missing."""
    known = [one for one in means.values() if one is not None]
    if len(known) < max(2, len(means)):
        return None
    ahead = [who for who, one in means.items() if one == max(known)]
    return ahead[0] if len(ahead) == 1 else None


def _series(view: SeriesView, project: str) -> SeriesRow:
    trial = view.files.trial
    return SeriesRow(
        project=project,
        configuration=trial.configuration,
        trial=trial.path,
        conflict=conflict_said(view),
        repair=repair_said(view),
        counts={one.dimension: _counts(one) for one in view.scores},
    )


def _counts(score: Score) -> str:
    said = score_said(score)
    share = f" ({said.share})" if score.share is not None else ""
    others = f", {said.others}" if said.others else ""
    return f"{said.counts}{share}{others}"
