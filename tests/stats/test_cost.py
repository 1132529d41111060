from __future__ import annotations

from decimal import Decimal

import pytest
from tests.stats.vectors import VECTORS

from trialbook.stats.cost import TaskSpend, cost_per_accepted, cost_ratio, per_accepted


def spends(costs: list[int], accepted: list[int]) -> list[TaskSpend]:
    return [
        TaskSpend(task=f"t{place}", spend=Decimal(cost), accepted=count)
        for place, (cost, count) in enumerate(zip(costs, accepted, strict=True))
    ]


@pytest.mark.parametrize("name", ["A", "B"])
def test_the_cheaper_agent_is_the_dearer_workflow(name: str) -> None:
    case = VECTORS["cost"][name]
    spend = Decimal(str(case["agent"])) + case["review_min"] * Decimal(str(case["rate"]))
    assert float(per_accepted(spend, case["accepted"]) or 0) == pytest.approx(case["per_accepted"])


def test_nothing_accepted_costs_an_unknown_amount() -> None:
    assert per_accepted(Decimal(12), 0) is None
    assert cost_per_accepted(spends([10, 12], [0, 0])) is None


def test_the_worked_jackknife() -> None:
    case = VECTORS["cost"]["jackknife"]
    found = cost_per_accepted(spends(case["cost"], case["accepted"]))
    assert found is not None
    assert found.interval is not None
    assert found.ratio == pytest.approx(case["ratio"], abs=1e-6)
    assert found.standard_error == pytest.approx(case["se_log"], abs=1e-5)
    assert [found.interval.low, found.interval.high] == pytest.approx(case["ci"], abs=1e-5)


def test_a_ratio_that_hangs_on_one_task_has_no_interval() -> None:
    found = cost_per_accepted(spends([10, 12, 8], [3, 0, 0]))
    assert found is not None
    assert found.interval is None


def test_two_configurations_compared_by_cost() -> None:
    one = spends([10, 12, 8, 20], [3, 3, 2, 1])
    other = spends([20, 24, 16, 40], [3, 3, 2, 1])
    found = cost_ratio(one, other)
    assert found is not None
    assert found.interval is not None
    assert found.ratio == pytest.approx(2)
    assert found.interval.low == pytest.approx(2)
    assert found.interval.high == pytest.approx(2)
