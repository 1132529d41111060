"""Calibrations: a judge compared with people on changes that both have looked at.

A record names every grade and every review that its numbers come from, by path and digest, so that
anybody can work them out again. The level that it earns is worked out from it each time that it is
asked for: what the record says of that is for people to read.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from trialbook.model.judgement import JudgeIdentity
from trialbook.model.trust import TrustLevel


class Draw(StrEnum):
    """How the changes that people label are chosen among those that a judge has judged.

    In the order of a hash of the seed and the trial's name, so that nobody chooses: as it comes
    (*plain*), or by turns one that the judge accepted and one that it did not (*even*), which finds
    errors of both kinds with fewer labels.
    """

    EVEN = "even"
    PLAIN = "plain"


@dataclass(frozen=True, slots=True, kw_only=True)
class Cited:
    """A file of the ledger, by its path from the root down, and its digest."""

    path: str
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgedChange:
    """What the judge said of one change: ``trial`` is ``<suite>/<run>/<trial>``.

    ``grades`` are its grades of the same change, oldest first; the last one is what it says.
    ``votes`` are all verdicts that it ever gave, in that order.
    """

    trial: str
    configuration: str
    verdict: str
    accepted: bool
    grades: tuple[Cited, ...]
    votes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """What a person found when reading where judge and people differ."""

    author: str
    created: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """What people said of one change.

    ``people`` counts the reviewers behind the verdict, ``agreed`` says how they came to it.
    ``refused`` are the critical questions that they answered with *no*.
    """

    trial: str
    verdict: str
    accepted: bool
    people: int
    agreed: str
    refused: tuple[str, ...]
    reviews: tuple[Cited, ...]
    reconciliations: tuple[Cited, ...] = ()
    note: Note | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """How the labelled changes were drawn.

    ``chosen`` says that a person set the seed; ``wanted`` how many were asked for. ``waiting`` are
    changes that were drawn and have no label yet. ``at_random`` says that the labelled changes are
    exactly the first ones of the plain order of all that were judged, so that they speak for all.
    """

    seed: str
    chosen: bool
    how: Draw
    wanted: int
    waiting: tuple[str, ...] = ()
    at_random: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Errors:
    """How often the judge said what people said, and how often not."""

    true_accepts: int
    false_rejects: int
    false_accepts: int
    true_rejects: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A pass rate without the judge's errors; shares of 1, to six places.

    ``configuration`` is empty for all of them together. It accepted ``accepted`` of the ``judged``
    changes that have no label. Without ``rate``, ``because`` says why.
    """

    configuration: str
    method: str
    accepted: int
    judged: int
    rate: float | None
    low: float | None
    high: float | None
    clipped: bool
    because: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """A requirement of a level of trust that is not met."""

    level: TrustLevel
    name: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeated:
    """How often the judge said the same of the same change: ``identical`` of ``changes``.

    ``runs`` is the fewest verdicts that one of them has.
    """

    changes: int
    identical: int
    runs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Numbers:
    """Everything that follows from the judged changes and the labels, at the time of the record."""

    errors: Errors
    by_configuration: dict[str, Errors]
    critical_false_accepts: tuple[str, ...]
    disagreements: tuple[str, ...]
    noted: int
    repeated: Repeated
    rates: tuple[Rate, ...]
    level: TrustLevel
    unmet: tuple[Missing, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """One comparison of a judge with people. ``judge`` is the digest of its identity."""

    schema: str = "trialbook/calibration/1"
    id: str
    created: str
    author: str
    trialbook: str
    rubric: str
    rubric_sha256: str
    judge: str
    identity: JudgeIdentity
    critical: tuple[str, ...]
    drawn: Drawn
    judged: tuple[JudgedChange, ...]
    labels: tuple[Label, ...]
    numbers: Numbers

    def change(self, trial: str) -> JudgedChange | None:
        """What the judge said of a change; None if nothing."""
        return next((one for one in self.judged if one.trial == trial), None)
