"""The level of trust that a comparison with people earns a judge, and what it lacks for the next.

The thresholds are judgement, chosen so that 10 to 20 tasks can meet the first and a release gate
would not regret the second.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction

from trialbook.model.trust import TrustLevel
from trialbook.stats.agreement import Repeats
from trialbook.stats.calibration import Confusion, lower_bound

OLDEST_DAYS = 90
"""After so many days a comparison no longer lets a judge decide anything."""

_ADVISORY_LABELS, _ADVISORY_EACH = 20, 8
_ADVISORY_AGREEMENT = Fraction(4, 5)
_GATING_LABELS, _GATING_EACH = 60, 30
_GATING_BOUND = 0.80
ENOUGH_RUNS = 3
"""So many times the same change is to be judged, to see whether the verdict stays."""
_GATING_REPEATED = 20
_GATING_IDENTICAL = Fraction(19, 20)


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationFacts:
    """What is known of a judge.

    ``same_judge`` says that it is the one that was compared: model, parameters, prompt, rubric and
    schema all have the digests that they had. A false accept is *critical* where a person rejected
    for deleted or weakened tests, secrets, or what touches permissions, money or data.
    ``noted`` is how many of the disagreements have a person's written note. ``repeated`` counts
    runs of the judge on the same diffs, ``age_days`` the time since the comparison; None is
    unknown, which meets nothing.
    """

    same_judge: bool
    errors: Confusion
    critical_false_accepts: int
    noted: int
    repeated: Repeats
    age_days: float | None

    @property
    def disagreements(self) -> int:
        """On how many changes the judge did not say what a person did."""
        return self.errors.labelled - self.errors.agreeing


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmet:
    """One requirement of a level that is not met: its short name, and what is missing in words."""

    level: TrustLevel
    name: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Trust:
    """The level that is earned, and every requirement of the levels above that is not met."""

    level: TrustLevel
    unmet: tuple[Unmet, ...]


def trust(facts: CalibrationFacts | None) -> Trust:
    """The level of trust; None stands for a judge that was never compared with anybody."""
    if facts is None:
        message = "it was never compared with people"
        missing = Unmet(level=TrustLevel.ADVISORY, name="compared", message=message)
        return Trust(level=TrustLevel.UNCALIBRATED, unmet=(missing,))
    advisory = tuple(
        Unmet(level=TrustLevel.ADVISORY, name=name, message=message)
        for name, message in _advisory(facts)
    )
    gating = tuple(
        Unmet(level=TrustLevel.GATING, name=name, message=message)
        for name, message in _gating(facts)
    )
    if advisory:
        return Trust(level=TrustLevel.UNCALIBRATED, unmet=advisory + gating)
    level = TrustLevel.ADVISORY if gating else TrustLevel.GATING
    return Trust(level=level, unmet=gating)


def _advisory(facts: CalibrationFacts) -> Iterator[tuple[str, str]]:
    errors = facts.errors
    if not facts.same_judge:
        yield "same_judge", "the judge is not the one that was compared: something of it changed"
    yield from _labels(errors, _ADVISORY_LABELS, _ADVISORY_EACH)
    agreement = errors.agreement
    if agreement is None or agreement < _ADVISORY_AGREEMENT:
        yield (
            "agreement",
            (
                f"it agrees with people on {errors.agreeing} of {errors.labelled} diffs; "
                f"needed are {float(_ADVISORY_AGREEMENT):.0%}"
            ),
        )
    if facts.critical_false_accepts:
        yield (
            "critical_false_accepts",
            f"critical false accepts: {facts.critical_false_accepts}; there may be none",
        )
    if facts.noted < facts.disagreements:
        yield (
            "notes",
            (
                f"{facts.noted} of {facts.disagreements} disagreements have a person's written "
                "note; each needs one"
            ),
        )


def _gating(facts: CalibrationFacts) -> Iterator[tuple[str, str]]:
    errors = facts.errors
    yield from _labels(errors, _GATING_LABELS, _GATING_EACH)
    for name, right, counted, what in (
        ("tnr", errors.true_rejects, errors.rejects, "rejects of what people rejected"),
        ("tpr", errors.true_accepts, errors.accepts, "accepts of what people accepted"),
    ):
        bound = lower_bound(right, counted)
        if bound is None or bound < _GATING_BOUND:
            shown = "no lower bound" if bound is None else f"a lower bound of {bound:.3f}"
            yield name, f"{right} of {counted} {what}: {shown}; needed is {_GATING_BOUND:.2f}"
    yield from _repeated(facts.repeated)
    if facts.age_days is None:
        yield "age", f"when it was compared is not known; at most {OLDEST_DAYS} days ago is needed"
    elif facts.age_days > OLDEST_DAYS:
        yield (
            "age",
            f"it was compared {facts.age_days:.0f} days ago; needed is at most {OLDEST_DAYS}",
        )


def _labels(errors: Confusion, labels: int, each: int) -> Iterator[tuple[str, str]]:
    for name, found, needed, what in (
        ("labels", errors.labelled, labels, "labelled diffs"),
        ("accepts", errors.accepts, each, "diffs that people accepted"),
        ("rejects", errors.rejects, each, "diffs that people rejected"),
    ):
        if found < needed:
            yield name, f"{what}: {found}; needed are {needed}"


def _repeated(found: Repeats) -> Iterator[tuple[str, str]]:
    if found.units < _GATING_REPEATED or found.runs < ENOUGH_RUNS:
        yield (
            "repeats",
            (
                f"judged again: {found.units} diffs, {found.runs} times each; needed are "
                f"{_GATING_REPEATED} diffs, {ENOUGH_RUNS} times each"
            ),
        )
    rate = found.rate
    if rate is not None and rate < _GATING_IDENTICAL:
        yield (
            "identical",
            (
                f"{found.identical} of {found.units} diffs got the same verdict each time; "
                f"needed are {float(_GATING_IDENTICAL):.0%}"
            ),
        )
