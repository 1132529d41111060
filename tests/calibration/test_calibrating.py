from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.calibration.compared import (
    IDENTITY,
    Case,
    add_run,
    cases,
    compare,
    compared_ledger,
    note_all,
    reader_of,
    the_plan,
)
from tests.conftest import trialbook
from trialbook.errors import UserError
from trialbook.model.calibration import Draw
from trialbook.model.judgement import Trusted
from trialbook.model.trust import TrustLevel
from trialbook.storage.trust import trust_of
from trialbook.system import System
from trialbook.workflow.calibrating import CalibrationRequest, calibrate


def trusted(root: Path, now: datetime | None = None) -> Trusted:
    when = now or datetime.now(UTC)
    return trust_of(root, reader_of(root), IDENTITY, "merge@1", when)


def test_the_worked_example_of_twenty_labels(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((11, 12), (6, 8)))
    numbers = compare(root).compared.numbers
    errors = numbers.errors
    assert (errors.true_accepts, errors.false_rejects) == (11, 1)
    assert (errors.false_accepts, errors.true_rejects) == (2, 6)
    assert numbers.critical_false_accepts == ()
    assert [one.name for one in numbers.unmet if one.level is TrustLevel.ADVISORY] == ["notes"]
    assert len(numbers.disagreements) == 3
    assert numbers.repeated.runs == 3


def test_every_disagreement_needs_a_note_before_the_judge_is_advisory(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((11, 12), (6, 8)))
    first = compare(root)
    assert first.record is not None
    assert first.record.numbers.level is TrustLevel.UNCALIBRATED
    assert trusted(root).level is TrustLevel.UNCALIBRATED
    disputed = first.record.numbers.disagreements
    some = compare(root, notes={disputed[0]: "It missed the second file."})
    assert some.record is not None
    assert some.record.numbers.noted == 1
    # What is noted already stays noted.
    rest = compare(root, notes=dict.fromkeys(disputed[1:], "People were right."))
    assert rest.record is not None
    assert rest.record.numbers.noted == 3
    assert rest.record.numbers.level is TrustLevel.ADVISORY
    found = trusted(root)
    assert (found.level, found.calibration) == (TrustLevel.ADVISORY, rest.record.id)
    assert "to be gating it lacks: labelled diffs: 20; needed are 60" in found.because


def test_the_same_comparison_is_put_on_record_once(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((8, 8), (8, 8)))
    first, again = compare(root), compare(root)
    assert first.commit is not None
    assert again.commit is None
    assert again.record == first.record


def test_a_note_is_about_a_disagreement(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((2, 2), (2, 2)))
    with pytest.raises(UserError, match="do not differ"):
        compare(root, notes={"refunds/x/y/z/r1": "no"})


@pytest.mark.slow
def test_sixty_labels_with_enough_repeats_make_a_judge_gating_for_ninety_days(
    tmp_path: Path,
) -> None:
    root = compared_ledger(tmp_path, cases((28, 30), (28, 30)))
    record = note_all(root)
    assert record.numbers.level is TrustLevel.GATING
    assert record.numbers.unmet == ()
    assert trusted(root).level is TrustLevel.GATING
    now = datetime.now(UTC)
    assert trusted(root, now + timedelta(days=89)).level is TrustLevel.GATING
    late = trusted(root, now + timedelta(days=91))
    assert late.level is TrustLevel.ADVISORY
    assert "91 days ago; needed is at most 90" in late.because
    # Before it was made, nobody knew of it.
    assert trusted(root, now - timedelta(days=1)).level is TrustLevel.UNCALIBRATED
    # Another note and another seed are another record, and nothing was compared anew.
    later = System(now=lambda: now + timedelta(days=91))
    notes = {record.numbers.disagreements[0]: "Looked at once more."}
    renewed = compare(root, system=later, notes=notes, seed="another")
    assert renewed.commit is not None
    late = trusted(root, now + timedelta(days=91, hours=1))
    assert late.level is TrustLevel.ADVISORY
    assert "91 days ago; needed is at most 90" in late.because
    # With new labels, something was.
    add_run(root, cases((1, 1), (1, 1)), the_plan(2, "20261105-080000-bbbb"))
    after = System(now=lambda: now + timedelta(days=91, minutes=1))
    assert compare(root, system=after, seed="another").commit is not None
    assert trusted(root, now + timedelta(days=91, hours=1)).level is TrustLevel.GATING


