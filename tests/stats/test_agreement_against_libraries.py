"""Agreement and calibration against scikit-learn, krippendorff, statsmodels and scipy."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
from tests.stats.test_against_libraries import CLOSE, library

from trialbook.stats.agreement import (
    AgreementTable,
    Scale,
    agreement_table,
    cohen_kappa,
    kappa_interval,
    krippendorff_alpha,
)
from trialbook.stats.calibration import Confusion, lower_bound

metrics = library("sklearn.metrics")
krippendorff = library("krippendorff")
inter_rater = library("statsmodels.stats.inter_rater")
stats = library("scipy.stats")

CATEGORIES = ("a", "b", "c", "d")
WEIGHTS = {Scale.NOMINAL: None, Scale.LINEAR: "linear", Scale.QUADRATIC: "quadratic"}
SEEDS = range(12)


def draw(seed: int, raters: int = 2, missing: float = 0.0) -> list[list[str | None]]:
    """Units whose raters lean towards one answer, some of them silent."""
    chance = Random(seed)
    units: list[list[str | None]] = []
    for _ in range(chance.randint(5, 60)):
        truth = chance.choice(CATEGORIES)
        unit: list[str | None] = []
        for _ in range(raters):
            said = truth if chance.random() < 0.6 else chance.choice(CATEGORIES)
            unit.append(None if chance.random() < missing else said)
        units.append(unit)
    return units


def table_of(units: Sequence[Sequence[str | None]]) -> AgreementTable:
    return agreement_table([(str(one), str(other)) for one, other in units], CATEGORIES)


@pytest.mark.parametrize("scale", WEIGHTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_kappa(seed: int, scale: Scale) -> None:
    units = draw(seed)
    one, other = zip(*units, strict=True)
    expected = metrics.cohen_kappa_score(
        one, other, labels=list(CATEGORIES), weights=WEIGHTS[scale]
    )
    assert cohen_kappa(table_of(units), scale) == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("scale", WEIGHTS)
@pytest.mark.parametrize("seed", SEEDS)
def test_the_variance_of_kappa(seed: int, scale: Scale) -> None:
    found = table_of(draw(seed))
    wt = {Scale.NOMINAL: None, Scale.LINEAR: "linear", Scale.QUADRATIC: "quadratic"}[scale]
    theirs = inter_rater.cohens_kappa(found.counts, wt=wt)
    ours, kappa = kappa_interval(found, scale, confidence=0.6), cohen_kappa(found, scale)
    assert ours is not None
    assert kappa is not None
    # Theirs has n where the linearised variance has n - 1, and the normal in place of t.
    units = found.units
    error = theirs.std_kappa * (units / (units - 1)) ** 0.5
    half = error * stats.t.ppf(0.8, units - 1)
    assert ours.low == pytest.approx(max(-1.0, float(kappa) - half), abs=CLOSE)
    assert ours.high == pytest.approx(min(1.0, float(kappa) + half), abs=CLOSE)


@pytest.mark.parametrize("scale", [Scale.NOMINAL, Scale.ORDINAL, Scale.INTERVAL])
@pytest.mark.parametrize(("raters", "missing"), [(2, 0.0), (3, 0.0), (4, 0.3)])
@pytest.mark.parametrize("seed", SEEDS)
def test_alpha(seed: int, raters: int, missing: float, scale: Scale) -> None:
    units = draw(seed, raters, missing)
    data = [
        [
            float("nan") if (said := unit[rater]) is None else CATEGORIES.index(said)
            for unit in units
        ]
        for rater in range(raters)
    ]
    expected: Any = krippendorff.alpha(
        reliability_data=data,
        value_domain=list(range(len(CATEGORIES))),
        level_of_measurement=scale.value,
    )
    found = krippendorff_alpha(units, CATEGORIES, scale)
    assert found == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("seed", SEEDS)
def test_rates_of_a_judge(seed: int) -> None:
    chance = Random(seed)
    people = [chance.random() < 0.6 for _ in range(40)]
    judge = [one if chance.random() < 0.8 else not one for one in people]
    tn, fp, fn, tp = metrics.confusion_matrix(people, judge).ravel().tolist()
    found = Confusion(true_accepts=tp, false_rejects=fn, false_accepts=fp, true_rejects=tn)
    assert found.tpr == pytest.approx(metrics.recall_score(people, judge), abs=CLOSE)
    assert found.tnr == pytest.approx(metrics.recall_score(people, judge, pos_label=False))
    assert found.agreement == pytest.approx(metrics.accuracy_score(people, judge), abs=CLOSE)
    assert found.kappa == pytest.approx(metrics.cohen_kappa_score(people, judge), abs=CLOSE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)
        correlation = metrics.matthews_corrcoef(people, judge)
    assert found.correlation == pytest.approx(correlation, abs=CLOSE)


@pytest.mark.parametrize(("right", "counted"), [(8, 8), (28, 30), (27, 30), (59, 59), (1, 40)])
def test_one_sided_bounds(right: int, counted: int) -> None:
    exact = stats.binomtest(right, counted, alternative="greater").proportion_ci(0.95, "exact")
    assert lower_bound(right, counted) == pytest.approx(exact.low, abs=CLOSE)
