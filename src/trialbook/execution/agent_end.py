"""What an adapter gave, as the trial's record keeps it: attempt, trajectory, usage, denials."""

from __future__ import annotations

from collections.abc import Iterator

from trialbook.api import AgentResult, Usage
from trialbook.execution.classify import process_evidence
from trialbook.formats.records import to_json
from trialbook.model.evidence import KINDS, Sighting
from trialbook.model.prices import priced
from trialbook.model.runfiles import TRAJECTORY
from trialbook.model.trajectory import bounded
from trialbook.model.trial import Attempt, TrialSpec

_DENIED = "permission_denied"
_MOST_DENIALS = 50


def usage_of(result: AgentResult, spec: TrialSpec) -> Usage:
    """What the agent used, with a cost by the run's prices where the client told none."""
    by_model = result.by_model
    if not by_model and spec.configuration.model is not None:
        by_model = {spec.configuration.model: result.usage}
    return priced(result.usage, by_model, spec.prices)


def attempt_of(result: AgentResult, usage: Usage, *, session: int, attempt: int) -> Attempt:
    """An attempt as it ended."""
    return Attempt(
        session=session,
        attempt=attempt,
        process=process_evidence(result.process),
        end=result.end.value,
        message=result.message,
        trouble=result.trouble,
        session_id=result.session_id,
        denied=result.denied[:_MOST_DENIALS],
        claims=result.claims,
        usage=usage,
    )


def files_of(result: AgentResult) -> Iterator[tuple[str, bytes]]:
    """The files of an attempt that are made from what the adapter gave, by name."""
    if result.trajectory is not None:
        yield TRAJECTORY, to_json(bounded(result.trajectory))


def sightings_of_denials(result: AgentResult) -> list[Sighting]:
    """What the agent was not permitted, each thing once: it did not happen, but was wanted."""
    severity, _ = KINDS[_DENIED]
    wanted: dict[str, int] = {}
    for denial in result.denied:
        shown = f"{denial.tool}: {denial.detail}" if denial.detail else denial.tool
        wanted[shown] = wanted.get(shown, 0) + 1
    return [
        Sighting(
            kind=_DENIED,
            severity=severity,
            detail=f"not permitted, and so not done{_times(count)}",
            excerpt=shown[:500],
        )
        for shown, count in list(wanted.items())[:_MOST_DENIALS]
    ]


def _times(count: int) -> str:
    return "" if count == 1 else f", {count} times"
