"""A comparison as JSON: exact fractions as text, other numbers with six decimals."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from trialbook.formats.records import plain
from trialbook.reporting.arms import Arm
from trialbook.reporting.comparison import Compared
from trialbook.reporting.comparison_said import answer
from trialbook.reporting.estimates import Estimates
from trialbook.stats.interval import Interval
from trialbook.stats.paired import PairedTask
from trialbook.stats.passk import OverTasks
from trialbook.stats.verdict import Comparison


def number(value: Fraction | float | None) -> str | float | None:
    """An exact fraction as ``"21/8000"``, anything else rounded to six decimals."""
    if isinstance(value, Fraction):
        return str(value)
    return None if value is None else round(value, 6)


def compared_json(compared: Compared) -> dict[str, Any]:
    """Everything that a comparison found."""
    return {
        "verdict": compared.verdict.value,
        "answer": answer(compared),
        "because": list(compared.because),
        "rule": {
            "alpha": number(compared.rule.alpha),
            "margin": number(compared.rule.margin),
            "max_collapse_share": number(compared.rule.max_collapse_share),
            "looks": compared.rule.looks,
        },
        "baseline": _arm(compared.baseline),
        "candidate": _arm(compared.candidate),
        "estimates": [_estimates(one) for one in compared.estimates],
        "valid_execution": _comparison(compared.valid),
        "all_scheduled": _comparison(compared.scheduled),
        "within_suite": {"target": "within_suite", "p": number(compared.within_suite)},
        "categories": [
            {
                "category": row.category,
                "tasks": row.tasks,
                "up": list(row.up),
                "down": list(row.down),
                "difference": number(row.difference),
                "interval": None if row.interval is None else _interval(row.interval),
                "p_holm": number(row.p),
                "flagged": row.flagged,
            }
            for row in compared.categories
        ],
        "unstable": _tasks(compared.unstable),
        "needed": [
            {"difference": number(one.difference), "tasks": one.tasks} for one in compared.needed
        ],
        "differs": list(compared.differs),
        "cautions": list(compared.cautions),
    }


def _arm(arm: Arm) -> dict[str, Any]:
    counts = arm.counts
    return {
        "configuration": arm.name,
        "runs": list(arm.runs),
        "all_scheduled": plain(counts.all_scheduled),
        "valid_execution": plain(counts.valid_execution),
    }


def _estimates(found: Estimates) -> dict[str, Any]:
    rate = found.rate
    return {
        "configuration": found.configuration,
        "rate": None
        if rate is None
        else {
            "rate": number(rate.rate),
            "accepted": rate.accepted,
            "trials": rate.trials,
            "tasks": rate.tasks,
            "design_effect": number(rate.design_effect),
            "effective_size": number(rate.corrected_size),
            "interval": _interval(rate.interval),
        },
        "reliability": [
            {
                "k": one.k,
                "pass_hat": _over(one.all_of),
                "pass_at": _over(one.one_of),
                "interval": None if one.interval is None else _interval(one.interval),
            }
            for one in found.reliability
        ],
        "flakiness_gap": number(found.gap),
    }


def _over(found: OverTasks) -> dict[str, Any]:
    return {
        "value": number(found.value),
        "eligible_mean": number(found.eligible_mean),
        "eligible": found.eligible,
        "tasks": found.tasks,
        "low": number(found.low),
        "high": number(found.high),
    }


def _comparison(found: Comparison | None) -> dict[str, Any] | None:
    if found is None:
        return None
    difference = found.difference
    return {
        "target": "generalising",
        "verdict": found.verdict.value,
        "difference": None if difference is None else number(difference.mean),
        "units": 0 if difference is None else difference.units,
        "moved": 0 if difference is None else difference.moved,
        "interval": None if difference is None else _interval(difference.interval),
        "bounds": None if difference is None else _interval(difference.bounds),
        "p": number(found.p),
        "testable": found.testable,
        "collapsed": list(found.collapsed),
        "collapse_bound": number(found.collapse_bound),
        "within_margin": found.within_margin,
        "above_margin": found.above_margin,
        "tasks": _tasks(found.tasks),
    }


def _interval(interval: Interval) -> dict[str, Any]:
    return {
        "low": number(interval.low),
        "high": number(interval.high),
        "confidence": number(interval.confidence),
        "method": interval.method,
    }


def _tasks(tasks: Sequence[PairedTask]) -> list[dict[str, Any]]:
    return [
        {
            "task": task.task,
            "baseline": [task.baseline.accepted, task.baseline.counted],
            "candidate": [task.candidate.accepted, task.candidate.counted],
            "difference": number(task.difference),
        }
        for task in tasks
    ]
