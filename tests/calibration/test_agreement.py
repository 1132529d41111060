from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.calibration.compared import (
    Case,
    add_run,
    cases,
    compared_ledger,
    reader_of,
    reconciled,
    the_plan,
    with_controls,
)
from tests.conftest import trialbook
from trialbook.errors import UserError
from trialbook.model.digest import sha256
from trialbook.reporting.agreement import RubricAgreement, agreements

VERDICTS = ("MERGE", "FIX", "REJECT")


def found(root: Path) -> RubricAgreement:
    reader = reader_of(root)
    (one,) = agreements(root, reader, reader.runs())
    return one


def by_item(root: Path, name: str) -> Any:
    runs = [f"refunds/{path.name}" for path in (root / "runs/refunds").iterdir()]
    (one,) = json.loads(trialbook(root, "agreement", *runs, "--json").stdout)
    return next(row for row in one["items"] if row["item"] == name)


def verdicts(table: tuple[tuple[int, ...], ...]) -> list[Case]:
    return [
        Case(people=(VERDICTS[i], VERDICTS[j]))
        for i, row in enumerate(table)
        for j, count in enumerate(row)
        for _ in range(count)
    ]


def answers(table: tuple[tuple[int, int], tuple[int, int]]) -> list[Case]:
    said: tuple[tuple[str, ...], ...] = ((), ("solves",))
    return [
        Case(people=("MERGE", "MERGE"), no=said[i], second=said[j])
        for i, row in enumerate(table)
        for j, count in enumerate(row)
        for _ in range(count)
    ]


def test_the_verdicts_of_the_worked_table(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, verdicts(((8, 2, 0), (1, 4, 1), (0, 1, 3))))
    row = by_item(root, "verdict")
    assert row["n"] == 20
    assert row["table"] == [[8, 2, 0], [1, 4, 1], [0, 1, 3]]
    assert (row["raw"], row["kappa"], row["kappa_linear"]) == (0.75, 0.603175, 0.695122)
    assert (row["kappa_quadratic"], row["ac1"]) == (0.791667, 0.635369)
    assert (row["alpha"], row["alpha_ordinal"]) == (0.612326, 0.787525)
    assert row["needs_rewording"] is True  # 0.75 is below 0.80
    assert row["kappa_interval"]["low"] < 0.603175 < row["kappa_interval"]["high"]


@pytest.mark.parametrize(
    ("table", "raw", "kappa", "ac1", "alpha", "rewording"),
    [
        (((9, 3), (2, 6)), 0.75, 0.489796, 0.511002, 0.501279, True),
        (((17, 1), (2, 0)), 0.85, -0.071429, 0.825835, -0.054054, False),
        pytest.param(
            ((130, 56), (9, 5)),
            0.675,
            0.021968,
            0.532584,
            -0.064,
            True,
            marks=pytest.mark.slow,
        ),
    ],
)
def test_the_answers_of_the_worked_tables(  # noqa: PLR0913 - a row of the table
    tmp_path: Path,
    table: tuple[tuple[int, int], tuple[int, int]],
    raw: float,
    kappa: float,
    ac1: float,
    alpha: float,
    *,
    rewording: bool,
) -> None:
    row = by_item(compared_ledger(tmp_path, answers(table)), "solves")
    assert (row["raw"], row["kappa"], row["ac1"]) == (raw, kappa, ac1)
    assert row["alpha"] == pytest.approx(alpha, abs=5e-4)
    assert row["needs_rewording"] is rewording


def test_identical_answers_define_no_kappa_and_say_so(tmp_path: Path) -> None:
    row = by_item(compared_ledger(tmp_path, answers(((4, 0), (0, 0)))), "solves")
    assert (row["kappa"], row["alpha"], row["because"]) == (None, None, "all answers identical")
    assert row["raw"] == 1.0
    assert row["needs_rewording"] is None


def test_a_question_that_needs_rewording_is_in_no_score(tmp_path: Path) -> None:
    whole = found(compared_ledger(tmp_path / "a", answers(((17, 1), (2, 0)))))
    assert whole.left_out == ()
    part = found(compared_ledger(tmp_path / "b", answers(((9, 3), (2, 6)))))
    assert part.left_out == ("solves",)
    assert sum(one.yes.total for one in part.scores) == 2 * 20  # two questions of three
    assert sum(one.yes.count for one in part.scores) == 2 * 20


