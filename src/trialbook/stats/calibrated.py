"""What a comparison of a judge with people comes to: every number of a calibration's record."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from trialbook.model.calibration import (
    Draw,
    Drawn,
    Errors,
    JudgedChange,
    Label,
    Missing,
    Numbers,
    Rate,
    Repeated,
)
from trialbook.stats.agreement import Repeats, repeats
from trialbook.stats.calibration import (
    Confusion,
    CorrectedRate,
    confusion,
    corrected_rate,
    prediction_powered_rate,
)
from trialbook.stats.trust import ENOUGH_RUNS, CalibrationFacts, Trust, trust

ROGAN_GLADEN = "Rogan-Gladen, Lee et al."
PREDICTION_POWERED = "prediction-powered"

_PLACES = 6


def numbers_of(judged: Sequence[JudgedChange], labels: Sequence[Label], drawn: Drawn) -> Numbers:
    """Every number, at the moment of the comparison.

    Args:
        judged: What the judge said, of every change that it has judged.
        labels: What people said, of some of these.
        drawn: How those were drawn.
    """
    said = {one.trial: one for one in judged}
    by_configuration: dict[str, list[Label]] = {}
    for label in labels:
        by_configuration.setdefault(said[label.trial].configuration, []).append(label)
    found = trust_at(judged, labels, 0.0)
    errors = _confusion(said, labels)
    return Numbers(
        errors=_errors(errors),
        by_configuration={
            name: _errors(_confusion(said, mine)) for name, mine in sorted(by_configuration.items())
        },
        critical_false_accepts=_critical(said, labels),
        disagreements=_differing(said, labels),
        noted=_noted(said, labels),
        repeated=_repeated(judged),
        rates=tuple(_rates(errors, judged, labels, drawn)),
        level=found.level,
        unmet=tuple(
            Missing(level=one.level, name=one.name, message=one.message) for one in found.unmet
        ),
    )


def trust_at(
    judged: Sequence[JudgedChange], labels: Sequence[Label], age_days: float | None
) -> Trust:
    """The level of trust that a comparison earns when it is so old, and what it lacks."""
    said = {one.trial: one for one in judged}
    counted = _repeated(judged)
    facts = CalibrationFacts(
        same_judge=True,
        errors=_confusion(said, labels),
        critical_false_accepts=len(_critical(said, labels)),
        noted=_noted(said, labels),
        repeated=Repeats(units=counted.changes, identical=counted.identical, runs=counted.runs),
        age_days=age_days,
    )
    return trust(facts)


def confusion_of(errors: Errors) -> Confusion:
    """The counts of a record, for working with them."""
    return Confusion(
        true_accepts=errors.true_accepts,
        false_rejects=errors.false_rejects,
        false_accepts=errors.false_accepts,
        true_rejects=errors.true_rejects,
    )


def _confusion(said: dict[str, JudgedChange], labels: Iterable[Label]) -> Confusion:
    return confusion((label.accepted, said[label.trial].accepted) for label in labels)


def _errors(found: Confusion) -> Errors:
    return Errors(
        true_accepts=found.true_accepts,
        false_rejects=found.false_rejects,
        false_accepts=found.false_accepts,
        true_rejects=found.true_rejects,
    )


def _differing(said: dict[str, JudgedChange], labels: Iterable[Label]) -> tuple[str, ...]:
    return tuple(one.trial for one in labels if one.accepted != said[one.trial].accepted)


def _noted(said: dict[str, JudgedChange], labels: Sequence[Label]) -> int:
    differing = set(_differing(said, labels))
    return sum(one.note is not None for one in labels if one.trial in differing)


def _critical(said: dict[str, JudgedChange], labels: Iterable[Label]) -> tuple[str, ...]:
    """The changes that the judge accepted and people refused for what may not be overlooked."""
    return tuple(
        one.trial for one in labels if one.refused and not one.accepted and said[one.trial].accepted
    )


def _repeated(judged: Iterable[JudgedChange]) -> Repeated:
    every = [one.votes for one in judged]
    # Those that were asked often enough count; without any, the others show how far it is.
    often = [votes for votes in every if len(votes) >= ENOUGH_RUNS]
    found = repeats(often or every)
    return Repeated(changes=found.units, identical=found.identical, runs=found.runs)


def _rates(
    errors: Confusion, judged: Sequence[JudgedChange], labels: Sequence[Label], drawn: Drawn
) -> Iterator[Rate]:
    labelled = {one.trial for one in labels}
    rest = [one for one in judged if one.trial not in labelled]
    names = sorted({one.configuration for one in judged})
    for name in ("", *(names if len(names) > 1 else ())):
        mine = [one for one in rest if name in ("", one.configuration)]
        accepted = sum(one.accepted for one in mine)
        found = corrected_rate(errors, accepted, len(mine))
        yield _rate(name, ROGAN_GLADEN, (accepted, len(mine)), found)
    if drawn.how is Draw.PLAIN:
        accepted = sum(one.accepted for one in rest)
        powered = prediction_powered_rate(
            errors, accepted, len(rest), drawn_at_random=drawn.at_random
        )
        yield _rate("", PREDICTION_POWERED, (accepted, len(rest)), powered)


def _rate(configuration: str, method: str, counts: tuple[int, int], found: CorrectedRate) -> Rate:
    interval = found.interval
    return Rate(
        configuration=configuration,
        method=method,
        accepted=counts[0],
        judged=counts[1],
        rate=None if found.rate is None else round(float(found.rate), _PLACES),
        low=None if interval is None else round(interval.low, _PLACES),
        high=None if interval is None else round(interval.high, _PLACES),
        clipped=found.clipped,
        because=found.because,
    )
