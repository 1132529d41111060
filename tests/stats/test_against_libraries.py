"""The statistics against scipy and statsmodels, wherever those implement the method."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import pytest
from tests.stats.vectors import A, B, pairs, trials

from trialbook.stats import distributions
from trialbook.stats.exact import fisher_worse, holm, mcnemar, sign_flip
from trialbook.stats.interval import clopper_pearson, clustered_rate, jeffreys, wilson
from trialbook.stats.paired import differences, mean_difference

CLOSE = 1e-6


def library(name: str) -> Any:
    """A library, which on the build server must be there."""
    if os.environ.get("CI") == "true":
        return __import__(name, fromlist=["*"])
    return pytest.importorskip(name)


stats = library("scipy.stats")
proportion = library("statsmodels.stats.proportion")
multitest = library("statsmodels.stats.multitest")
contingency = library("statsmodels.stats.contingency_tables")
api = library("statsmodels.api")


@pytest.mark.parametrize("df", [1, 2, 5, 9, 30, 1000, 99_999, 10_000_000])
@pytest.mark.parametrize("p", [0.005, 0.05, 0.3, 0.8, 0.95, 0.975, 0.9999])
def test_t_quantiles(p: float, df: int) -> None:
    assert distributions.t_quantile(p, df) == pytest.approx(stats.t.ppf(p, df), rel=CLOSE)
    assert distributions.t_cdf(1.3, df) == pytest.approx(stats.t.cdf(1.3, df), abs=CLOSE)


@pytest.mark.parametrize("shape", [(0.5, 0.5), (1, 30), (24, 7), (300.5, 0.7), (50_000, 60_000)])
@pytest.mark.parametrize("p", [0.001, 0.025, 0.5, 0.975])
def test_beta_quantiles(p: float, shape: tuple[float, float]) -> None:
    found = distributions.beta_quantile(p, *shape)
    assert found == pytest.approx(stats.beta.ppf(p, *shape), abs=CLOSE)


@pytest.mark.parametrize("df", [2, 9, 29, 200])
@pytest.mark.parametrize("shift", [0.0, 0.5, 2.8, 6.0])
def test_the_power_of_a_t_test(shift: float, df: int) -> None:
    limit = stats.t.ppf(0.975, df)
    expected = stats.nct.sf(limit, df, shift) + stats.nct.cdf(-limit, df, shift)
    assert distributions.t_test_power(shift, df, 0.05) == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize(("x", "n"), [(0, 7), (24, 30), (30, 30), (1, 400), (333, 1000)])
@pytest.mark.parametrize("confidence", [0.90, 0.95, 0.99])
def test_binomial_intervals(x: int, n: int, confidence: float) -> None:
    for ours, theirs in ((wilson, "wilson"), (clopper_pearson, "beta")):
        found = ours(x, n, confidence)
        expected = proportion.proportion_confint(x, n, alpha=1 - confidence, method=theirs)
        assert [found.low, found.high] == pytest.approx(list(expected), abs=CLOSE)
    if 0 < x < n:
        found = jeffreys(x, n, confidence)
        expected = proportion.proportion_confint(x, n, alpha=1 - confidence, method="jeffreys")
        assert [found.low, found.high] == pytest.approx(list(expected), abs=CLOSE)


def test_the_standard_error_of_a_rate_is_the_cluster_robust_one() -> None:
    outcomes = [
        one for task in trials(A) for one in [1] * task.accepted + [0] * (3 - task.accepted)
    ]
    groups = [place for place in range(len(A)) for _ in range(3)]
    fitted = api.OLS(outcomes, [1.0] * len(outcomes)).fit(
        cov_type="cluster", cov_kwds={"groups": groups, "use_correction": False}
    )
    found = clustered_rate(trials(A))
    assert found is not None
    assert found.standard_error == pytest.approx(fitted.bse[0] * (10 / 9) ** 0.5, abs=CLOSE)


def test_the_paired_interval_is_the_plain_t_where_many_tasks_moved() -> None:
    one, other = (3, 3, 2, 2, 1, 1, 0, 1, 2, 0), (3, 3, 3, 3, 3, 2, 1, 3, 3, 1)
    values = [float(value) for value in differences(pairs(one, other)).values()]
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    found = mean_difference(list(differences(pairs(one, other)).values()))
    assert found is not None
    assert found.interval.low == pytest.approx(expected.low, abs=CLOSE)
    assert found.interval.high == pytest.approx(expected.high, abs=CLOSE)


@pytest.mark.parametrize(
    ("one", "other"), [(A, B), ((3, 3, 2, 2, 1, 1, 0, 1), (0, 3, 3, 0, 3, 2, 1, 3))]
)
def test_sign_flips(one: tuple[int, ...], other: tuple[int, ...]) -> None:
    values = list(differences(pairs(one, other)).values())
    expected = stats.permutation_test(
        ([float(value) for value in values],),
        lambda sample, axis: sample.mean(axis=axis),
        permutation_type="samples",
        n_resamples=float("inf"),
        vectorized=True,
    )
    assert float(sign_flip(values)) == pytest.approx(expected.pvalue, abs=CLOSE)


@pytest.mark.parametrize(("b", "c"), [(1, 6), (0, 5), (2, 8), (3, 3), (0, 0), (7, 20)])
def test_mcnemar(b: int, c: int) -> None:
    expected = contingency.mcnemar([[5, b], [c, 5]], exact=True).pvalue
    assert float(mcnemar(b, c)) == pytest.approx(expected, abs=CLOSE)


@pytest.mark.parametrize("counts", [(3, 3, 0, 3), (5, 6, 2, 7), (10, 12, 11, 13), (0, 4, 4, 4)])
def test_fisher(counts: tuple[int, int, int, int]) -> None:
    passed, of, new, new_of = counts
    table = [[new, new_of - new], [passed, of - passed]]
    expected = stats.fisher_exact(table, alternative="less").pvalue
    assert float(fisher_worse((passed, of), (new, new_of))) == pytest.approx(expected, abs=CLOSE)


def test_holm() -> None:
    values = [0.01, 0.04, 0.03, 0.2, 0.04]
    expected = multitest.multipletests(values, method="holm")[1]
    assert holm(values) == pytest.approx(list(expected), abs=CLOSE)
    assert holm([Fraction(1, 2)]) == [Fraction(1, 2)]