def test_what_nobody_settled_is_open_and_not_no(tmp_path: Path) -> None:
    one = found(compared_ledger(tmp_path, answers(((2, 1), (0, 1)))))
    assert sum(score.open for score in one.scores) == 1
    assert sum(score.yes.total for score in one.scores) == 3 * 4 - 1


def test_three_times_ambiguous_makes_a_new_version_due(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, answers(((4, 4), (0, 0))))
    reader = reader_of(root)
    trials = [f"{one.task}/{one.configuration}/r1" for one in reader.trials(reader.runs()[0])]
    reconciled(root, trials[:2], "rubric_ambiguous")
    assert not by_item(root, "solves")["new_version_due"]
    reconciled(root, trials[2:3], "taste")
    assert not by_item(root, "solves")["new_version_due"]
    reconciled(root, trials[3:4], "rubric_ambiguous")
    row = by_item(root, "solves")
    assert (row["ambiguous"], row["new_version_due"]) == (3, True)
    # The originals count, whatever was settled.
    assert row["raw"] == 0.5


def test_sealed_reviews_are_refused(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, [Case(people=("MERGE",))])
    with pytest.raises(UserError, match="sealed"):
        found(root)


def test_repeats_and_controls_say_how_far_a_reviewer_can_be_relied_on(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, [Case(people=("MERGE", "MERGE"))])
    plan = with_controls(the_plan(10, "20261105-080000-bbbb", controls=0.4, repeats=0.2))
    add_run(root, [Case(people=("MERGE", "FIX")) for _ in range(10)], plan)
    reader = reader_of(root)
    (one,) = agreements(root, reader, [reader.runs()[1]])
    ann, ben = one.checks
    assert (ann.repeats.units, ann.repeats.identical) == (2, 2)
    assert (ben.repeats.units, ben.repeats.identical) == (2, 0)
    assert ann.good.total + ann.bad.total == 4
    assert (ann.good.count, ann.bad.count) == (ann.good.total, ann.bad.total)
    assert (ben.good.count, ben.bad.count) == (ben.good.total, 0)
    assert (ann.trials.count, ann.trials.total) == (10, 10)
    assert (ben.trials.count, ben.trials.total) == (0, 10)


@pytest.mark.parametrize(("right", "failed"), [(8, True), (4, False)])
def test_guesses_are_held_against_chance(tmp_path: Path, right: int, *, failed: bool) -> None:
    plan = the_plan(8)
    told = [slot.configuration for slot in plan.schedule]
    other = {"current": "cheap", "cheap": "current"}
    blind = [
        Case(
            people=("MERGE", "MERGE"),
            guesses=(name if number < right else other[name], "unknown"),
        )
        for number, name in enumerate(told)
    ]
    blinding = found(compared_ledger(tmp_path, blind)).blinding
    assert (blinding.guessed.count, blinding.guessed.total) == (right, 8)
    assert blinding.unknown == 8
    assert blinding.chance is not None
    assert float(blinding.chance) == 0.5
    assert blinding.failed is failed


def test_two_versions_of_a_rubric_are_never_counted_together(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, answers(((2, 0), (0, 2))))
    text = (root / "rubrics/merge/v1.md").read_text().replace("version: 1", "version: 2")
    (root / "rubrics/merge/v2.md").write_text(text)
    plan = the_plan(4, "20261105-080000-bbbb")
    assert plan.judgement is not None
    judgement = replace(plan.judgement, rubric="merge@2", rubric_sha256=sha256(text.encode()))
    add_run(root, cases((2, 2), (2, 2)), replace(plan, judgement=judgement))
    reader = reader_of(root)
    both = agreements(root, reader, reader.runs())
    assert [one.rubric.reference for one in both] == ["merge@1", "merge@2"]
    assert [one.items[0].found.units for one in both] == [4, 4]
    text = trialbook(root, "agreement", *(run.path for run in reader.runs())).stdout
    assert "merge@1: Would you merge it?" in text
    assert "merge@2: Would you merge it?" in text
