"""A judge against people: how often it errs, and what its pass rate comes to without its errors.

*Positive* is what a person accepts. Sources: Clopper and Pearson 1934; Rogan and Gladen 1978; Lee
et al. 2025 (arXiv 2511.21140) for the interval that carries the calibration's own uncertainty;
Angelopoulos et al. 2023 for prediction-powered inference (arXiv 2505.20178 for when it pays).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from math import sqrt

from trialbook.stats.agreement import AgreementTable, cohen_kappa
from trialbook.stats.distributions import normal_quantile
from trialbook.stats.interval import (
    Interval,
    clopper_pearson,
    clopper_pearson_lower,
    clopper_pearson_upper,
)

NO_BETTER_THAN_CHANCE = "the judge is no better than chance: TPR + TNR is not more than 1"
TOO_FEW_LABELS = "there are too few labels to tell the judge from chance"
NO_LABELS = "people accepted none, or rejected none, of the labelled changes"
NOTHING_JUDGED = "the judge has judged nothing"
NOT_DRAWN = "the labelled changes were not drawn at random from those that the rate is about"


@dataclass(frozen=True, slots=True, kw_only=True)
class Confusion:
    """A judge's answers against people's, counted.

    A *false accept* is what the judge accepts and a person rejects: the costly one.
    """

    true_accepts: int
    false_rejects: int
    false_accepts: int
    true_rejects: int

    @property
    def labelled(self) -> int:
        """How many changes both a person and the judge have answered."""
        return self.accepts + self.rejects

    @property
    def accepts(self) -> int:
        """How many of them people accepted."""
        return self.true_accepts + self.false_rejects

    @property
    def rejects(self) -> int:
        """How many of them people rejected."""
        return self.false_accepts + self.true_rejects

    @property
    def agreeing(self) -> int:
        """On how many the judge said what a person did."""
        return self.true_accepts + self.true_rejects

    @property
    def agreement(self) -> Fraction | None:
        """The share of them; None without labels."""
        return _share(self.agreeing, self.labelled)

    @property
    def tpr(self) -> Fraction | None:
        """The share of what people accept that the judge accepts; None if they accepted nothing."""
        return _share(self.true_accepts, self.accepts)

    @property
    def tnr(self) -> Fraction | None:
        """The share of what people reject that the judge rejects; None if they rejected nothing."""
        return _share(self.true_rejects, self.rejects)

    @property
    def kappa(self) -> Fraction | None:
        """Cohen's kappa of judge and people; None where it is not defined."""
        return cohen_kappa(self.table)

    @property
    def table(self) -> AgreementTable:
        """The counts with people in the rows and the judge in the columns."""
        return AgreementTable(
            categories=("accept", "reject"),
            counts=(
                (self.true_accepts, self.false_rejects),
                (self.false_accepts, self.true_rejects),
            ),
        )

    @property
    def correlation(self) -> float | None:
        """The correlation of the two answers; None where one of them never varies."""
        judged = self.true_accepts + self.false_accepts
        product = self.accepts * self.rejects * judged * (self.labelled - judged)
        if not product:
            return None
        right = self.true_accepts * self.true_rejects
        return (right - self.false_accepts * self.false_rejects) / sqrt(product)

    def tpr_interval(self, confidence: float = 0.95) -> Interval | None:
        """The exact interval of the true positive rate; None where there is no rate."""
        return _exact(self.true_accepts, self.accepts, confidence)

    def tnr_interval(self, confidence: float = 0.95) -> Interval | None:
        """The exact interval of the true negative rate; None where there is no rate."""
        return _exact(self.true_rejects, self.rejects, confidence)


@dataclass(frozen=True, slots=True, kw_only=True)
class CorrectedRate:
    """A pass rate without the judge's errors, or why there is none.

    ``clipped`` says that the estimate fell outside of 0 to 1 and was moved to the nearer end: then
    the error rates do not fit these changes. ``interval`` may be missing where ``rate`` is not.
    """

    rate: Fraction | None
    clipped: bool = False
    interval: Interval | None = None
    standard_error: float | None = None
    because: str = ""


def confusion(answers: Iterable[tuple[bool, bool]]) -> Confusion:
    """Count pairs of a person's answer and the judge's; True is *accept*."""
    counts = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for pair in answers:
        counts[pair] += 1
    return Confusion(
        true_accepts=counts[True, True],
        false_rejects=counts[True, False],
        false_accepts=counts[False, True],
        true_rejects=counts[False, False],
    )


def lower_bound(right: int, counted: int, alpha: float = 0.05) -> float | None:
    """The one-sided exact lower bound of a rate, at 95 % by default; None without counts.

    It is what "it caught all eight" proves: 0.688.
    """
    return clopper_pearson_lower(right, counted, alpha) if counted else None


