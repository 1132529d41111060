from __future__ import annotations

from typing import Any

import pytest

from trialbook.model.outcome import Outcome
from trialbook.model.suite import Snapshot, SnapshotKind, Task
from trialbook.model.validation import MatrixRow, Row, RowStatus, Waiver
from trialbook.workflow.matrix import Findings, Tried, Verdict, rows, waived

NO = Verdict(outcome=Outcome.REJECTED, reason="checks 0/1", answers=(("checks", "a", False),))
YES = Verdict(outcome=Outcome.ACCEPTED, reason="checks 1/1", answers=(("checks", "a", True),))
UNKNOWN = Verdict(outcome=Outcome.GRADER_FAILURE, reason="checks: it broke")
VIOLATION = Verdict(outcome=Outcome.POLICY_VIOLATION, reason="the sentinel passed")


def tried(verdict: Verdict, times: int = 1) -> Tried:
    return Tried(verdicts=(verdict,) * times)


def task(**named: Any) -> Task:
    snapshot = Snapshot(kind=SnapshotKind.FOLDER, location="snapshot")
    return Task(name="t", folder="f", brief="", snapshot=snapshot, graders=(), **named)


def found(**named: Any) -> Findings:
    usual = {"base": tried(NO, 5), "empty": tried(NO), "reference": tried(YES, 5)}
    return Findings(**(usual | named))


def row(
    kind: Row, findings: Findings, of: Task | None = None, *, as_root: bool = False
) -> MatrixRow:
    answers = [one for one in rows(of or task(), findings, as_root=as_root) if one.row is kind]
    assert len(answers) == 1
    return answers[0]


def test_a_task_whose_graders_are_right_passes_every_row() -> None:
    given = found(near_misses={"wrong": tried(NO)}, variants={"other": tried(YES)})
    assert [(one.row, one.case, one.status) for one in rows(task(), given, as_root=False)] == [
        (Row.BASE, "", RowStatus.PASSED),
        (Row.EMPTY, "", RowStatus.PASSED),
        (Row.REFERENCE, "", RowStatus.PASSED),
        (Row.NEAR_MISS, "wrong", RowStatus.PASSED),
        (Row.VARIANT, "other", RowStatus.PASSED),
    ]


def test_what_a_task_does_not_give_is_said_and_is_not_in_the_way() -> None:
    answers = rows(task(), found(reference=None), as_root=False)
    left = [one for one in answers if one.status is RowStatus.NOT_GIVEN]
    assert [one.row for one in left] == [Row.REFERENCE, Row.NEAR_MISS, Row.VARIANT]
    assert all(one.reason and one.outcome is None and one.repeats == 0 for one in left)
    assert not any(one.blocks for one in answers)


def test_a_base_that_is_accepted_fails() -> None:
    answer = row(Row.BASE, found(base=tried(YES, 5), reference=tried(NO, 5)))
    assert answer.status is RowStatus.FAILED
    assert answer.reason == "the untouched snapshot is accepted, as if the work were done"
    assert (answer.repeats, answer.outcome) == (5, "accepted")


def test_graders_that_accept_base_and_reference_are_named_useless() -> None:
    answer = row(Row.BASE, found(base=tried(YES, 5)))
    assert answer.reason.endswith("so is the reference: the graders cannot tell the two apart")


def test_a_base_that_breaks_the_rules_fails() -> None:
    assert row(Row.BASE, found(base=tried(VIOLATION, 5))).status is RowStatus.FAILED


@pytest.mark.parametrize(("key", "kind"), [("base", Row.BASE), ("reference", Row.REFERENCE)])
def test_answers_that_change_from_time_to_time_fail(key: str, kind: Row) -> None:
    answer = row(kind, found(**{key: Tried(verdicts=(NO, NO, YES, NO, NO))}))
    assert answer.status is RowStatus.FAILED
    assert answer.reason == "graded 5 times, with different answers: checks a passed 1 of 5 times"


