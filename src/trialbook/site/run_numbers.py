"""A run's further numbers for its page: kinds of tasks, reliability, costs, what was enforced."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import Any

from trialbook.model.trial import Isolation, Trial
from trialbook.reporting.arms import arm
from trialbook.reporting.breakdown import breakdown
from trialbook.reporting.comparison_said import ESTIMATES_HEAD, estimates_row, evidence, needed
from trialbook.reporting.conclusion import conclusion
from trialbook.reporting.costs import costs
from trialbook.reporting.costs_said import COSTS_HEAD, cost_row
from trialbook.reporting.estimates import estimates
from trialbook.reporting.report_decision import compared
from trialbook.reporting.results import RunResults
from trialbook.reporting.summary import Summary
from trialbook.reporting.wording import bounds, number_of, rate, size

_HOSTS = 12


def kinds_figure(results: RunResults) -> list[dict[str, Any]]:
    """Accepted slots by category, split and contamination, in both views."""
    return [
        {
            "kind": part.kind,
            "name": part.name.replace("_", " ") or "none",
            "tasks": part.tasks,
            "configurations": [
                {
                    "name": name,
                    "scheduled": rate(counts.all_scheduled),
                    "valid": rate(counts.valid_execution),
                    "bounds": bounds(counts),
                }
                for name, counts in part.counts.items()
            ],
        }
        for part in breakdown(results)
    ]


def reliability_figure(results: RunResults, summary: Summary) -> dict[str, Any] | None:
    """Rates with intervals, pass^k and pass@k; None while the schedule is not complete."""
    if summary.finished < len(summary.cells):
        return None
    arms = [arm([results], row.name) for row in summary.configurations]
    rows = [estimates_row(estimates(one)) for one in arms if one is not None]
    return {"head": list(ESTIMATES_HEAD), "rows": rows}


def costs_figure(results: RunResults) -> dict[str, Any]:
    """What an accepted change costs, and how time, tokens and money spread, as reports say it."""
    rows = [cost_row(cost) for cost in costs(results)]
    return {"head": list(COSTS_HEAD), "rows": rows}


def answer_figure(results: RunResults, closed: bool) -> dict[str, Any] | None:  # noqa: FBT001 - a fact
    """What the run says to its decision, and on what that rests; None if nothing is compared."""
    if results.plan.compare is None:
        return None
    told = conclusion(results, closed)
    found = compared(results)
    return {
        "said": told.sentence,
        "verdict": told.verdict,
        "baseline": told.baseline,
        "candidate": told.candidate,
        "evidence": list(evidence(found)) if found and found.valid else [],
        "differs": list(found.differs) if found else [],
        "cautions": list(found.cautions) if found else [],
        "needed": needed(found) if found else "",
    }


def enforced_figure(results: RunResults) -> list[dict[str, Any]]:
    """What was held back from agents, by configuration: sandbox, network, limits."""
    found = []
    for name in results.plan.configurations:
        trials = [trial for trial in results.trials if trial.configuration == name]
        records = [trial.isolation for trial in trials if trial.isolation is not None]
        if records:
            found.append({"name": name, **_enforced(records, trials)})
    return found


def _enforced(records: list[Isolation], trials: Iterable[Trial]) -> dict[str, Any]:
    total = len(records)
    isolated = sum(one.isolated for one in records)
    network = Counter(
        f"{one.network_declared}: "
        + ("open" if one.network_open else "enforced" if one.network_enforced else "NOT ENFORCED")
        for one in records
    )
    egress = [trial.egress for trial in trials if trial.egress is not None]
    return {
        "trials": total,
        "sandbox": _said(Counter(one.sandbox for one in records), total),
        "isolated": f"{isolated}/{total}",
        "all_isolated": isolated == total,
        "network": _said(network, total),
        "loose": any(one.network_loose for one in records),
        "limits": _said(
            Counter(", ".join(one.limits_enforced) or "none" for one in records), total
        ),
        "not_limits": _said(
            Counter(", ".join(one.limits_not_enforced) or "none" for one in records), total
        ),
        "detail": sorted({one.detail for one in records if one.detail}),
        "requests": (
            f"{sum(one.allowed for one in egress)} let through, "
            f"{sum(one.refused for one in egress)} refused, "
            f"{sum(one.failed for one in egress)} failed"
            if egress
            else "no proxy between"
        ),
        "moved": f"{size(sum(one.sent for one in egress))} sent, "
        f"{size(sum(one.received for one in egress))} received"
        if egress
        else "",
        "hosts": _some({host for one in egress for host in one.hosts}),
        "refused": _some({host for one in egress for host in one.hosts_refused}),
    }


def _said(counts: Counter[str], total: int) -> str:
    """What all have, or what how many have."""
    if len(counts) == 1:
        return next(iter(counts))
    return "; ".join(
        f"{text} ({number_of(n, 'trial')} of {total})" for text, n in sorted(counts.items())
    )


def _some(names: set[str]) -> str:
    known = sorted(names)
    more = len(known) - _HOSTS
    return ", ".join(known[:_HOSTS]) + (f" and {more} more" if more > 0 else "")
