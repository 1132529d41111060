"""What a report says to its suite's decision: the answer in one line, its evidence, its limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from trialbook.reporting.arms import arm
from trialbook.reporting.comparability import invalidated, obstacles
from trialbook.reporting.comparison import Compared, compare_arms
from trialbook.reporting.comparison_said import (
    CATEGORIES_HEAD,
    ESTIMATES_HEAD,
    answer,
    category_table,
    estimates_row,
    evidence,
    moved,
    needed,
    unstable,
)
from trialbook.reporting.costs import costs
from trialbook.reporting.estimates import estimates
from trialbook.reporting.markdown import code, prose, table
from trialbook.reporting.results import RunResults
from trialbook.reporting.sides import rule
from trialbook.reporting.tradeoff import tradeoff


def compared(results: RunResults) -> Compared | None:
    """The comparison that the run's plan declares; None if it declares none, or may not be made."""
    declared = results.plan.compare
    if declared is None or obstacles([results.plan]) or invalidated([results]):
        return None
    one, other = arm([results], declared.baseline), arm([results], declared.candidate)
    if one is None or other is None:
        return None
    return compare_arms([results], one, other, rule([results]))


def answer_line(results: RunResults, found: Compared | None) -> Iterator[str]:
    """The answer, or why there is none; nothing where none was asked for."""
    if results.plan.compare is None:
        return
    if found is not None:
        yield f"**{prose(answer(found))}**\n"
        return
    reasons = [*obstacles([results.plan]), *invalidated([results])]
    told = "; ".join(reasons) or "the run has only one of the configurations to compare"
    yield f"**No comparison:** {prose(told)}.\n"


def reliability(results: RunResults) -> Iterator[str]:
    """Each configuration's rate with its interval, and pass^k; only for a complete schedule."""
    summary = results.summary
    if summary.finished < len(summary.cells):
        return
    arms = [arm([results], row.name) for row in summary.configurations]
    rows = [estimates_row(estimates(one)) for one in arms if one is not None]
    yield "## Rates and reliability\n"
    yield table(ESTIMATES_HEAD, ([code(row[0]), *map(prose, row[1:])] for row in rows))
    yield (
        "Of valid executions. *All of k* is the chance that k trials of a task are all accepted, "
        "*one of k* that at least one is; means over tasks.\n"
    )


def comparison_section(results: RunResults, found: Compared | None) -> Iterator[str]:
    """What the answer rests on, and what limits it."""
    if found is None or found.valid is None:
        return
    spent = {one.configuration: one for one in costs(results)}
    yield f"## {code(found.candidate.name)} against {code(found.baseline.name)}\n"
    yield from _bullets("", evidence(found))
    yield from _bullets("Tasks that moved", moved(found.valid) or ["none"])
    yield from _bullets("Repetitions that disagree", unstable(found.unstable))
    if found.categories:
        yield table(
            CATEGORIES_HEAD, (list(map(prose, row)) for row in category_table(found.categories))
        )
    yield from _bullets("", [needed(found)] if found.needed else [])
    both = (spent[found.baseline.name], spent[found.candidate.name])
    yield from _bullets("Acceptance and cost", tradeoff(found, *both))
    yield from _bullets("What differs between the two", found.differs)
    yield from _bullets("Mind", found.cautions)


def _bullets(head: str, lines: Iterable[str]) -> Iterator[str]:
    said = "".join(f"- {prose(line)}\n" for line in lines)
    if said:
        yield (f"{head}:\n\n" if head else "") + said
