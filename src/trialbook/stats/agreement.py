"""How far independent answers agree: raw, and beyond what chance alone would give.

Always from the answers as they were given, never from what a discussion made of them. Point values
are exact fractions. Sources: Cohen 1960 and 1968; Gwet 2008 for AC1; Krippendorff 2019, chapter 12;
Fleiss, Cohen and Everitt 1969 and Gwet 2021 for the variance of kappa.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from math import sqrt

from trialbook.stats.distributions import t_quantile
from trialbook.stats.interval import Interval

ALL_IDENTICAL = "all answers identical"
"""Why kappa or alpha is not defined: nothing varies, so nothing could have disagreed."""

FEWEST_UNITS = 20
"""Below this many units the wording of a question is not judged."""

_NOTHING = 1e-12
"""A variance below is rounding."""

_LEAST_RAW = Fraction(4, 5)
_LEAST_AC1 = Fraction(3, 5)


class Scale(StrEnum):
    """How far apart two different categories are.

    *Nominal*: as far as any other two. *Linear* and *quadratic* (kappa): by their distance in the
    rubric's order, or its square. *Ordinal* (alpha): by how many answers lie between. *Interval*
    (alpha): by the square of their distance.
    """

    NOMINAL = "nominal"
    LINEAR = "linear"
    QUADRATIC = "quadratic"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgreementTable:
    """Who said what of the same units.

    ``counts[i][j]`` is how often the first said the category i and the second j. ``categories`` are
    all that the rubric has, in its order, whether or not anybody chose them.
    """

    categories: tuple[str, ...]
    counts: tuple[tuple[int, ...], ...]

    @property
    def units(self) -> int:
        """How many units both answered."""
        return sum(map(sum, self.counts))

    @property
    def agreeing(self) -> int:
        """On how many of them they said the same."""
        return sum(self.counts[i][i] for i in range(len(self.categories)))

    @property
    def raw(self) -> Fraction | None:
        """The share that they agree on; None without units."""
        return Fraction(self.agreeing, self.units) if self.units else None

    @property
    def rows(self) -> tuple[int, ...]:
        """How often the first chose each category."""
        return tuple(map(sum, self.counts))

    @property
    def columns(self) -> tuple[int, ...]:
        """How often the second chose each category."""
        return tuple(map(sum, zip(*self.counts, strict=True)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Agreement:
    """Everything that is shown together about two reviewers' answers to one question.

    ``kappa_linear``, ``kappa_quadratic`` and ``alpha_ordinal`` are None where the categories have
    no order. A value that is not defined is None, and ``because`` says why.
    """

    table: AgreementTable
    kappa: Fraction | None
    kappa_interval: Interval | None
    kappa_linear: Fraction | None
    kappa_quadratic: Fraction | None
    ac1: Fraction | None
    alpha: Fraction | None
    alpha_ordinal: Fraction | None
    because: str = ""

    @property
    def units(self) -> int:
        """How many units both answered."""
        return self.table.units

    @property
    def raw(self) -> Fraction | None:
        """The share that they agree on; None without units."""
        return self.table.raw


@dataclass(frozen=True, slots=True, kw_only=True)
class Repeats:
    """How often somebody who was asked the same again, without being told, said the same.

    ``runs`` is the fewest answers that one unit got, ``units`` how many were asked more than once,
    ``identical`` on how many of these all answers were the same.
    """

    units: int
    identical: int
    runs: int

    @property
    def rate(self) -> Fraction | None:
        """The share of units with identical answers; None without units."""
        return Fraction(self.identical, self.units) if self.units else None


def agreement_table(pairs: Iterable[tuple[str, str]], categories: Sequence[str]) -> AgreementTable:
    """Count pairs of answers to the same units.

    Raises:
        ValueError: an answer is none of the categories.
    """
    counted = Counter(pairs)
    unknown = sorted({one for pair in counted for one in pair} - set(categories))
    if unknown:
        raise ValueError(f"no category of this question: {', '.join(unknown)}")
    counts = tuple(tuple(counted[row, column] for column in categories) for row in categories)
    return AgreementTable(categories=tuple(categories), counts=counts)


def agreement(table: AgreementTable, *, ordered: bool = False) -> Agreement:
    """All measures of a table; with ``ordered`` those of ordered categories too."""
    units = _units(table)
    kappa = cohen_kappa(table)
    alpha = krippendorff_alpha(units, table.categories)
    because = ""
    if kappa is None or alpha is None:
        because = ALL_IDENTICAL if table.units else "nobody answered the same unit twice"
    return Agreement(
        table=table,
        kappa=kappa,
        kappa_interval=kappa_interval(table),
        kappa_linear=cohen_kappa(table, Scale.LINEAR) if ordered else None,
        kappa_quadratic=cohen_kappa(table, Scale.QUADRATIC) if ordered else None,
        ac1=gwet_ac1(table),
        alpha=alpha,
        alpha_ordinal=(
            krippendorff_alpha(units, table.categories, Scale.ORDINAL) if ordered else None
        ),
        because=because,
    )


def cohen_kappa(table: AgreementTable, scale: Scale = Scale.NOMINAL) -> Fraction | None:
    """Cohen's kappa, weighted by ``scale`` (nominal, linear or quadratic).

    None without units, and where both chose one and the same category throughout.
    """
    seen = expected = 0
    for i, row in enumerate(table.rows):
        for j, column in enumerate(table.columns):
            weight = _weight(i, j, scale)
            seen += weight * table.counts[i][j]
            expected += weight * row * column
    return 1 - Fraction(seen * table.units, expected) if expected else None


def kappa_interval(
    table: AgreementTable, scale: Scale = Scale.NOMINAL, confidence: float = 0.95
) -> Interval | None:
    """The interval of kappa from its linearised variance and Student's t, within -1 and 1.

    None where kappa is, for a single unit, and where the estimated variance is nothing: then the
    units say nothing of how far it may be off. With 20 units it is so wide that it warns of itself;
    nothing is ever decided by it.
    """
    kappa = cohen_kappa(table, scale)
    if kappa is None or table.units < 2:
        return None
    units, size = table.units, len(table.categories)
    most = max(_weight(i, j, scale) for i in range(size) for j in range(size))
    agree = [[1 - _weight(i, j, scale) / most for j in range(size)] for i in range(size)]
    rows = [count / units for count in table.rows]
    columns = [count / units for count in table.columns]
    by_row = [sum(columns[j] * agree[i][j] for j in range(size)) for i in range(size)]
    by_column = [sum(rows[i] * agree[i][j] for i in range(size)) for j in range(size)]
    chance = sum(rows[i] * by_row[i] for i in range(size))
    left = 1 - float(kappa)
    spread = sum(
        table.counts[i][j] / units * (agree[i][j] - (by_row[i] + by_column[j]) * left) ** 2
        for i in range(size)
        for j in range(size)
    )
    variance = spread - (float(kappa) - chance * left) ** 2
    if variance < _NOTHING:
        return None
    quantile = t_quantile((1 + confidence) / 2, units - 1)
    half = quantile * sqrt(variance / (units - 1)) / (1 - chance)
    return Interval(
        low=max(-1.0, float(kappa) - half),
        high=min(1.0, float(kappa) + half),
        confidence=confidence,
        method="linearised variance, t",
    )


def gwet_ac1(table: AgreementTable) -> Fraction | None:
    """Gwet's AC1; it stays useful where nearly all answers are the same, as kappa does not.

    Chance is taken over all categories of the rubric, whether or not they occurred. None without
    units, or with fewer than two categories.
    """
    size = len(table.categories)
    if table.raw is None or size < 2:
        return None
    shares = [
        Fraction(row + column, 2 * table.units)
        for row, column in zip(table.rows, table.columns, strict=True)
    ]
    chance = sum((share * (1 - share) for share in shares), Fraction(0)) / (size - 1)
    return (table.raw - chance) / (1 - chance)


def krippendorff_alpha(
    units: Iterable[Sequence[str | None]],
    categories: Sequence[str],
    scale: Scale = Scale.NOMINAL,
) -> Fraction | None:
    """Krippendorff's alpha (nominal, ordinal or interval) for any number of raters.

    Args:
        units: The answers that each unit got, from whomever; None for an answer that is missing.
            A unit with fewer than two answers says nothing about agreement and is left out.
        categories: All that the rubric has, in its order.
        scale: How far apart two categories are.

    Returns:
        None where no unit has two answers, or all answers are the same.

    Raises:
        ValueError: an answer is none of the categories.
    """
    together = _coincidences(units, categories)
    totals = [sum(row, Fraction(0)) for row in together]
    whole = sum(totals, Fraction(0))
    size = range(len(categories))
    distances = [[_distance(i, j, scale, totals) for j in size] for i in size]
    seen = sum((together[i][j] * distances[i][j] for i in size for j in size), Fraction(0))
    expected = sum(
        (totals[i] * totals[j] * distances[i][j] for i in size for j in size), Fraction(0)
    )
    return 1 - (whole - 1) * seen / expected if expected else None


def needs_rewording(found: Agreement) -> bool | None:
    """Whether a question is worded so that careful people answer it differently.

    Its answers are then summed into no score until a new version of the rubric words it better.
    None when fewer than :data:`FEWEST_UNITS` units were answered: that is not known.
    """
    if found.units < FEWEST_UNITS or found.raw is None or found.ac1 is None:
        return None
    return found.raw < _LEAST_RAW or found.ac1 < _LEAST_AC1


def repeats(units: Iterable[Sequence[str]]) -> Repeats:
    """Count how often the same was said again: by a reviewer of silent repeats, or by a judge.

    Args:
        units: The answers that one and the same rater gave to each unit. A unit that was answered
            once is left out.
    """
    asked = [answers for answers in units if len(answers) > 1]
    return Repeats(
        units=len(asked),
        identical=sum(len(set(answers)) == 1 for answers in asked),
        runs=min(map(len, asked), default=0),
    )


def _units(table: AgreementTable) -> list[tuple[str, str]]:
    return [
        (row, column)
        for i, row in enumerate(table.categories)
        for j, column in enumerate(table.categories)
        for _ in range(table.counts[i][j])
    ]


def _weight(i: int, j: int, scale: Scale) -> int:
    """How much kappa counts a disagreement."""
    if scale is Scale.NOMINAL:
        return int(i != j)
    if scale is Scale.LINEAR:
        return abs(i - j)
    if scale is Scale.QUADRATIC:
        return (i - j) ** 2
    raise ValueError(f"kappa has no {scale} weights")


def _distance(i: int, j: int, scale: Scale, totals: Sequence[Fraction]) -> Fraction:
    """How much alpha counts a disagreement."""
    if scale is Scale.NOMINAL:
        return Fraction(i != j)
    if scale is Scale.INTERVAL:
        return Fraction((i - j) ** 2)
    if scale is Scale.ORDINAL:
        low, high = min(i, j), max(i, j)
        between = sum(totals[low : high + 1], Fraction(0))
        return (between - (totals[i] + totals[j]) / 2) ** 2
    raise ValueError(f"alpha has no {scale} distances")


def _coincidences(
    units: Iterable[Sequence[str | None]], categories: Sequence[str]
) -> list[list[Fraction]]:
    """How often two answers stand together in a unit, each unit weighing as many as it has."""
    place = {category: number for number, category in enumerate(categories)}
    together = [[Fraction(0)] * len(categories) for _ in categories]
    for unit in units:
        given = Counter(answer for answer in unit if answer is not None)
        if unknown := sorted(set(given) - set(place)):
            raise ValueError(f"no category of this question: {', '.join(unknown)}")
        number = given.total()
        if number < 2:
            continue
        for one, often in given.items():
            for other, times in given.items():
                pairs = often * (times - (one == other))
                together[place[one]][place[other]] += Fraction(pairs, number - 1)
    return together