@pytest.mark.slow
def test_twenty_seven_of_thirty_are_not_enough(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((30, 30), (27, 30)))
    record = note_all(root)
    assert record.numbers.level is TrustLevel.ADVISORY
    assert [one.name for one in record.numbers.unmet] == ["tnr"]
    assert "0.761" in record.numbers.unmet[0].message


@pytest.mark.slow
def test_a_judge_that_was_asked_once_of_each_change_is_not_gating(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((30, 30), (30, 30), votes=1))
    assert [one.name for one in note_all(root).numbers.unmet] == ["repeats"]


@pytest.mark.slow
def test_a_judge_that_wavers_is_not_gating(tmp_path: Path) -> None:
    found = cases((30, 30), (30, 30))
    for number in range(4):
        found[number] = Case(people=("MERGE", "MERGE"), votes=("MERGE", "MERGE", "FIX"))
    root = compared_ledger(tmp_path, found)
    (unmet,) = note_all(root).numbers.unmet
    assert unmet.name == "identical"
    assert unmet.message.startswith("56 of 60 diffs")


@pytest.mark.slow
def test_one_critical_false_accept_is_one_too_many(tmp_path: Path) -> None:
    found = cases((30, 30), (29, 30), no="solves")
    found[-1] = Case(people=("REJECT", "REJECT"), votes=("MERGE",) * 3, no=("safe",))
    root = compared_ledger(tmp_path, found)
    record = note_all(root)
    assert len(record.numbers.critical_false_accepts) == 1
    assert record.numbers.level is TrustLevel.UNCALIBRATED
    assert trusted(root).level is TrustLevel.UNCALIBRATED


@pytest.mark.slow
def test_another_identity_is_not_trusted(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((30, 30), (30, 30)))
    note_all(root)
    other = replace(IDENTITY, model="scripted-2", sha256="cd" * 32)
    found = trust_of(root, reader_of(root), other, "merge@1", datetime.now(UTC))
    assert found.level is TrustLevel.UNCALIBRATED
    assert "never calibrated as it is now" in found.because
    renamed = replace(IDENTITY, judge="stricter")
    found = trust_of(root, reader_of(root), renamed, "merge@1", datetime.now(UTC))
    assert found.level is TrustLevel.GATING


def test_the_sample_is_drawn_by_the_seed_and_by_turns(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((25, 25), (5, 5)))
    drawn = compare(root, 10)
    accepted = [one.accepted for one in drawn.compared.labels]
    assert accepted.count(True) == 5
    again = compare(root, 10)
    assert again.compared.labels == drawn.compared.labels


@pytest.mark.slow
def test_nobody_gets_rid_of_a_label_by_drawing_again(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((15, 20), (15, 20)))
    first = {one.trial for one in compare(root, 12).compared.labels}
    second = compare(root, 12, seed="another").compared
    assert {one.trial for one in second.labels} == first
    third = compare(root, 20, seed="another").compared
    assert first < {one.trial for one in third.labels}


def test_prediction_powered_rates_need_a_plain_draw_that_nobody_chose(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((20, 24), (12, 16)))
    even = compare(root, 20).compared.numbers
    assert {one.method for one in even.rates} == {"Rogan-Gladen, Lee et al."}


