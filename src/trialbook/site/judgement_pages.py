"""The page of judgement: how far reviewers agree, and judges against people."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from trialbook.api import Page
from trialbook.errors import UserError
from trialbook.model.calibration import Calibration
from trialbook.reporting.agreement import RubricAgreement, agreements
from trialbook.reporting.agreement_said import (
    CHECK_COLUMNS,
    COLUMNS,
    blinding_said,
    check_cells,
    item_cells,
    table_rows,
)
from trialbook.reporting.calibration_said import (
    USES,
    differences,
    errors_said,
    rate_said,
    rates_to_show,
    share_said,
)
from trialbook.site.addresses import trial_page
from trialbook.site.judgement_plots import acceptance_plot, agreement_plot, calibration_plot
from trialbook.storage.calibrations import calibrations
from trialbook.storage.corrections import reviews_of
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.rubrics import readable_rubrics

JUDGEMENT = "judgement/index.html"


def judgement_page(root: Path, reader: Reader) -> Iterator[Page]:
    """How far reviewers agree, and judges against people."""
    rubrics = [rubric.reference for rubric in readable_rubrics(root)[0]]
    found = [one for rubric in rubrics for one in calibrations(reader, rubric)]
    yield Page(
        path=JUDGEMENT,
        template="agreement.html",
        title="Judgement",
        context={
            "agreements": [_agreement(one) for one in _agreements(root, reader)],
            "calibrations": [_calibration(reader, one) for one in reversed(found)],
        },
    )


def _agreements(root: Path, reader: Reader) -> list[RubricAgreement]:
    """Of all runs whose reviews are open."""
    opened = []
    for run in reader.runs():
        people = reviews_of(reader, run)
        if people is not None and not people.sealed:
            opened.append(run)
    try:
        return agreements(root, reader, opened)
    except UserError:
        return []  # A rubric is not as it was, which `rubric check` and verification say.


def _agreement(found: RubricAgreement) -> dict[str, Any]:
    return {
        "reference": found.rubric.reference,
        "title": found.rubric.title,
        "runs": len(found.runs),
        "reviewers": list(found.reviewers),
        "columns": list(COLUMNS),
        "items": [item_cells(one) for one in found.items],
        "tables": [
            {
                "item": one.item,
                "heads": [name.replace("_", " ") for name in one.found.table.categories],
                "rows": table_rows(one),
            }
            for one in found.items
        ],
        "check_columns": list(CHECK_COLUMNS),
        "checks": [check_cells(one) for one in found.checks],
        "agreement": agreement_plot(found),
        "accepted": acceptance_plot(found),
        "blinding": blinding_said(found.blinding),
        "left_out": list(found.left_out),
        "scores": [
            {
                "configuration": one.configuration,
                "yes": share_said(one.yes.count, one.yes.total),
                "open": one.open,
            }
            for one in found.scores
        ],
    }


def _calibration(reader: Reader, record: Calibration) -> dict[str, Any]:
    numbers = record.numbers
    errors = numbers.errors
    return {
        "id": record.id,
        "created": record.created,
        "judge": record.identity.judge,
        "version": record.identity.short,
        "model": record.identity.asked,
        "rubric": record.rubric,
        "level": numbers.level.value,
        "use": USES[numbers.level],
        "matrix": [
            ["people accept", errors.true_accepts, errors.false_rejects],
            ["people reject", errors.false_accepts, errors.true_rejects],
        ],
        "said": errors_said(errors),
        "plot": calibration_plot(record.identity.judge, errors),
        "critical": len(numbers.critical_false_accepts),
        "unmet": [f"for {one.level.value}: {one.message}" for one in numbers.unmet],
        "rates": [(one.configuration or "all", rate_said(one)) for one in rates_to_show(numbers)],
        "differences": [
            {
                "trial": one.trial,
                "page": _page(one.trial),
                "people": one.people,
                "judge": one.judge,
                "critical": one.critical,
                "people_said": list(one.people_said),
                "judge_said": list(one.judge_said),
                "note": one.note,
            }
            for one in differences(reader, record.judged, record.labels)
        ],
    }


def _page(trial: str) -> str:
    suite, run, path = trial.split("/", 2)
    return trial_page(RunRef(suite, run), path)
