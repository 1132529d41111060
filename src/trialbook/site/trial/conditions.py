"""Under what conditions a trial ran: agent, isolation, network, attempts, usage, time."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from trialbook.formats.records import plain
from trialbook.model.trial import EgressRecord, Trial
from trialbook.reporting.attempts import attempts_said, cost_said
from trialbook.reporting.wording import duration, network_said, size, words
from trialbook.site.figures import when


def conditions(trial: Trial) -> dict[str, Any]:
    """What a page says of it."""
    isolation = trial.isolation
    return {
        "agent": plain(trial.agent) if trial.agent else None,
        "isolation": plain(isolation) if isolation else None,
        "network": network_said(isolation) if isolation else "",
        "network_loose": isolation.network_loose if isolation else False,
        "egress": _egress(trial.egress) if trial.egress else None,
        "toolchain": trial.toolchain.words if trial.toolchain else "",
        "workspace": plain(trial.workspace) if trial.workspace else None,
        "usage": _usage(trial),
        "attempts": [_attempt(plain(attempt)) for attempt in trial.attempts],
        "workflow": _workflow(trial),
        "started": when(trial.started),
        "stages": [
            {"name": words(stage.name), "took": duration(stage.seconds)} for stage in trial.stages
        ],
    }


def _egress(egress: EgressRecord) -> dict[str, Any]:
    """What was seen of the network."""
    return {
        **plain(egress),
        "sent": size(egress.sent),
        "received": size(egress.received),
    }


def _usage(trial: Trial) -> list[dict[str, str]]:
    """What was used as far as it is known, and what is not."""
    usage = plain(trial.usage)
    del usage["basis"], usage["cost_usd"]
    known = {words(name): f"{value:,}" for name, value in usage.items() if value is not None}
    unknown = [words(name) for name, value in usage.items() if value is None]
    cost = cost_said(trial)
    if cost == "unknown":
        unknown.append("cost")
    else:
        known["cost"] = cost
    if unknown:
        known["not known"] = ", ".join(unknown)
    return [{"name": name, "value": value} for name, value in known.items()]


def _workflow(trial: Trial) -> list[dict[str, Any]]:
    """What each attempt ran, came to and cost, where a trial may have two."""
    return [
        {"title": title, "rows": [[name.capitalize(), value] for name, value in rows]}
        for title, rows in attempts_said(trial)
    ]


def _attempt(attempt: dict[str, Any]) -> dict[str, Any]:
    process = attempt["process"]
    if process is not None:
        attempt["took"] = duration(process["seconds"])
        attempt["ended"] = words(process["ended"])
        memory = process["max_rss_bytes"]
        attempt["memory"] = "unknown" if memory is None else size(memory)
    attempt["said"] = list(_said(attempt)) if attempt["end"] is not None else []
    return attempt


def _said(attempt: dict[str, Any]) -> Iterator[dict[str, str]]:
    """What the adapter gave, and what the agent claims; the grades say what is true."""
    yield {"name": "Ended", "value": f"{words(attempt['end'])}: {attempt['message']}"}
    if attempt["trouble"] is not None:
        yield {"name": "The model did not answer", "value": words(attempt["trouble"])}
    for denial in attempt["denied"]:
        yield {"name": "Not permitted", "value": f"{denial['tool']} {denial['detail']}"}
    for claim in attempt["claims"]:
        yield {"name": f"Says: {words(claim['kind'])}", "value": claim["text"]}
    if attempt["session_id"] is not None:
        yield {"name": "Its session", "value": attempt["session_id"]}