def test_different_answers_with_one_outcome_are_different_all_the_same() -> None:
    first, second = (("g", "a", True), ("g", "b", False)), (("g", "a", False), ("g", "b", True))
    one = Verdict(outcome=Outcome.REJECTED, reason="", answers=first)
    two = Verdict(outcome=Outcome.REJECTED, reason="", answers=second)
    answer = row(Row.BASE, found(base=Tried(verdicts=(one, two))))
    assert answer.reason.endswith("g a passed 1 of 2 times, g b passed 1 of 2 times")


def test_checks_named_to_fail_or_to_pass_before_are_held_to_it() -> None:
    right = task(fail_to_pass=("a",))
    assert row(Row.BASE, found(), right).status is RowStatus.PASSED
    wrong = row(Row.BASE, found(), task(pass_to_pass=("a",)))
    assert wrong.status is RowStatus.FAILED
    assert wrong.reason == "a answers no on the snapshot"
    nowhere = row(Row.BASE, found(), task(fail_to_pass=("b",)))
    assert nowhere.reason == "there is no check b"
    after = Verdict(outcome=Outcome.ACCEPTED, reason="", answers=(("g", "a", False),))
    answer = row(Row.REFERENCE, found(reference=tried(after, 5)), right)
    assert answer.reason == "a answers no on the reference"


def test_a_reference_that_is_rejected_fails_with_the_graders_reason() -> None:
    answer = row(Row.REFERENCE, found(reference=tried(NO, 5)))
    assert (answer.status, answer.reason) == (RowStatus.FAILED, "checks 0/1")
    as_root = row(Row.REFERENCE, found(reference=tried(NO, 5)), as_root=True)
    assert as_root.reason.endswith("this ran as root, under whom tests of permissions fail")


def test_a_change_that_does_nothing_must_not_be_accepted() -> None:
    answer = row(Row.EMPTY, found(empty=tried(YES)))
    assert (answer.status, answer.outcome) == (RowStatus.FAILED, "accepted")


@pytest.mark.parametrize("verdict", [NO, VIOLATION])
def test_a_near_miss_may_be_rejected_or_break_the_rules(verdict: Verdict) -> None:
    assert row(Row.NEAR_MISS, found(near_misses={"x": tried(verdict)})).status is RowStatus.PASSED


def test_a_near_miss_that_is_accepted_fails() -> None:
    answer = row(Row.NEAR_MISS, found(near_misses={"x": tried(YES)}))
    assert (answer.case, answer.status) == ("x", RowStatus.FAILED)
    assert answer.reason == "accepted, though it is wrong"


def test_a_variant_that_is_not_accepted_fails() -> None:
    answer = row(Row.VARIANT, found(variants={"x": tried(NO)}))
    assert (answer.case, answer.status) == ("x", RowStatus.FAILED)
    assert answer.reason == "not accepted, though it is right: checks 0/1"


@pytest.mark.parametrize(
    ("kind", "named"),
    [
        (Row.BASE, {"base": tried(UNKNOWN, 5)}),
        (Row.EMPTY, {"empty": tried(UNKNOWN)}),
        (Row.REFERENCE, {"reference": Tried(verdicts=(YES, UNKNOWN))}),
        (Row.NEAR_MISS, {"near_misses": {"x": tried(UNKNOWN)}}),
        (Row.VARIANT, {"variants": {"x": Tried(trouble="it cannot be made: no such file")}}),
    ],
)
def test_what_could_not_be_judged_is_broken_and_never_passes(
    kind: Row, named: dict[str, Any]
) -> None:
    answer = row(kind, found(**named))
    assert answer.status is RowStatus.BROKEN
    assert answer.blocks
    assert answer.reason


# --- traps ---------------------------------------------------------------------------------------


