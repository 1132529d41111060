"""A person's later correction of one trial: a file more beside its record, which never changes.

Rules, for everybody who reads or checks one (``amendments/<id>.json`` in the trial's folder):

- ``id`` is the file's name, ``trial`` the folder it is in, ``trial_sha256`` the digest of the
  ``trial.json`` beside it.
- ``outcome.was`` is what stood before; `correction_problem` finds nothing wrong with the change.
- It may be committed any time after the trial, on any branch. Where several speak of the outcome,
  the last by ``created`` and ``id`` stands.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from trialbook.model.outcome import Outcome


class InterventionKind(StrEnum):
    """What a person did while a trial ran."""

    CLARIFICATION = "clarification"
    APPROVAL = "approval"
    RESCUE = "rescue"

    @property
    def meaning(self) -> str:
        """One sentence for people."""
        return _MEANING[self]


_MEANING = {
    InterventionKind.CLARIFICATION: "A question of the agent was answered.",
    InterventionKind.APPROVAL: "An action of the agent was allowed.",
    InterventionKind.RESCUE: "A person did or undid some of the agent's work.",
}

ONLY_JUDGED = frozenset({Outcome.ACCEPTED, Outcome.REJECTED, Outcome.NEEDS_REVIEW})
"""Outcomes that graders and reviewers give. No amendment can: that is what `regrade` is for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Intervention:
    """A person's part in a trial, and the minutes it took."""

    kind: InterventionKind
    minutes: float


@dataclass(frozen=True, slots=True, kw_only=True)
class OutcomeCorrection:
    """A wrong class put right. ``evidence`` says what shows that it was wrong."""

    was: Outcome
    now: Outcome
    evidence: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Amendment:
    """A correction of one trial. ``run`` is ``<suite>/<run>``, ``trial`` its folder in the run.

    At least one of ``interventions``, ``outcome`` and ``note`` says something.
    """

    schema: str = "trialbook/amendment/1"
    id: str
    run: str
    trial: str
    trial_sha256: str
    created: str
    author: str
    reason: str
    interventions: tuple[Intervention, ...] = ()
    outcome: OutcomeCorrection | None = None
    note: str | None = None


def correction_problem(correction: OutcomeCorrection) -> str | None:
    """Why an outcome may not be corrected so, in words, or None.

    An amendment never makes a judgement (*accepted*, *rejected*), and makes a valid execution one
    that a plan may replace only with evidence: or else failures could be talked away.
    """
    was, now = correction.was, correction.now
    if was is now:
        return f"the trial is {now.value} already"
    if now in ONLY_JUDGED:
        return f"only graders and reviewers can say {now.value}; no amendment can"
    shown = any(text.strip() for text in correction.evidence)
    if now.rerunnable and (was.valid or was is Outcome.NEEDS_REVIEW) and not shown:
        return (
            f"{was.value} is a valid execution and {now.value} is none: that takes evidence of "
            "what went wrong on our side or the world's"
        )
    return None
