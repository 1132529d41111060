from __future__ import annotations

from dataclasses import replace

from tests.recorded import a_bundle, a_configuration, a_grade, a_plan, a_trial

from trialbook.model.amendment import (
    Amendment,
    Intervention,
    InterventionKind,
    OutcomeCorrection,
)
from trialbook.model.outcome import Outcome
from trialbook.model.plan import SlotKey
from trialbook.model.regrade import RegradedGrade, RegradedTrial
from trialbook.model.standing import standing_of

PLAN = a_plan({"one": a_configuration()}, ["a"], repetitions=1)
RECORD = a_bundle(
    a_trial(PLAN, SlotKey("a", "one", 1), Outcome.REJECTED), grades=[a_grade({"x": False})]
).record


def amendment(number: int, now: Outcome | None = None, **changes: object) -> Amendment:
    plain = Amendment(
        id=f"20261130T15152{number}Z-00000{number}",
        run=PLAN.path,
        trial=RECORD.path,
        trial_sha256="a" * 64,
        created=f"2026-11-30T15:15:2{number}.000Z",
        author="Ann",
        reason=f"reason {number}",
        outcome=OutcomeCorrection(was=Outcome.REJECTED, now=now, evidence=("e",)) if now else None,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


REGRADED = RegradedTrial(
    trial=RECORD.path,
    was=Outcome.REJECTED,
    outcome=Outcome.ACCEPTED,
    reason="checks 1/1",
    grades=(
        RegradedGrade(
            grader="checks",
            version="2",
            status="graded",
            accepted=True,
            passed=1,
            total=1,
            sha256="b" * 64,
            file="regrades/x/checks.json",
        ),
    ),
)


def test_without_corrections_a_trial_stands_as_recorded() -> None:
    found = standing_of(RECORD)
    assert found.trial is RECORD
    assert found.grade_files == ("grades/checks.json",)
    assert (found.changed, found.corrected_by, found.rescued) == (False, "", False)


def test_the_last_amendment_of_the_outcome_stands_in_whatever_order_they_come() -> None:
    first, last = amendment(1, Outcome.AGENT_ERROR), amendment(2, Outcome.POLICY_VIOLATION)
    for given in ([first, last], [last, first]):
        found = standing_of(RECORD, amendments=[*given, amendment(3, note="seen")])
        assert found.trial.outcome is Outcome.POLICY_VIOLATION
        assert found.trial.reason == "reason 2"
        assert found.record.outcome is Outcome.REJECTED
        assert [one.reason for one in found.amendments] == ["reason 1", "reason 2", "reason 3"]


def test_later_grades_decide_and_an_amendment_stands_above_them() -> None:
    found = standing_of(RECORD, regrade="x", regraded=REGRADED)
    assert (found.trial.outcome, found.corrected_by) == (Outcome.ACCEPTED, "regrade")
    assert found.grade_files == ("regrades/x/checks.json",)
    amended = standing_of(
        RECORD,
        amendments=[amendment(1, Outcome.POLICY_VIOLATION)],
        regrade="x",
        regraded=REGRADED,
    )
    assert (amended.trial.outcome, amended.corrected_by) == (
        Outcome.POLICY_VIOLATION,
        "amendment",
    )
    assert amended.trial.grades[0].accepted is True


def test_an_amendment_that_may_not_say_what_it_says_changes_no_number() -> None:
    forged = amendment(1, Outcome.ACCEPTED)
    unshown = amendment(
        2, outcome=OutcomeCorrection(was=Outcome.REJECTED, now=Outcome.PROVIDER_OUTAGE)
    )
    found = standing_of(RECORD, amendments=[forged, unshown])
    assert found.trial.outcome is Outcome.REJECTED
    assert len(found.amendments) == 2


def test_interventions_add_up_over_amendments() -> None:
    rescue = Intervention(kind=InterventionKind.RESCUE, minutes=20)
    asked = Intervention(kind=InterventionKind.CLARIFICATION, minutes=5)
    found = standing_of(
        RECORD,
        amendments=[amendment(1, interventions=(rescue,)), amendment(2, interventions=(asked,))],
    )
    assert found.interventions == (rescue, asked)
    assert found.rescued
    assert not found.changed
