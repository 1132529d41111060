"""The plots of judgement: how far reviewers agree, and a judge with people."""

from __future__ import annotations

from collections.abc import Iterator

from trialbook.model.calibration import Errors
from trialbook.reporting.agreement import RubricAgreement, Share
from trialbook.reporting.agreement_said import number_said
from trialbook.reporting.calibration_said import errors_said, share_said
from trialbook.reporting.wording import number_of, words
from trialbook.site.plots.drawing import Plot, Told
from trialbook.site.plots.intervals import Row, interval_plot, of_coefficients, of_shares
from trialbook.stats.calibrated import confusion_of

_WANTED = 0.80
"""The agreement, and the one-sided bounds of both rates, that trust asks for."""

_RATES = {"agreement": "whole", "TPR": "group", "TNR": "group"}


def calibration_plot(judge: str, errors: Errors) -> Plot | None:
    """A judge against people: agreement, and how much of what each side is for it gets right."""
    found = confusion_of(errors)
    if not found.labelled:
        return None
    said = dict(errors_said(errors))
    parts = {
        "agreement": (found.agreeing, found.labelled, None),
        "TPR": (found.true_accepts, found.accepts, found.tpr_interval()),
        "TNR": (found.true_rejects, found.rejects, found.tnr_interval()),
    }
    labels = {
        "agreement": "says what people say",
        "TPR": "accepts what people accept (TPR)",
        "TNR": "rejects what people reject (TNR)",
    }
    rows = [
        Row(
            label=labels[name],
            value=count / total if total else None,
            low=None if interval is None else interval.low,
            high=None if interval is None else interval.high,
            said=f"{count}/{total}",
            kind=_RATES[name],
        )
        for name, (count, total, interval) in parts.items()
    ]
    return interval_plot(
        rows,
        of_shares(_WANTED),
        Told(
            title=f"{judge} against people",
            text=f"Of {number_of(found.labelled, 'change')} that people answered for, it says the "
            f"same of {said['agreement']}; TPR {said['TPR']}, TNR {said['TNR']}.",
            note="The dashed line is 80 %: advice asks for that agreement, and deciding asks for "
            "it of the lower one-sided bound of both rates. Lines are exact two-sided intervals "
            "(Clopper-Pearson, 0.95).",
            columns=("what", "share"),
            rows=[(labels[name], said[name]) for name in parts],
        ),
    )


def agreement_plot(found: RubricAgreement) -> Plot | None:
    """How far reviewers agree on each question, beyond what chance would give."""
    rows = list(_items(found))
    if not rows:
        return None
    counted = [one for one in found.items if one.found.units]
    reword = [words(one.item) for one in counted if one.rewording]
    text = f"{number_of(len(counted), 'item')} that at least two people answered"
    text += (
        f"; {number_of(len(reword), 'item')} need rewording: {', '.join(reword)}" if reword else ""
    )
    return interval_plot(
        rows,
        of_coefficients(),
        Told(
            title=f"Agreement by {found.rubric.reference}",
            text=f"{text}.",
            note="Dot: Cohen's kappa with its interval. Hollow square: Gwet's AC1, which does not "
            "collapse where nearly all answers are the same. Chance would give 0, full agreement "
            "1. With few changes the intervals are as wide as they look.",
            columns=("item", "raw", "kappa", "AC1"),
            rows=[
                (
                    words(one.item),
                    share_said(one.found.table.agreeing, one.found.units),
                    number_said(one.found.kappa),
                    number_said(one.found.ac1),
                )
                for one in counted
            ],
        ),
    )


def _items(found: RubricAgreement) -> Iterator[Row]:
    for one in found.items:
        agreement = one.found
        if not agreement.units:
            continue
        within = agreement.kappa_interval
        yield Row(
            label=words(one.item),
            value=None if agreement.kappa is None else float(agreement.kappa),
            low=None if within is None else max(within.low, -1.0),
            high=None if within is None else min(within.high, 1.0),
            also=None if agreement.ac1 is None else float(agreement.ac1),
            said=f"{agreement.table.agreeing}/{agreement.units} alike",
            kind="group",
            shape="disc",
            faint=one.rewording is None,
        )


def acceptance_plot(found: RubricAgreement) -> Plot | None:
    """What each reviewer would merge: agents' changes beside answers of known worth."""
    rows: list[Row] = []
    kinds = (("agents' changes", "disc"), ("known-good", "triangle"), ("known-bad", "square"))
    for one in found.checks:
        bad = Share(count=one.bad.total - one.bad.count, total=one.bad.total)
        for (kind, shape), share in zip(kinds, (one.trials, one.good, bad), strict=True):
            if share.total:
                rows.append(
                    Row(
                        label=f"{one.reviewer}: {kind}",
                        value=share.count / share.total,
                        said=share_said(share.count, share.total),
                        shape=shape,
                    )
                )
    if not rows:
        return None
    return interval_plot(
        rows,
        of_shares(),
        Told(
            title="What each reviewer would merge",
            text="Of agents' changes, to be read beside answers whose worth is known beforehand: "
            + "; ".join(
                f"{one.reviewer} would merge {share_said(one.trials.count, one.trials.total)}"
                for one in found.checks
            )
            + ".",
            note="Known-good answers should be to the right, known-bad ones to the left; how far "
            "they are says how to read the reviewer's other answers.",
            columns=("reviewer and change", "would merge"),
            rows=[(row.label, row.said) for row in rows],
        ),
    )
