"""The parts of a report that tell what was corrected, and what else happened around the trials."""

from __future__ import annotations

from collections.abc import Iterator

from trialbook.model.standing import Standing
from trialbook.reporting.corrections import (
    change_said,
    corrected,
    correction_counts,
    incident_said,
    regrade_said,
)
from trialbook.reporting.markdown import code, prose, table
from trialbook.reporting.results import RunResults
from trialbook.reporting.wording import ratio, words


def correction_sections(results: RunResults) -> Iterator[str]:
    """Amendments, incidents and later grades, as far as there are any."""
    yield from _corrections(results)
    yield from _incidents(results)
    yield from _regrades(results)


def _corrections(results: RunResults) -> Iterator[str]:
    found = list(corrected(results))
    if not found:
        return
    yield "## Corrections\n"
    counts = correction_counts(results)
    yield table(
        [
            "configuration",
            "amended",
            "graded otherwise",
            "interventions",
            "minutes of people",
            "rescued",
            "accepted without intervention",
        ],
        (
            [
                code(count.configuration),
                str(count.amended),
                str(count.regraded),
                str(count.interventions),
                f"{count.minutes:g}",
                str(count.rescued),
                ratio(count.alone),
            ]
            for count in counts
        ),
        numbers=range(1, 7),
    )
    yield "".join(_correction(standing) for standing in found)


def _correction(standing: Standing) -> str:
    lines = [f"- {code(standing.record.path)}: {change_said(standing) or 'counts as recorded'}"]
    for amendment in standing.amendments:
        said = (
            f"  - {prose(amendment.author)}, {prose(amendment.created)}: {prose(amendment.reason)}"
        )
        if amendment.outcome is not None:
            said += f" ({words(amendment.outcome.was)} to {words(amendment.outcome.now)})"
            for text in amendment.outcome.evidence:
                said += f"; evidence: {prose(text)}"
        for one in amendment.interventions:
            said += f"; {one.kind} {one.minutes:g} min"
        if amendment.note is not None:
            said += f"; note: {prose(amendment.note)}"
        lines.append(said)
    return "\n".join(lines) + "\n"


def _incidents(results: RunResults) -> Iterator[str]:
    if not results.incidents:
        return
    yield "## Incidents\n"
    yield table(
        ["incident", "kind", "state", "from", "to", "touched", "what", "decided because"],
        (
            [
                code(said.id),
                said.kind,
                said.state,
                prose(said.began),
                prose(said.ended),
                prose(said.touched),
                prose(said.reason),
                prose(said.because),
            ]
            for said in map(incident_said, results.incidents)
        ),
    )


def _regrades(results: RunResults) -> Iterator[str]:
    if not results.regrades:
        return
    yield "## Graded again\n"
    for said in map(regrade_said, results.regrades):
        yield (
            f"- {code(said.id)}, {prose(said.created)}, {prose(said.author)}: {said.came_to}, by "
            f"{prose(said.graders)}. {prose(said.reason)}\n"
            + "".join(f"  - {prose(text)}\n" for text in said.changed_files)
            + "".join(f"  - {code(path)}: {prose(text)}\n" for path, text in said.differences)
            + "".join(f"  - {code(path)} left out: {prose(text)}\n" for path, text in said.left_out)
        )
    yield "The newest grades count; all of them stay in the trials' folders.\n"
