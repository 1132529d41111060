"""What the terminal shows of corrections: both values, who made them, and why."""

from __future__ import annotations

from collections.abc import Iterable

from trialbook.cli.terminal import Column, Part, Text, facts, heading, safe, table
from trialbook.model.amendment import Amendment
from trialbook.model.standing import Standing
from trialbook.reporting.corrections import change_said, correction_counts, incident_said
from trialbook.reporting.results import RunResults, grades_line
from trialbook.reporting.wording import number_of_minutes, ratio, words


def correction_parts(standing: Standing) -> Iterable[Part]:
    """What became of a trial since it was recorded; nothing if nothing did."""
    said = change_said(standing)
    if not (said or standing.amendments or standing.regrade):
        return
    yield ""
    yield heading("corrections")
    if said:
        yield safe(said, style="yellow")
        yield safe(f"recorded because: {standing.record.reason}")
    if standing.regrade is not None:
        yield safe(f"graded again: the grades below are those of generation {standing.regrade}")
        yield safe(f"recorded grades: {grades_line(standing.record)}")
    for amendment in standing.amendments:
        yield facts(_amendment(amendment))


def _amendment(amendment: Amendment) -> list[tuple[str, str | Text]]:
    rows: list[tuple[str, str | Text]] = [
        ("amended", f"{amendment.created} by {amendment.author}"),
        ("reason", amendment.reason),
    ]
    if amendment.outcome is not None:
        was, now = words(amendment.outcome.was), words(amendment.outcome.now)
        rows.append(("outcome", f"{was}, counts as {now}"))
        rows += [("evidence", text) for text in amendment.outcome.evidence]
    rows += [
        ("people", f"{one.kind}, {number_of_minutes(one.minutes)}")
        for one in amendment.interventions
    ]
    if amendment.note is not None:
        rows.append(("note", amendment.note))
    return rows


def run_correction_parts(results: RunResults) -> Iterable[Part]:
    """A run's corrections by configuration, and its incidents; nothing if there are none."""
    counts = correction_counts(results)
    if any(count.anything for count in counts):
        yield ""
        columns = [
            Column(head="corrected"),
            Column(head="amended", number=True),
            Column(head="graded otherwise", number=True),
            Column(head="interventions", number=True),
            Column(head="minutes", number=True),
            Column(head="rescued", number=True),
            Column(head="accepted without people", number=True),
        ]
        yield table(
            columns,
            (
                [
                    safe(count.configuration, style="bold"),
                    str(count.amended),
                    str(count.regraded),
                    str(count.interventions),
                    f"{count.minutes:g}",
                    str(count.rescued),
                    ratio(count.alone),
                ]
                for count in counts
            ),
        )
    if results.incidents:
        yield ""
        columns = [Column(head="incident", whole=True), Column(head="kind"), Column(head="state")]
        columns += [Column(head="touched"), Column(head="what")]
        said = [incident_said(incident) for incident in results.incidents]
        yield table(
            columns, ([one.id, one.kind, one.state, one.touched, one.reason] for one in said)
        )
