"""Agreement between reviewers in words and as JSON; every share with its counts."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from trialbook.reporting.agreement import (
    Blinding,
    ItemAgreement,
    ReviewerCheck,
    RubricAgreement,
    Share,
)
from trialbook.reporting.calibration_said import share_said
from trialbook.reporting.wording import number_of, percent
from trialbook.stats.agreement import FEWEST_UNITS, Repeats
from trialbook.stats.interval import Interval

COLUMNS = ("item", "n", "raw", "kappa", "weighted kappa", "AC1", "alpha", "says")
_PLACES = 6


def item_cells(one: ItemAgreement) -> list[str]:
    """One question, or the verdict, under `COLUMNS`."""
    found = one.found
    kappa = number_said(found.kappa)
    if found.kappa_interval is not None:
        kappa += f" [{found.kappa_interval.low:.2f}, {found.kappa_interval.high:.2f}]"
    alpha = number_said(found.alpha)
    if found.alpha_ordinal is not None:
        alpha += f" (ordinal {number_said(found.alpha_ordinal)})"
    return [
        one.item,
        str(found.units),
        share_said(found.table.agreeing, found.units),
        kappa,
        number_said(found.kappa_linear) if found.kappa_linear is not None else "",
        number_said(found.ac1),
        alpha,
        "; ".join(item_says(one)),
    ]


def item_says(one: ItemAgreement) -> list[str]:
    """What follows from it, in words."""
    said = [one.found.because] if one.found.because else []
    if one.rewording is None:
        said.append(f"fewer than {FEWEST_UNITS} changes: its wording is not judged")
    elif one.rewording:
        said.append("needs rewording: its answers are in no score")
    if one.new_version_due:
        said.append(f"{one.ambiguous} times ambiguous: a new version is due")
    return said


def table_rows(one: ItemAgreement) -> list[list[str]]:
    """The whole table of answers, the first reviewer by name in the rows."""
    table = one.found.table
    return [
        [name.replace("_", " "), *map(str, row)]
        for name, row in zip(table.categories, table.counts, strict=True)
    ]


def check_cells(one: ReviewerCheck) -> list[str]:
    """One reviewer: repeats, controls, and what they make of agents' changes."""
    return [
        one.reviewer,
        _repeats(one.repeats),
        _repeats(one.answers),
        _share(one.good),
        _share(one.bad),
        _share(one.trials),
    ]


CHECK_COLUMNS = (
    "reviewer",
    "same verdict again",
    "same answer again",
    "known-good accepted",
    "known-bad rejected",
    "agents' changes accepted",
)


def blinding_said(one: Blinding) -> str:
    """Whether reviewers could tell who made a change, in a sentence."""
    if one.chance is None:
        return f"nobody guessed ({number_of(one.unknown, 'time')} unknown)"
    said = (
        f"{share_said(one.guessed.count, one.guessed.total)} guessed right"
        f"{_within(one.interval)}, chance is {percent(one.chance)}; {one.unknown} unknown"
    )
    return said + ("; THE BLINDING FAILED" if one.failed else "")


def number_said(value: Fraction | None) -> str:
    """A coefficient with three digits; *not defined* for none."""
    return "not defined" if value is None else f"{float(value):.3f}"


def as_json(found: RubricAgreement) -> dict[str, Any]:
    """Everything as JSON values; what is not defined is null."""
    return {
        "rubric": found.rubric.reference,
        "rubric_sha256": found.rubric.sha256,
        "runs": list(found.runs),
        "reviewers": list(found.reviewers),
        "items": [_item_json(one) for one in found.items],
        "checks": [
            {
                "reviewer": one.reviewer,
                "repeats": _repeats_json(one.repeats),
                "answers": _repeats_json(one.answers),
                "good": _share_json(one.good),
                "bad": _share_json(one.bad),
                "trials": _share_json(one.trials),
            }
            for one in found.checks
        ],
        "blinding": {
            "guessed": _share_json(found.blinding.guessed),
            "unknown": found.blinding.unknown,
            "chance": _number(found.blinding.chance),
            "interval": _interval(found.blinding.interval),
            "failed": found.blinding.failed,
        },
        "scores": [
            {"configuration": one.configuration, "yes": _share_json(one.yes), "open": one.open}
            for one in found.scores
        ],
        "left_out": list(found.left_out),
        "unresolved": found.unresolved,
    }


def _item_json(one: ItemAgreement) -> dict[str, Any]:
    found = one.found
    return {
        "item": one.item,
        "n": found.units,
        "raw": _number(found.raw),
        "categories": list(found.table.categories),
        "table": [list(row) for row in found.table.counts],
        "kappa": _number(found.kappa),
        "kappa_interval": _interval(found.kappa_interval),
        "kappa_linear": _number(found.kappa_linear),
        "kappa_quadratic": _number(found.kappa_quadratic),
        "ac1": _number(found.ac1),
        "alpha": _number(found.alpha),
        "alpha_ordinal": _number(found.alpha_ordinal),
        "because": found.because,
        "needs_rewording": one.rewording,
        "ambiguous": one.ambiguous,
        "new_version_due": one.new_version_due,
    }


def _number(value: Fraction | None) -> float | None:
    return None if value is None else round(float(value), _PLACES)


def _interval(found: Interval | None) -> dict[str, Any] | None:
    if found is None:
        return None
    low, high = round(found.low, _PLACES), round(found.high, _PLACES)
    return {"low": low, "high": high, "confidence": found.confidence, "method": found.method}


def _share(one: Share) -> str:
    return share_said(one.count, one.total) if one.total else "none"


def _share_json(one: Share) -> dict[str, int]:
    return {"count": one.count, "total": one.total}


def _repeats(one: Repeats) -> str:
    return share_said(one.identical, one.units) if one.units else "none"


def _repeats_json(one: Repeats) -> dict[str, int]:
    return {"identical": one.identical, "total": one.units}


def _within(found: Interval | None) -> str:
    if found is None:
        return ""
    low, high = (
        percent(Fraction(end).limit_denominator(1_000_000)) for end in (found.low, found.high)
    )
    return f" [{low}, {high}]"
