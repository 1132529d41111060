from __future__ import annotations

from decimal import Decimal

from tests.recorded import (
    a_bundle,
    a_configuration,
    a_grade,
    a_plan,
    a_trial,
    drift_run,
    mixed_run,
    results_of,
)

from trialbook.model.grade import GradeStatus
from trialbook.model.outcome import Outcome
from trialbook.model.plan import SlotKey
from trialbook.model.trial import Usage
from trialbook.reporting.checks import check_counts
from trialbook.reporting.notices import notices
from trialbook.reporting.summary import Spend, spend, summarise
from trialbook.stats.views import Tally


def test_checks_are_counted_per_repetition_over_all_tasks() -> None:
    plan, bundles = drift_run()
    summary = summarise(plan, [bundle.record for bundle in bundles])
    found = {
        row.name: [(count.repetition, count.passed, count.total) for count in row.checks]
        for row in summary.configurations
    }
    assert found == {
        "baseline": [(1, 9, 9), (2, 9, 9), (3, 9, 9)],
        "candidate": [(1, 5, 9), (2, 5, 9), (3, 5, 9)],
    }


def test_a_grade_that_failed_is_no_answer_in_either_number() -> None:
    plan = a_plan({"current": a_configuration()}, ["one", "two"], repetitions=1)
    fine = a_grade({"a": True, "b": False})
    broken = a_grade({}, status=GradeStatus.FAILED, accepted=None, message="crashed")
    records = [
        a_bundle(a_trial(plan, SlotKey(task, "current", 1), Outcome.REJECTED), grades=[grade])
        for task, grade in (("one", fine), ("two", broken))
    ]
    [row] = summarise(plan, [bundle.record for bundle in records]).configurations
    [count] = row.checks
    assert (count.passed, count.total, count.graded, count.slots) == (1, 2, 1, 2)


def test_spend_is_kept_apart_by_basis_and_unknown_is_not_zero() -> None:
    plan = a_plan({"current": a_configuration()}, ["task"], repetitions=4)
    usages = [
        Usage(cost_usd="0.10", basis="invoice"),
        Usage(cost_usd="0.20", basis="invoice"),
        Usage(cost_usd="1", basis="list_estimate"),
        Usage(),
    ]
    trials = [
        a_trial(plan, SlotKey("task", "current", number), Outcome.ACCEPTED, usage=usage)
        for number, usage in enumerate(usages, start=1)
    ]
    assert list(spend([trial.usage for trial in trials])) == [
        Spend(basis="invoice", usd=Decimal("0.30"), trials=2),
        Spend(basis="list_estimate", usd=Decimal(1), trials=1),
        Spend(basis="unknown", usd=None, trials=1),
    ]


def test_an_amount_that_is_no_number_is_not_known() -> None:
    plan = a_plan({"current": a_configuration()}, ["task"], repetitions=1)
    for amount in ("NaN", "Infinity", "1e999999999", "-1", "٣"):
        trial = a_trial(
            plan, SlotKey("task", "current", 1), Outcome.ACCEPTED, usage=Usage(cost_usd=amount)
        )
        assert list(spend([trial.usage])) == [Spend(basis="unknown", usd=None, trials=1)]


def test_the_matrix_has_every_slot_with_all_its_trials() -> None:
    plan, bundles = mixed_run()
    summary = summarise(plan, [bundle.record for bundle in bundles])
    assert list(summary.cells) == [slot.key for slot in plan.schedule]
    cell = summary.cells[SlotKey("negative-amount", "current", 2)]
    assert cell.outcome == "environment_failure"
    assert cell.last is not None
    assert cell.last.rerun == 1
    assert summary.cells[SlotKey("refund-twice", "current", 3)].outcome == "not_run"
    assert summary.finished == 10


def test_each_check_is_counted_by_configuration() -> None:
    counts = {check.id: check.passed for check in check_counts(results_of(*drift_run()))}
    assert counts["service-uses-class"] == {
        "baseline": Tally(accepted=3, slots=3),
        "candidate": Tally(accepted=0, slots=3),
    }
    assert counts["has-docstring"]["candidate"] == Tally(accepted=3, slots=3)


def test_a_reader_is_told_everything_that_limits_the_numbers() -> None:
    codes = {notice.code for notice in notices(results_of(*mixed_run()))}
    isolation = {"not_isolated", "network_open"}
    assert codes == {"draft", "not_run", "nature", "pending"} | isolation
    [nature] = [n for n in notices(results_of(*drift_run())) if n.code == "nature"]
    assert nature.title == "Replayed"
    assert nature.text.startswith("baseline and candidate: ")