def upper_bound(wrong: int, counted: int, alpha: float = 0.05) -> float | None:
    """The one-sided exact upper bound of a rate, at 95 % by default; None without counts."""
    return clopper_pearson_upper(wrong, counted, alpha) if counted else None


def corrected_rate(
    errors: Confusion, accepted: int, judged: int, confidence: float = 0.95
) -> CorrectedRate:
    """Rogan and Gladen's estimate with the interval of Lee et al.

    It holds where the error rates hold for the changes that were judged; the labels may be
    enriched for rejects. One measured on one configuration says nothing of a difference between
    two.

    Args:
        errors: What the judge got right and wrong on labelled changes.
        accepted: How many of the unlabelled changes it accepted.
        judged: How many of them it judged.
        confidence: Of the interval.
    """
    tpr, tnr = errors.tpr, errors.tnr
    if tpr is None or tnr is None:
        return CorrectedRate(rate=None, because=NO_LABELS)
    if not judged:
        return CorrectedRate(rate=None, because=NOTHING_JUDGED)
    if tpr + tnr <= 1:
        return CorrectedRate(rate=None, because=NO_BETTER_THAN_CHANCE)
    raw = (Fraction(accepted, judged) + tnr - 1) / (tpr + tnr - 1)
    rate = min(max(raw, Fraction(0)), Fraction(1))
    interval = _lee_interval(errors, accepted, judged, confidence)
    because = "" if interval else TOO_FEW_LABELS
    return CorrectedRate(rate=rate, clipped=rate != raw, interval=interval, because=because)


def prediction_powered_rate(
    errors: Confusion,
    accepted: int,
    judged: int,
    *,
    drawn_at_random: bool,
    confidence: float = 0.95,
) -> CorrectedRate:
    """The judge's rate plus how much people and judge differ on the labelled changes.

    Unlike `corrected_rate` it needs labels that are a random sample of the same changes, and
    refuses others. It helps only if people and judge are correlated by more than
    `least_correlation`.
    """
    if not drawn_at_random:
        return CorrectedRate(rate=None, because=NOT_DRAWN)
    labelled = errors.labelled
    if not labelled:
        return CorrectedRate(rate=None, because=NO_LABELS)
    if not judged:
        return CorrectedRate(rate=None, because=NOTHING_JUDGED)
    share = Fraction(accepted, judged)
    shift = Fraction(errors.false_rejects - errors.false_accepts, labelled)
    wrong = Fraction(errors.false_rejects + errors.false_accepts, labelled)
    variance = share * (1 - share) / judged + (wrong - shift * shift) / labelled
    error = sqrt(variance)
    raw = share + shift
    rate = min(max(raw, Fraction(0)), Fraction(1))
    half = normal_quantile((1 + confidence) / 2) * error
    interval = _within(float(raw), half, confidence, "prediction-powered")
    return CorrectedRate(rate=rate, clipped=rate != raw, interval=interval, standard_error=error)


def least_correlation(labelled: int) -> float | None:
    """The correlation from which on a judge adds to what the labels say alone; None below 3."""
    return 1 / sqrt(labelled - 2) if labelled > 2 else None


def _lee_interval(
    errors: Confusion, accepted: int, judged: int, confidence: float
) -> Interval | None:
    """Rates pulled towards one half, and a variance that counts the labels' own uncertainty."""
    z = normal_quantile((1 + confidence) / 2)
    n = judged + z * z
    p = (accepted + z * z / 2) / n
    positives, negatives = errors.accepts + 2, errors.rejects + 2
    tpr = (errors.true_accepts + 1) / positives
    tnr = (errors.true_rejects + 1) / negatives
    better = tpr + tnr - 1
    if better <= 0:
        return None
    rate = min(max((p + tnr - 1) / better, 0.0), 1.0)
    from_negatives = (1 - rate) * tnr * (1 - tnr) / negatives
    from_positives = rate * tpr * (1 - tpr) / positives
    shift = 2 * z * z * (from_positives - from_negatives)
    variance = p * (1 - p) / n + (1 - rate) * from_negatives + rate * from_positives
    return _within(rate + shift, z * sqrt(variance) / better, confidence, "Lee et al.")


def _within(middle: float, half: float, confidence: float, method: str) -> Interval:
    """An interval of a rate, cut off at 0 and 1."""
    low, high = (min(max(end, 0.0), 1.0) for end in (middle - half, middle + half))
    return Interval(low=low, high=high, confidence=confidence, method=method)


def _share(count: int, total: int) -> Fraction | None:
    return Fraction(count, total) if total else None


def _exact(count: int, total: int, confidence: float) -> Interval | None:
    return clopper_pearson(count, total, confidence) if total else None
