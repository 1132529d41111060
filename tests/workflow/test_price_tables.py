from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from tests.conftest import write_files

from trialbook.errors import UserError
from trialbook.model.prices import Price
from trialbook.workflow.prices import newest_prices

DAY = date(2026, 11, 30)


def table(day: str, price: str = "1.25") -> str:
    return f"date: {day}\nmodels:\n  m: {{input: {price}, output: 10, cache_read: 0.125}}\n"


def test_the_latest_table_that_is_not_of_a_later_day_counts(tmp_path: Path) -> None:
    assert newest_prices(tmp_path, DAY) is None
    files = {"a": "2026-10-01", "b": "2026-11-30", "c": "2026-12-01"}
    write_files(tmp_path, {f"prices/{name}.yaml": table(day) for name, day in files.items()})
    found = newest_prices(tmp_path, DAY)
    assert found is not None
    assert (found.path, found.date) == ("prices/b.yaml", "2026-11-30")
    assert found.models == {"m": Price(input="1.25", output="10", cache_read="0.125")}
    assert newest_prices(tmp_path, date(2026, 9, 1)) is None


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (table("2026-13-01"), "prices/a.yaml:1:7: `2026-13-01` is no day"),
        (table("November"), "is no day; write it as 2026-11-30"),
        (table("2026-11-01", "-1"), "prices/a.yaml:3:"),
        (table("2026-11-01", "free"), "prices/a.yaml:3:"),
        ("date: 2026-11-01\n", "`models`"),
        ("date: 2026-11-01\nmodels: {m: {input: 1}}\n", "`output`"),
        (table("2026-11-01") + "soruce: x\n", "did you mean `source`?"),
    ],
)
def test_mistakes_are_told_with_their_place(tmp_path: Path, text: str, said: str) -> None:
    write_files(tmp_path, {"prices/a.yaml": text})
    with pytest.raises(UserError) as caught:
        newest_prices(tmp_path, DAY)
    assert said in str(caught.value)


def test_two_tables_of_one_day_are_a_mistake(tmp_path: Path) -> None:
    write_files(tmp_path, {f"prices/{name}.yaml": table("2026-11-01") for name in "ab"})
    with pytest.raises(UserError, match=r"prices/b\.yaml: prices/a\.yaml is of the same day"):
        newest_prices(tmp_path, DAY)
