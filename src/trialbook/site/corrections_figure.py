"""Corrections in the form that templates draw: amendments, generations of grades, incidents."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from trialbook.model.amendment import Amendment
from trialbook.model.grade import GradeSummary
from trialbook.model.regrade import Regrade, RegradedTrial
from trialbook.model.standing import Standing
from trialbook.reporting.corrections import (
    change_said,
    correction_counts,
    incident_said,
    regrade_said,
)
from trialbook.reporting.results import RunResults
from trialbook.reporting.wording import ratio, words
from trialbook.site.addresses import trial_page
from trialbook.site.figures import outcome_figure, when
from trialbook.storage.reader import RunRef

_SHOWN = 100


def trial_corrections(standing: Standing, regrades: Sequence[Regrade]) -> dict[str, Any]:
    """What became of a trial since it was recorded; ``anything`` says whether something did."""
    record = standing.record
    later = [
        (generation, trial)
        for generation in regrades
        for trial in generation.trials
        if trial.trial == record.path
    ]
    left_out = [
        {"id": generation.id, "because": one.because}
        for generation in regrades
        for one in generation.left_out
        if one.trial == record.path
    ]
    return {
        "anything": bool(standing.changed or standing.amendments or later or left_out),
        "said": change_said(standing),
        "recorded": {**outcome_figure(record.outcome), "reason": record.reason},
        "amendments": [_amendment(one) for one in standing.amendments],
        "generations": _generations(standing, later),
        "left_out": left_out,
    }


def _amendment(amendment: Amendment) -> dict[str, Any]:
    outcome = amendment.outcome
    return {
        "id": amendment.id,
        "author": amendment.author,
        "created": when(amendment.created),
        "reason": amendment.reason,
        "was": words(outcome.was) if outcome else "",
        "now": words(outcome.now) if outcome else "",
        "evidence": list(outcome.evidence) if outcome else [],
        "interventions": [
            {"kind": one.kind.value, "meaning": one.kind.meaning, "minutes": f"{one.minutes:g}"}
            for one in amendment.interventions
        ],
        "note": amendment.note,
    }


def _generations(
    standing: Standing, later: Sequence[tuple[Regrade, RegradedTrial]]
) -> list[dict[str, Any]]:
    """All generations of grades, the recorded one first; none if there is only that one."""
    if not later:
        return []
    record = standing.record
    first = {
        "id": "",
        "created": when(record.finished),
        "reason": "",
        "outcome": words(record.outcome),
        "grades": [_line(grade, f"grades/{grade.grader}.json") for grade in record.grades],
        "counts": standing.regrade is None,
    }
    return [first] + [
        {
            "id": generation.id,
            "created": when(generation.created),
            "reason": generation.reason,
            "outcome": words(trial.outcome),
            "grades": [_line(grade.summary, grade.file) for grade in trial.grades],
            "counts": generation.id == standing.regrade,
        }
        for generation, trial in later
    ]


def _line(grade: GradeSummary, file: str) -> dict[str, str]:
    said = grade.status
    if grade.status == "graded":
        answer = "accepted" if grade.accepted else "rejected"
        said = f"{answer} {grade.passed}/{grade.total}"
    return {"grader": grade.grader, "said": said, "file": file}


def run_corrections(run: RunRef, results: RunResults) -> dict[str, Any]:
    """What was corrected in a run, and what else happened around its trials."""
    counts = correction_counts(results)
    changed = [
        standing
        for trial in results.trials
        if (standing := results.standing(trial)).changed or standing.amendments
    ]
    return {
        "anything": any(count.anything for count in counts) or bool(changed),
        "counts": [
            {
                "configuration": count.configuration,
                "amended": count.amended,
                "regraded": count.regraded,
                "interventions": count.interventions,
                "minutes": f"{count.minutes:g}",
                "rescued": count.rescued,
                "alone": ratio(count.alone),
            }
            for count in counts
        ],
        "trials": [
            {
                "path": standing.record.path,
                "page": trial_page(run, standing.record.path),
                "recorded": outcome_figure(standing.record.outcome),
                "counts": outcome_figure(standing.trial.outcome),
                "reason": standing.trial.reason,
                "source": words(standing.corrected_by) or "note",
            }
            for standing in changed[:_SHOWN]
        ],
        "hidden": max(0, len(changed) - _SHOWN),
        "incidents": [_incident(results, number) for number in range(len(results.incidents))],
        "regrades": [
            {
                "id": said.id,
                "created": when(said.created),
                "author": said.author,
                "reason": said.reason,
                "graders": said.graders,
                "came_to": said.came_to,
                "changed_files": list(said.changed_files),
                "differences": _linked(run, said.differences),
                "left_out": _linked(run, said.left_out),
            }
            for said in map(regrade_said, results.regrades)
        ],
    }


def _incident(results: RunResults, number: int) -> dict[str, Any]:
    said = incident_said(results.incidents[number])
    return {
        "id": said.id,
        "kind": said.kind,
        "state": said.state,
        "began": when(said.began),
        "ended": when(said.ended) if said.ended else "",
        "touched": said.touched,
        "reason": said.reason,
        "because": said.because,
        "evidence": list(said.evidence),
        "author": said.author,
    }


def _linked(run: RunRef, entries: Iterable[tuple[str, str]]) -> list[dict[str, str]]:
    known = list(entries)
    return [
        {"path": path, "page": trial_page(run, path), "said": said} for path, said in known[:_SHOWN]
    ]
