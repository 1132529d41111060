"""The part of a report that says whether tests pass, and whether somebody would merge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from trialbook.model.trust import TrustLevel
from trialbook.reporting.markdown import code, table
from trialbook.reporting.opinions import Opinions, has_opinions, opinions_of
from trialbook.reporting.results import RunResults
from trialbook.reporting.wording import ratio
from trialbook.stats.views import Tally

_OPINION = {
    TrustLevel.UNCALIBRATED: "opinion",
    TrustLevel.ADVISORY: "advice",
    TrustLevel.GATING: "counts",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class OpinionTable:
    """Both questions side by side, a row a configuration, a column more for each judge.

    ``judges`` has the judges with what their word is: opinion, advice, or that it counts.
    """

    judges: tuple[tuple[str, str], ...]
    rows: tuple[tuple[str, ...], ...]


_EXPLAINED = (
    "*Tests pass* is the answer of acceptance tests. *Would merge* is the verdict that reviewers "
    "agreed on or, without one, that of a judge whose calibration lets it decide. Each number is "
    "yes of answered, by the last trial of each slot. A judge's own column says how often it would "
    "merge; an *opinion* or *advice* enters no other number."
)


def opinion_table(results: RunResults) -> OpinionTable | None:
    """The table; None where nobody judges."""
    if not has_opinions(results.plan, results.standings.values()):
        return None
    found = {name: _of_configuration(results, name) for name in results.plan.configurations}
    every = [one for opinions in found.values() for one in opinions]
    judges = sorted({judge.grader for one in every for judge in one.judges})
    return OpinionTable(
        judges=tuple((name, _level(every, name)) for name in judges),
        rows=tuple(
            (
                name,
                _said(one.tests_pass for one in opinions),
                _said(one.would_merge for one in opinions),
                *(_said(_merges(one, judge) for one in opinions) for judge in judges),
            )
            for name, opinions in found.items()
        ),
    )


def opinion_section(results: RunResults) -> Iterator[str]:
    """The table as a part of a report; nothing where nobody judges."""
    found = opinion_table(results)
    if found is None:
        return
    heads = ["configuration", "tests pass", "would merge"]
    heads += [f"{code(name)} ({level})" for name, level in found.judges]
    yield "## Tests pass, and would merge\n"
    yield table(heads, ([code(row[0]), *row[1:]] for row in found.rows), range(1, len(heads)))
    yield f"{_EXPLAINED}\n"


def _of_configuration(results: RunResults, name: str) -> list[Opinions]:
    return [
        opinions_of(results.standing(cell.last))
        for slot, cell in results.summary.cells.items()
        if slot.configuration == name and cell.last is not None
    ]


def _level(opinions: Sequence[Opinions], grader: str) -> str:
    """How far a judge is trusted; where that differs among trials, the least of it."""
    levels = {one.trust for each in opinions for one in each.judges if one.grader == grader}
    return _OPINION[min(levels, key=list(TrustLevel).index)]


def _merges(opinions: Opinions, grader: str) -> bool | None:
    return next((one.merges for one in opinions.judges if one.grader == grader), None)


def _said(answers: Iterable[bool | None]) -> str:
    known = [answer for answer in answers if answer is not None]
    return ratio(Tally(accepted=sum(known), slots=len(known))) if known else "not known"
