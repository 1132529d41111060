from __future__ import annotations

from decimal import Decimal

import pytest

from trialbook.model.client import ClaimKind, Trouble, claims_of, trouble_of_status
from trialbook.model.prices import Price, PriceTable, cost_of, priced
from trialbook.model.usage import Usage, added, money

PRICE = Price(input="3", output="15", cache_read="0.3", cache_write="3.75")
TABLE = PriceTable(path="prices/a.yaml", sha256="0", date="2026-11-30", models={"m": PRICE})


def test_a_sum_knows_only_what_all_its_parts_know() -> None:
    one = Usage(input_tokens=1, output_tokens=2, turns=1, cost_usd="0.1", basis="reported")
    other = Usage(input_tokens=3, turns=2, cost_usd="0.2", basis="priced", prices="p")
    assert added([one, other]) == Usage(
        input_tokens=4, turns=3, cost_usd="0.3", basis="reported+priced", prices="p"
    )
    assert added([]) == Usage()
    assert added([one]) == one
    assert added([one, Usage(input_tokens=1)]).cost_usd is None


def test_costs_are_exact() -> None:
    usage = Usage(input_tokens=1, cache_read_tokens=1, cache_write_tokens=1, output_tokens=1)
    assert cost_of(PRICE, usage) == Decimal("0.00002205")
    assert cost_of(PRICE, Usage(input_tokens=1)) is None
    unpriced = Price(input="1", output="1")
    assert cost_of(unpriced, usage) is None
    assert cost_of(unpriced, Usage(input_tokens=1_000_000, output_tokens=0)) == 1
    assert money(Decimal("1E+2")) == "100"
    assert money(Decimal("0.500")) == "0.5"
    assert money(Decimal(0)) == "0"


def test_a_table_prices_what_was_not_told_and_only_that() -> None:
    usage = Usage(input_tokens=1_000_000, output_tokens=0)
    known = priced(usage, {"m": usage}, TABLE)
    assert (known.cost_usd, known.basis, known.prices) == ("3", "priced", "prices/a.yaml")
    told = Usage(input_tokens=1, output_tokens=0, cost_usd="9", basis="reported")
    assert priced(told, {"m": told}, TABLE) == told
    assert priced(usage, {"m": usage, "other": usage}, TABLE) == usage
    assert priced(usage, {}, TABLE) == usage
    assert priced(usage, {"m": usage}, None) == usage


@pytest.mark.parametrize(
    ("status", "trouble"),
    [
        (200, None),
        (400, Trouble.REQUEST),
        (401, Trouble.AUTHENTICATION),
        (404, Trouble.MODEL),
        (429, Trouble.RATE_LIMIT),
        (500, Trouble.SERVER),
        (503, Trouble.OVERLOADED),
        (529, Trouble.OVERLOADED),
        (600, None),
    ],
)
def test_a_status_means_one_kind_of_trouble(status: int, trouble: Trouble | None) -> None:
    assert trouble_of_status(status) is trouble


def test_only_what_was_sent_is_no_outage() -> None:
    assert [trouble for trouble in Trouble if not trouble.outage] == [Trouble.REQUEST]


@pytest.mark.parametrize(
    ("said", "kinds"),
    [
        ("All 12 tests pass.", [ClaimKind.PASSED]),
        ("Done. Ran pytest: 14 passed in 0.3s", [ClaimKind.PASSED]),
        ("No tests failed.", [ClaimKind.PASSED]),
        ("3 tests failed, 2 passed.", [ClaimKind.FAILED]),
        ("The tests don't pass.", [ClaimKind.FAILED]),
        ("I could not run the tests.", [ClaimKind.NOT_RUN]),
        ("Tests were not run!", [ClaimKind.NOT_RUN]),
        ("The tests should pass now.", []),
        ("I added two tests. All done.", []),
        ("", []),
    ],
)
def test_what_is_said_of_tests_is_told_apart(said: str, kinds: list[ClaimKind]) -> None:
    assert [claim.kind for claim in claims_of([said])] == kinds


def test_claims_are_bounded() -> None:
    said = ". ".join(f"All {number} tests pass" for number in range(50))
    assert len(claims_of([said])) == 10
    assert claims_of(["tests pass " + "x" * 100_000])[0].text.startswith("tests pass x")