def test_plain_draws_allow_prediction_powered_rates(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((20, 24), (12, 16)))
    plain = compare(root, 20, draw=Draw.PLAIN).compared
    assert plain.drawn.at_random
    (powered,) = [one for one in plain.numbers.rates if one.method == "prediction-powered"]
    assert powered.rate is not None
    chosen = compare(root, 30, draw=Draw.PLAIN, seed="mine").compared
    assert not chosen.drawn.at_random
    (refused,) = [one for one in chosen.numbers.rates if one.method == "prediction-powered"]
    assert refused.rate is None
    assert "not drawn at random" in refused.because


def test_rates_are_given_by_configuration(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((20, 24), (12, 16)))
    numbers = compare(root, 20).compared.numbers
    assert sorted(numbers.by_configuration) == ["refunds/cheap", "refunds/current"]
    assert [one.configuration for one in numbers.rates] == [
        "",
        "refunds/cheap",
        "refunds/current",
    ]
    assert sum(one.judged for one in numbers.rates[1:]) == numbers.rates[0].judged == 20


def test_what_reviewers_do_not_agree_on_is_no_label(tmp_path: Path) -> None:
    found = cases((4, 4), (4, 4))
    found[0] = Case(people=("MERGE", "FIX"), votes=("MERGE",) * 3)
    root = compared_ledger(tmp_path, found)
    done = compare(root)
    assert len(done.compared.labels) == 7
    assert len(done.compared.drawn.waiting) == 1
    (waiting,) = done.to_review
    assert not waiting.sealed


def test_sealed_reviews_are_not_looked_at(tmp_path: Path) -> None:
    found = [Case(people=("MERGE",), votes=("MERGE",) * 3) for _ in range(4)]
    root = compared_ledger(tmp_path, found)
    done = compare(root)
    assert done.record is None
    assert done.commit is None
    (waiting,) = done.to_review
    assert waiting.sealed
    assert waiting.packets == {}
    assert len(done.compared.drawn.waiting) == 4


def test_one_reviewer_is_enough_where_the_plan_asks_for_one(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((4, 4), (4, 4)), reviewers=1)
    labels = compare(root).compared.labels
    assert [one.people for one in labels] == [1] * 8


def test_a_judge_that_judged_nothing_is_named_with_the_next_step(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((1, 1), (1, 1)))
    with pytest.raises(UserError, match="no judge 'strct'"):
        calibrate(root, System(), CalibrationRequest(judge="strct", rubric="merge@1"))


@pytest.mark.slow
def test_the_command_prints_the_worked_numbers(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((11, 12), (6, 8)))
    others = [Case(people=(), votes=("MERGE" if number < 70 else "FIX",)) for number in range(100)]
    plan = replace(the_plan(100, "20261105-080000-bbbb"), judgement=None)
    add_run(root, others, plan)
    first = compare(root)
    assert (len(first.compared.judged), first.compared.asked) == (120, 20)
    told = trialbook(root, "calibrate", "strict", "--rubric", "merge@1").stdout
    for line in (
        "agreement 17/20 (85.0 %)",
        "kappa     0.681",
        "TPR       11/12 (91.7 %) [61.5 %, 99.8 %] Clopper-Pearson",
        "TNR       6/8 (75.0 %) [34.9 %, 96.8 %] Clopper-Pearson",
        "a difference between two configurations is not corrected by these rates",
        "for advisory  notes: 0 of 3 disagreements have a person's written note; each needs one",
        "rate      not shown: an uncalibrated judge's rate cannot be corrected",
    ):
        assert line in told
    notes = dict.fromkeys(first.compared.numbers.disagreements, "Read.")
    compare(root, notes=notes)
    told = trialbook(root, "calibrate", "strict", "--rubric", "merge@1").stdout
    assert "trust     advisory" in told
    assert "rate      all: 70/100 accepted, corrected 67.5 % [38.5 %, 100.0 %]" in told
    plain = compare(root, draw=Draw.PLAIN).compared
    # Of most changes nobody is asked, so the labelled ones do not speak for them.
    assert not plain.drawn.at_random
