"""What the program answers about a series, yes and no, each for the reason that is on record."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from tests.series.build import (
    REPORTED,
    SIBLINGS,
    grade,
    handover,
    held,
    record,
    repair,
    review,
    runs,
    series,
    tree,
    tried,
)

from trialbook.formats.patch_lines import PatchLines
from trialbook.model.outcome import Outcome
from trialbook.model.series import AUTO, REVIEWER, ConflictOutcome, Moment, RepairClass, Said
from trialbook.model.series import SessionPart as Part
from trialbook.model.series_questions import QUESTIONS
from trialbook.model.series_record import EarlierTests, TreeTests
from trialbook.model.session import OpenFailure, SessionRecord
from trialbook.reporting.series import Became, SeriesView, view_of
from trialbook.storage.rubrics import rubric_of
from trialbook.storage.shipped_rubrics import shipped_rubrics

YES, NO, UNKNOWN, NONE = Said.YES, Said.NO, Said.UNKNOWN, Said.NOT_APPLICABLE


def view(**changed: Any) -> SeriesView:
    return view_of(series(**changed))


def says(found: SeriesView, question: str, said: Said, *evidence: str) -> None:
    one = found.answer(question)
    assert one.answer is said, one
    told = "\n".join((*one.evidence, one.hint))
    for text in evidence:
        assert text in told, one
    if said in (YES, NO):
        assert one.evidence, one


def private(**passed: bool | None) -> dict[str, Any]:
    return {"grades": {(4, Part.PRIVATE, Moment.END): grade(**passed)}}


def failing(declared: bool | None, where: str = "") -> dict[str, Any]:
    one = OpenFailure(part=Part.TESTS, check="t::red", declared=declared, where=where)
    clean = {n: handover(n) for n in (1, 3, 4)}
    return {"handovers": clean | {2: handover(2, one)}}


def test_every_question_is_one_of_a_shipped_rubric() -> None:
    known = []
    for path, text in shipped_rubrics().items():
        name = path.split("/")[1]
        rubric = rubric_of(text, f"{name}@1")
        assert rubric is not None
        known += [f"{name}/{one.id}" for one in rubric.questions if name != "merge"]
    assert sorted(known) == sorted(one.name for one in QUESTIONS)
    assert [one.code for one in QUESTIONS[:7]] == ["C1", "C2", "C3", "C4", "C5", "C6", "R1"]


def test_decisions_that_nothing_is_against_hold_or_do_not() -> None:
    says(view(), "continuity/decisions-hold", YES, "one-writer: a.py:1")
    kept = tuple(held("streams", n, holds=False) for n in (3, 4))
    broken = tried(properties=(held("one-writer", 4, holds=False), *kept))
    says(view(tried=broken), "continuity/decisions-hold", NO, "one-writer: a.py:1", "@0000")
    unknown = tried(properties=(held("one-writer", 4, holds=None),))
    says(view(tried=unknown), "continuity/decisions-hold", UNKNOWN)
    only = tried(decisions=tried().decisions[1:])
    says(view(tried=only), "continuity/decisions-hold", NONE, "without a conflict")


def test_a_red_state_is_declared_or_not_or_there_is_none() -> None:
    says(view(), "continuity/state-declared", NONE)
    found = view(**failing(declared=True, where="NOTES.md"))
    says(found, "continuity/state-declared", YES, "session 2: t::red", "declared in NOTES.md")
    says(view(**failing(declared=False)), "continuity/state-declared", NO, "nothing says so")
    says(view(**failing(declared=None)), "continuity/state-declared", UNKNOWN)


def test_the_reported_case_and_its_siblings_are_told_apart() -> None:
    every = {"t__one": True, "t__two": True, "t__three": True, "t__four": True}
    says(view(), "repair/reported-passes", YES, f"{REPORTED[0]}@")
    says(view(), "repair/siblings-pass", YES, f"{SIBLINGS[2]}@")
    special = view(**private(**every | {"t__two": False}))
    says(special, "repair/reported-passes", YES)
    says(special, "repair/siblings-pass", NO, "t::two@", "fails")
    assert special.repair is RepairClass.SYMPTOM_ONLY
    broken = view(**private(**every | {"t__one": False}))
    says(broken, "repair/reported-passes", NO, "t::one@")
    assert broken.repair is RepairClass.NOT_FIXED
    says(view(grades={}), "repair/siblings-pass", UNKNOWN)


def test_a_regression_test_fails_before_the_repair_and_passes_after_it() -> None:
    def own(before: TreeTests | None, after: TreeTests | None) -> SeriesView:
        return view(tried=tried(repair=repair(own_before=before, own_after=after)))

    name = "repair/regression-test"
    says(view(), name, YES, "own::a fails @0000", "passes @0000")
    says(own(None, None), name, NO, "no test was added or changed")
    says(own(runs(9, own__a=True), runs(4, own__a=True)), name, NO, "own::a does not fail @0000")
    says(own(runs(9, own__a=False), runs(4, own__a=False)), name, NO, "does not pass")
    says(own(runs(9, own__a=None), runs(4, own__a=True)), name, NO)
    says(own(runs(9), runs(4, own__a=True)), name, YES, "cannot be run")
    trouble = TreeTests(tree="0" * 40, trouble="no pytest")
    says(own(trouble, runs(4, own__a=True)), name, UNKNOWN, "no pytest")


def test_what_passed_before_the_repair_still_passes_or_is_lost() -> None:
    def earlier(before: TreeTests, after: TreeTests) -> SeriesView:
        one = EarlierTests(session=2, before=before, after=after)
        return view(tried=tried(repair=repair(earlier=(one,))))

    name = "repair/nothing-lost"
    says(view(), name, YES, "session 1: 1 tests still pass")
    says(earlier(runs(3, d__a=True), runs(4, d__a=False)), name, NO, "session 2: d::a@")
    says(earlier(runs(3, d__a=True), runs(4)), name, NO, "d::a@")
    # What is neither passed nor failed, one that was skipped say, is no loss.
    says(earlier(runs(3, d__a=True), runs(4, d__a=None)), name, UNKNOWN, "d::a@")
    # What the session before had broken is none of the repair's.
    says(earlier(runs(3, d__a=False), runs(4, d__a=False)), name, YES, "0 tests")
    trouble = TreeTests(tree="0" * 40, trouble="the grader broke")
    says(earlier(runs(3, d__a=True), trouble), name, UNKNOWN, "the grader broke")
    says(view(tried=tried(repair=repair(earlier=()))), name, NONE)


def test_without_a_regression_nothing_about_a_repair_applies() -> None:
    found = view(tried=tried(repair=None))
    every = [one for one in found.answers if one.question.startswith("repair/")]
    assert {one.answer for one in every} == {NONE}
    assert found.repair is None


def test_what_was_not_tried_is_not_known() -> None:
    found = view(tried=None)
    says(found, "continuity/decisions-hold", UNKNOWN)
    says(found, "repair/nothing-lost", UNKNOWN)
    assert (found.conflict, found.repair, found.decisions) == (None, None, ())


def test_a_session_is_green_without_its_siblings_and_red_by_its_checks() -> None:
    assert [one.answer for one in view().answers[:4]] == [YES] * 4
    given = grade(t__one=True, t__two=False, t__three=False, t__four=False)
    records = (record(1), record(2), record(3), record(4, Outcome.REJECTED, private=given))
    grades = {(4, Part.PRIVATE, Moment.END): given}
    says(view(sessions=records, grades=grades), "outcome/repair", YES, "3 siblings aside")
    red = grade(own__tests=False)
    records = (record(1), record(2, Outcome.REJECTED, checks=red), record(3), record(4))
    found = view(sessions=records, grades={(2, Part.CHECKS, Moment.END): red})
    says(found, "outcome/docs", NO, "checks own::tests@")


def test_a_check_without_an_answer_is_no_failure_and_no_success() -> None:
    def core(**passed: bool | None) -> SeriesView:
        given = grade(**passed)
        sessions = (record(1, checks=given), record(2), record(3), record(4))
        return view(sessions=sessions, grades={(1, Part.CHECKS, Moment.END): given})

    says(core(a=True, b=None), "outcome/core", UNKNOWN, "checks b@000000000000 is not known")
    says(core(a=False, b=None), "outcome/core", NO, "checks a@000000000000")
    says(core(a=True), "outcome/core", YES, "1 check passes")
    lost = (record(1, checks=grade(a=True)), record(2), record(3), record(4))
    says(view(sessions=lost), "outcome/core", UNKNOWN, "what checks said", "not on record")


@pytest.mark.parametrize(
    ("outcome", "said"),
    [
        (Outcome.AGENT_TIMEOUT, NO),
        (Outcome.POLICY_VIOLATION, NO),
        (Outcome.ENVIRONMENT_FAILURE, UNKNOWN),
        (Outcome.GRADER_FAILURE, UNKNOWN),
        (None, NONE),
    ],
)
def test_a_session_that_did_not_end_by_its_checks(outcome: Outcome | None, said: Said) -> None:
    records = (record(1), record(2, outcome), record(3), record(4))
    assert view(sessions=records).answer("outcome/docs").answer is said


# --- people --------------------------------------------------------------------------------------


def test_what_needs_a_person_is_open_until_one_answers_and_hints_are_no_answers() -> None:
    added = PatchLines(added={"a.py": [(1, "x = 1\n")]})
    gone = PatchLines(deleted={"a.py": [(1, "x = 1\n")]})
    changes = {1: added, 2: gone, 3: PatchLines(), 4: PatchLines()}
    says(view(changes=changes), "continuity/nothing-rebuilt", UNKNOWN, "took out 1 of the 1")
    says(view(), "continuity/changes-named", UNKNOWN, "nobody has answered yet")
    said = review("ann", "continuity", nothing_rebuilt="yes")
    found = view(changes=changes, reviews={"continuity": (said,)})
    says(found, "continuity/nothing-rebuilt", YES, "ann.py:1")
    assert found.answer("continuity/nothing-rebuilt").by == REVIEWER


def test_people_cannot_answer_what_tests_have_answered() -> None:
    said = review("ann", "repair", reported_passes="no", cause_changed="yes")
    found = view(reviews={"repair": (said,)})
    assert found.answer("repair/reported-passes").by == AUTO
    says(found, "repair/reported-passes", YES)
    assert found.repair is RepairClass.ROOT_CAUSE


def test_where_people_differ_nothing_is_counted() -> None:
    both = (
        review("ann", "repair", cause_changed="yes"),
        review("bob", "repair", cause_changed="no"),
    )
    found = view(reviews={"repair": both})
    says(found, "repair/cause-changed", UNKNOWN, "reviewers differ: ann yes, bob no")
    assert found.repair is None


def test_the_sealed_key_is_withheld_until_answers_are_in() -> None:
    closed = view()
    says(closed, "repair/cause-changed", UNKNOWN, "withheld")
    assert "core.py" not in closed.answer("repair/cause-changed").hint
    assert not closed.key_open
    opened = view(reviews={"repair": (review("ann", "repair", cause_changed="yes"),)})
    says(opened, "repair/cause-changed", YES, "files of the key's component", "core.py:1@0")
    assert opened.key_open
    partial = view(reviews={"repair": (review("ann", "repair", cause_changed="no"),)})
    assert partial.repair is RepairClass.PARTIAL


def test_a_branch_on_the_reported_input_is_a_hint() -> None:
    keyed = tried(repair=repair(keyed=("core.py:7@0",)))
    says(view(tried=keyed), "repair/no-special-case", UNKNOWN, "core.py:7@0")
    says(view(), "repair/no-special-case", UNKNOWN, "no added condition")


@pytest.mark.parametrize(
    ("answers", "expected", "became"),
    [
        (("yes", "yes"), ConflictOutcome.REVISED_EXPLICITLY, Became.REVISED),
        (("no", "yes"), ConflictOutcome.SILENTLY_CONTRADICTED, Became.CONTRADICTED),
        (("no", "no"), ConflictOutcome.PARALLEL_PATH, Became.CONTRADICTED),
        (None, None, Became.UNKNOWN),
    ],
)
def test_a_conflict_ends_as_people_and_the_property_say(
    answers: tuple[str, str] | None, expected: ConflictOutcome | None, became: Became
) -> None:
    said = answers and review("ann", "continuity", changes_named=answers[0], one_path=answers[1])
    found = view(reviews={"continuity": (said,)} if said else {})
    assert found.conflict is expected
    (streams,) = [one for one in found.decisions if one.stated.id == "streams"]
    assert streams.became == {1: Became.KEPT, 2: Became.KEPT, 3: became, 4: became}
    assert streams.evidence


def test_a_decision_that_is_kept_is_honoured() -> None:
    kept = tuple(replace(one, holds=True) for one in tried().properties)
    said = review("ann", "continuity", changes_named="not_applicable", one_path="yes")
    found = view(tried=tried(properties=kept), reviews={"continuity": (said,)})
    assert found.conflict is ConflictOutcome.HONOURED


def test_what_commits_say_is_a_hint_with_the_place_where_it_stands() -> None:
    def committed(number: int, subject: str, body: str) -> SessionRecord:
        own = record(number)
        *earlier, last = own.end.commits
        said = replace(last, subject=subject, body=body)
        return replace(own, end=replace(own.end, commits=(*earlier, said)))

    sessions = (
        record(1),
        record(2),
        committed(3, "Group rows", "Nothing is said.\n\nAn export of entries waits for all now."),
        committed(4, "Count from the first", "A month could be stepped over."),
    )
    found = view(sessions=sessions)
    hint = found.answer("continuity/changes-named").hint
    assert f"commit {tree(3)[:12]} “Group rows”: “An export of entries waits for all now.”" in hint
    assert "withheld" in found.answer("repair/cause-explained").hint
    people = review("ann", "repair", cause_explained="yes")
    opened = view(sessions=sessions, reviews={"repair": (people,)})
    told = opened.answer("repair/cause-explained").hint
    assert "“Count from the first”: “A month could be stepped over.”" in told
    silent = (*sessions[:3], replace(record(4), end=record(4).start))
    opened = view(sessions=silent, reviews={"repair": (people,)})
    assert "neither a commit nor a note" in opened.answer("repair/cause-explained").hint
