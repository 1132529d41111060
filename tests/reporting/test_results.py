from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace

from tests.recorded import (
    HOSTILE,
    a_configuration,
    a_plan,
    a_trial,
    drift_run,
    hostile_run,
    mixed_run,
)

from trialbook.model.outcome import NOT_RUN, Outcome
from trialbook.model.plan import Plan, SlotKey
from trialbook.model.trial import TrialBundle
from trialbook.reporting.results import COLUMNS, results_csv


def table(plan: Plan, bundles: Sequence[TrialBundle]) -> list[dict[str, str]]:
    text = results_csv(plan, [bundle.record for bundle in bundles]).decode()
    return list(csv.DictReader(io.StringIO(text)))


def test_the_columns_are_fixed_and_lines_end_with_lf() -> None:
    plan, bundles = mixed_run()
    data = results_csv(plan, [bundle.record for bundle in bundles])
    assert data.decode().split("\n")[0].split(",") == list(COLUMNS)
    assert b"\r" not in data
    assert data.endswith(b"\n")


def test_there_is_a_row_for_every_trial_and_for_every_slot_that_never_ran() -> None:
    plan, bundles = mixed_run()
    rows = table(plan, bundles)
    assert len([row for row in rows if row["outcome"] == NOT_RUN]) == 2
    assert len([row for row in rows if row["outcome"] != NOT_RUN]) == len(bundles)
    positions = [int(row["position"]) for row in rows]
    assert positions == sorted(positions)
    assert set(positions) == set(range(1, len(plan.schedule) + 1))


def test_both_views_can_be_counted_from_the_rows() -> None:
    rows = table(*mixed_run())
    current = [row for row in rows if row["configuration"] == "current"]
    scheduled = [row for row in current if row["counts_all_scheduled"] == "yes"]
    valid = [row for row in current if row["counts_valid_execution"] == "yes"]
    assert (sum(row["accepted"] == "yes" for row in scheduled), len(scheduled)) == (1, 6)
    assert (sum(row["accepted"] == "yes" for row in valid), len(valid)) == (2, 3)


def test_the_order_of_the_trials_changes_no_byte() -> None:
    plan, bundles = mixed_run()
    records = [bundle.record for bundle in bundles]
    assert results_csv(plan, records) == results_csv(plan, reversed(records))


def test_unknown_is_an_empty_cell_and_never_zero() -> None:
    rows = table(*drift_run())
    assert {row["cost_usd"] for row in rows} == {""}
    assert {row["cost_basis"] for row in rows} == {"unknown"}
    assert {row["input_tokens"] for row in rows} == {""}


def test_replayed_and_control_configurations_are_named() -> None:
    assert {row["nature"] for row in table(*drift_run())} == {"replayed"}
    natures = {row["configuration"]: row["nature"] for row in table(*mixed_run())}
    assert natures == {"current": "", "reference": "scripted, given the reference"}


def test_hostile_text_stays_in_its_cell_and_is_no_formula() -> None:
    plan, bundles = hostile_run()
    [row] = table(plan, bundles)
    assert "\x1b" not in row["reason"]
    assert "\\u202e" in row["reason"]
    assert row["cost_usd"] == ""
    formula = replace(bundles[0].record, reason='=HYPERLINK("http://evil.example")')
    text = results_csv(plan, [formula]).decode()
    assert "'=HYPERLINK" in text


def test_a_trial_outside_the_plan_is_shown_and_counts_nowhere() -> None:
    plan = a_plan({"current": a_configuration()}, ["task"], repetitions=1)
    stray = a_trial(plan, SlotKey("other", "current", 1), Outcome.ACCEPTED)
    text = results_csv(plan, [stray]).decode()
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["outcome"] for row in rows] == [NOT_RUN, "accepted"]
    assert rows[1]["position"] == ""
    assert rows[1]["counts_all_scheduled"] == "no"


def test_a_line_break_in_a_reason_does_not_break_the_row() -> None:
    plan, bundles = hostile_run()
    record = replace(bundles[0].record, reason=f"one\ntwo,{HOSTILE}")
    assert results_csv(plan, [record]).count(b"\n") == 2