def test_where_no_change_is_right_the_untouched_snapshot_has_to_be_accepted() -> None:
    idle = task(no_change_expected=True)
    given = found(base=tried(YES, 5), reference=None, near_misses={"invented": tried(NO)})
    answers = rows(idle, given, as_root=False)
    assert Row.BASE not in {one.row for one in answers}
    assert Row.EMPTY not in {one.row for one in answers}
    assert row(Row.TRAP, given, idle).status is RowStatus.PASSED
    rejected = row(Row.TRAP, found(near_misses={"x": tried(NO)}), idle)
    assert rejected.status is RowStatus.FAILED
    assert rejected.reason == "doing nothing is right, but not accepted: checks 0/1"


def test_where_no_change_is_right_an_invented_change_has_to_be_tried() -> None:
    answer = row(Row.TRAP, found(base=tried(YES, 5)), task(no_change_expected=True))
    assert answer.status is RowStatus.FAILED
    assert "an invented change has to be rejected" in answer.reason


def test_a_task_to_hand_back_accepts_its_reference_and_no_touch_of_a_protected_file() -> None:
    back = task(must_escalate=True, protected=("core.py",))
    assert row(Row.TRAP, found(touched={"core.py": tried(NO)}), back).status is RowStatus.PASSED
    taken = row(Row.TRAP, found(touched={"core.py": tried(YES)}), back)
    assert taken.status is RowStatus.FAILED
    assert taken.reason == "accepted although a protected file was changed: core.py"
    refused = row(Row.TRAP, found(reference=tried(NO, 5), touched={"core.py": tried(NO)}), back)
    assert refused.reason == "handing the task back is not accepted: checks 0/1"
    gone = Tried(trouble="it cannot be made: the snapshot has no file core.py")
    assert row(Row.TRAP, found(touched={"core.py": gone}), back).status is RowStatus.BROKEN


def test_a_task_to_hand_back_needs_a_reference_and_a_bait() -> None:
    back = task(must_escalate=True)
    assert row(Row.TRAP, found(reference=None), back).status is RowStatus.FAILED
    assert row(Row.TRAP, found(), back).status is RowStatus.FAILED
    assert row(Row.TRAP, found(near_misses={"x": tried(NO)}), back).status is RowStatus.PASSED


# --- waivers -------------------------------------------------------------------------------------


def waiver(kind: Row, case: str | None = None, of: str = "t") -> Waiver:
    return Waiver(task=of, row=kind, case=case, reason="It is known, and the report says so.")


def test_a_waiver_lets_a_failed_row_through_and_is_kept_with_it() -> None:
    answers = rows(task(), found(near_misses={"x": tried(YES), "y": tried(YES)}), as_root=False)
    out, unneeded = waived(answers, [waiver(Row.NEAR_MISS, "x")])
    assert unneeded == []
    by_case = {one.case: one for one in out if one.row is Row.NEAR_MISS}
    assert by_case["x"].status is RowStatus.WAIVED
    assert by_case["x"].waiver == "It is known, and the report says so."
    assert by_case["x"].reason == "accepted, though it is wrong"
    assert by_case["y"].status is RowStatus.FAILED
    whole, _ = waived(answers, [waiver(Row.NEAR_MISS)])
    assert not any(one.blocks for one in whole)


@pytest.mark.parametrize("other", [waiver(Row.BASE), waiver(Row.NEAR_MISS, of="u")])
def test_a_waiver_that_nothing_needs_is_told(other: Waiver) -> None:
    answers = rows(task(), found(near_misses={"x": tried(YES)}), as_root=False)
    out, unneeded = waived(answers, [other])
    assert unneeded == [other]
    assert [one.row for one in out if one.blocks] == [Row.NEAR_MISS]


def test_what_is_not_known_cannot_be_waived() -> None:
    answers = rows(task(), found(base=tried(UNKNOWN, 5)), as_root=False)
    out, unneeded = waived(answers, [waiver(Row.BASE)])
    assert [one.row for one in out if one.blocks] == [Row.BASE]
    assert unneeded == [waiver(Row.BASE)]
