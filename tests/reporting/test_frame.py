from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.recorded import full_ledger

from trialbook.reporting.frame import DECIMALS, NUMBERS, TIMES, TRUTHS, results_frame
from trialbook.reporting.results import COLUMNS, OPINION_COLUMNS

if os.environ.get("CI") != "true":
    pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def frame(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return results_frame(full_ledger(tmp_path_factory.mktemp("frame") / "ledger"))


def test_every_trial_is_a_row_with_the_columns_of_the_table(frame: Any) -> None:
    assert list(frame.columns) == [*COLUMNS, *OPINION_COLUMNS]
    drift = frame[frame.run.str.startswith("20261130")]
    accepted = drift[drift.accepted].groupby("configuration").size()
    assert accepted["baseline"] == 9


def test_what_is_not_known_is_missing_and_not_zero(frame: Any) -> None:
    assert frame.input_tokens.isna().any()
    assert not (frame.cost_usd == 0).fillna(value=False).all()


def test_columns_have_their_kinds(frame: Any) -> None:
    assert {str(frame[name].dtype) for name in TRUTHS} == {"boolean"}
    assert {str(frame[name].dtype) for name in NUMBERS} == {"Int64"}
    assert {str(frame[name].dtype) for name in DECIMALS} == {"Float64"}
    assert all("UTC" in str(frame[name].dtype) for name in TIMES)
    assert set(TRUTHS + NUMBERS + DECIMALS + TIMES) <= set(COLUMNS + OPINION_COLUMNS)


def test_one_run_of_several(tmp_path: Path) -> None:
    ledger = full_ledger(tmp_path / "ledger")
    assert set(results_frame(ledger, "20261130").suite) == {"instruction-drift"}
