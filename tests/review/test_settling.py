from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import git, trialbook
from tests.review.desk import (
    RUN,
    YAK,
    ZEBRA,
    a_desk,
    editor,
    review_all,
    reviewed_ledger,
    settled,
)

from trialbook.errors import UserError
from trialbook.model.outcome import Outcome
from trialbook.model.review import Agreed
from trialbook.reporting.costs import costs
from trialbook.reporting.results import load_results
from trialbook.storage.corrections import standing, standings
from trialbook.storage.reader import Reader
from trialbook.storage.rows import rows
from trialbook.workflow.reconciling import Table

FIRST = f"create-user/{ZEBRA}/r1"


def outcomes(root: Path) -> dict[str, Outcome]:
    reader = Reader.open(root)
    return {one.record.path: one.trial.outcome for one in standings(reader, RUN)}


def a_table(root: Path) -> Table:
    return Table(a_desk(root), RUN)


def settle_all(root: Path, **finals: str) -> None:
    table = a_table(root)
    for opened in table.waiting():
        table.lay_out(opened)
        form = opened.draft.form
        form.write_text(settled(form.read_text(), **finals))
        table.settle(opened, form)


def test_nobody_sees_or_counts_anything_before_all_are_in(tmp_path: Path) -> None:
    root = reviewed_ledger(tmp_path / "ledger")
    review_all(root, "ann", verdict="FIX", narrow="no")
    assert set(outcomes(root).values()) == {Outcome.NEEDS_REVIEW, Outcome.REJECTED}
    with pytest.raises(UserError, match="are sealed") as caught:
        a_table(root).waiting()
    assert "ann is in" in caught.value.message
    shown = trialbook(root, "show", f"{RUN.run}/{FIRST}").stdout
    assert "sealed" in shown
    assert "FIX" not in shown
    assert json.loads(trialbook(root, "show", f"{RUN.run}/{FIRST}", "--json").stdout)[
        "reviews"
    ] == {"sealed": True}
    trialbook(root, "site", "build")
    page = next((root / "site/_build").rglob(f"{ZEBRA}/r1*.html"), None) or next(
        path for path in (root / "site/_build").rglob("*.html") if ZEBRA in str(path)
    )
    assert "sealed" in page.read_text()
    assert "No test." not in page.read_text()
    done = trialbook(root, "reconcile", RUN.run, check=2)
    assert "sealed" in done.stderr


def test_equal_verdicts_decide_what_the_checks_leave_to_people(tmp_path: Path) -> None:
    root = reviewed_ledger(tmp_path / "ledger")
    review_all(root, "ann")
    review_all(root, "bob")
    assert sorted(outcomes(root).values()) == sorted([Outcome.ACCEPTED] * 3 + [Outcome.REJECTED])
    found = standing(Reader.open(root), RUN, FIRST)
    assert found.reviewed is not None
    assert (found.reviewed.agreed, found.reviewed.verdict) == (Agreed.EQUAL, "MERGE")
    assert found.record.outcome is Outcome.NEEDS_REVIEW
    assert not found.changed
    short = {row.slot.trial_path(row.rerun): row for row in rows(Reader.open(root), RUN)}
    assert {path: row.outcome for path, row in short.items()} == outcomes(root)
    assert not any(row.corrected for row in short.values())
    assert "review MERGE" in found.trial.reason
    done = trialbook(root, "reconcile", RUN.run)
    assert "nothing is left on which the reviewers differ" in done.stdout
    csv = next((root / "runs" / RUN.path / "results").glob("*/results.csv")).read_text()
    assert csv.count(",accepted,yes,yes") == 3


def test_equal_verdicts_against_it_reject(tmp_path: Path) -> None:
    root = reviewed_ledger(tmp_path / "ledger")
    review_all(root, "ann", verdict="FIX", narrow="no")
    review_all(root, "bob", verdict="FIX", narrow="no")
    assert set(outcomes(root).values()) == {Outcome.REJECTED}


@pytest.mark.slow
def test_what_reviewers_differ_on_is_open_until_it_is_settled(tmp_path: Path) -> None:
    root = reviewed_ledger(tmp_path / "ledger")
    review_all(root, "ann")
    review_all(root, "bob", verdict="FIX", narrow="no")
    assert outcomes(root)[FIRST] is Outcome.NEEDS_REVIEW
    settle_all(root)
    assert outcomes(root)[FIRST] is Outcome.ACCEPTED
    found = standing(Reader.open(root), RUN, FIRST).reviewed
    assert found is not None
    assert found.agreed is Agreed.RECONCILED
    item = found.settled("narrow")
    assert item is not None
    assert (item.final, item.moved, item.reason.value) == ("yes", ("bob",), "missed_fact")
    assert [one.answer("narrow") for one in found.reviews] == ["yes", "no"]
    assert a_table(root).waiting() == []


@pytest.mark.slow
def test_what_cannot_be_settled_is_unresolved_and_never_no(tmp_path: Path) -> None:
    root = reviewed_ledger(tmp_path / "ledger")
    review_all(root, "ann")
    review_all(root, "bob", verdict="FIX", narrow="no")
    settle_all(root, narrow="unresolved", verdict="unresolved")
    assert outcomes(root)[FIRST] is Outcome.NEEDS_REVIEW
    found = standing(Reader.open(root), RUN, FIRST).reviewed
    assert found is not None
    assert (found.agreed, found.verdict) == (Agreed.UNRESOLVED, None)
    assert a_table(root).waiting() == []


def test_a_third_reviewer_decides_only_where_the_plan_names_one(tmp_path: Path) -> None:
    root = reviewed_ledger(tmp_path / "ledger", third="zoe")
    review_all(root, "ann")
    review_all(root, "bob", verdict="FIX", narrow="no")
    with pytest.raises(UserError, match="third reviewer"):
        a_desk(root).next("zoe", RUN)
    table = a_table(root)
    opened = table.waiting()[0]
    table.lay_out(opened)
    text = settled(opened.draft.form.read_text())
    wrong = text.replace("reason:", "third: max\n    reason:", 1)
    opened.draft.form.write_text(wrong)
    assert any("max may not decide" in str(one) for one in table.check(opened, opened.draft.form))
    opened.draft.form.write_text(text.replace("reason:", "third: zoe\n    reason:", 1))
    record = table.settle(opened, opened.draft.form).record
    assert record.items[0].third == "zoe"
    assert record.items[0].moved == ()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ('final: "yes"', "final: perhaps", "is no answer to `narrow`"),
        ('final: "yes"', "final:", "has no value"),
        ("reason: missed_fact", "reason: mood", "must be missed_fact"),
        ("text: It is needed.", "text:", "has no value"),
        ('answer: "no"', 'answer: "yes"', "are not those of the reviews"),
        ("item: narrow", "item: solves", "do not differ on it"),
        ("participants: [ann, bob]", "participants: [ann, eve]", "eve has not reviewed this"),
        ("reviewer: ann\n    packet", "reviewer: eve\n    packet", "not what the form came with"),
        ("  - item: verdict", "  - item: narrow", "`verdict` is not settled"),
        ("minutes:", "minuts:", "unknown key"),
        ("rubric: small@1", "rubric: small@2", "not what the form came with"),
        ("participants: [ann, bob]", "participants: ann", "must be a list"),
    ],
)
def test_a_settlement_that_is_broken_by_hand_is_told_by_line(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    root = reviewed_ledger(tmp_path / "ledger")
    review_all(root, "ann")
    review_all(root, "bob", verdict="FIX", narrow="no")
    table = a_table(root)
    opened = table.waiting()[0]
    table.lay_out(opened)
    text = settled(opened.draft.form.read_text())
    assert old in text
    opened.draft.form.write_text(text.replace(old, new, 1))
    problems = [one for one in table.check(opened, opened.draft.form) if expected in str(one)]
    assert problems
    assert all(one.line > 1 for one in problems)
    with pytest.raises(UserError):
        table.settle(opened, opened.draft.form)
    assert opened.draft.there


@pytest.mark.slow
def test_the_forms_do_not_say_which_configuration_it_is(tmp_path: Path) -> None:
    root = reviewed_ledger(tmp_path / "ledger")
    review_all(root, "ann")
    review_all(root, "bob", verdict="FIX", narrow="no")
    table = a_table(root)
    for opened in table.waiting():
        table.lay_out(opened)
        for path in opened.draft.folder.iterdir():
            text = path.read_text()
            assert ZEBRA not in text
            assert YAK not in text


@pytest.mark.slow
def test_reconciling_at_the_editor_goes_through_all_and_makes_the_results_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = reviewed_ledger(tmp_path / "ledger", usd_per_hour=60.0)
    review_all(root, "ann", minutes="30")
    review_all(root, "bob", verdict="FIX", narrow="no", minutes="15")
    top = str(Path(__file__).resolve().parents[2])
    body = (
        f"sys.path.insert(0, {top!r})\nfrom tests.review.desk import settled\n"
        "path.write_text(settled(path.read_text(), minutes='10'))\n"
    )
    monkeypatch.setenv("EDITOR", editor(tmp_path, "settling.py", body))
    done = trialbook(root, "reconcile", RUN.run)
    assert done.stdout.count("settled  narrow: yes, verdict: MERGE") == 3
    assert "results  runs/" in done.stdout
    report = next((root / "runs" / RUN.path / "results").glob("*/report.md")).read_text()
    # 3 x (30 + 15) minutes alone, and 3 x 10 minutes of two people together.
    assert "People reviewed for 195 minutes: $195.00 at $60.00 an hour" in report
    rows = (root / "runs" / RUN.path / "results").glob("*/results.csv")
    text = next(rows).read_text()
    assert "MERGE,65" in text
    found = {one.configuration: one for one in costs(load_results(Reader.open(root), RUN))}
    assert (found[ZEBRA].reviews, found[ZEBRA].review_minutes) == (4, 130)
    assert str(found[YAK].review_usd) == "65.0"
    assert found[ZEBRA].spend is None
    again = trialbook(root, "reconcile", RUN.run)
    assert "nothing is left" in again.stdout


@pytest.mark.slow
def test_a_form_that_is_filled_in_elsewhere_goes_on_record(tmp_path: Path) -> None:
    root = reviewed_ledger(tmp_path / "ledger")
    review_all(root, "ann")
    review_all(root, "bob", verdict="FIX", narrow="no")
    done = trialbook(root, "reconcile", RUN.run, "--no-edit")
    _, name, form = done.stdout.splitlines()[0].split()
    file = tmp_path / "mine.yaml"
    file.write_text(settled(Path(form).read_text()))
    said = trialbook(root, "reconcile", RUN.run, "--file", str(file), check=2)
    assert "which packet" in said.stderr
    # Nobody saw how long that took, and it is not taken for no time at all.
    told = ("reconcile", RUN.run, "--file", str(file), "--packet", name)
    assert "`minutes` is empty" in trialbook(root, *told, check=2).stderr
    file.write_text(file.read_text().replace("minutes:", "minutes: 4"))
    done = trialbook(root, *told)
    assert "left     2 packets" in done.stdout
    assert git(root, "show", "--name-only", "--format=", "HEAD").count("\n") == 1


def test_a_run_that_is_not_closed_is_not_reviewed_yet(tmp_path: Path) -> None:
    root = reviewed_ledger(tmp_path / "ledger", closed=False)
    assert a_desk(root).next("ann") is None
    with pytest.raises(UserError, match="not closed yet"):
        a_desk(root).next("ann", RUN)


@pytest.mark.slow
def test_reviews_that_are_open_take_no_more_answers(tmp_path: Path) -> None:
    root = reviewed_ledger(tmp_path / "ledger")
    review_all(root, "ann")
    review_all(root, "bob")
    with pytest.raises(UserError, match="would not be independent"):
        a_desk(root).next("cy", RUN)
    assert a_desk(root).next("cy") is None


@pytest.mark.slow
def test_an_open_page_shows_the_reviews(tmp_path: Path) -> None:
    root = reviewed_ledger(tmp_path / "ledger")
    review_all(root, "ann")
    review_all(root, "bob", verdict="FIX", narrow="no")
    settle_all(root)
    trialbook(root, "site", "build")
    pages = [p.read_text() for p in (root / "site/_build").rglob("*.html")]
    assert sum("bob moved (missed fact). It is needed." in page for page in pages) == 3


def test_the_minutes_of_sealed_reviews_are_not_counted_yet(tmp_path: Path) -> None:
    root = reviewed_ledger(tmp_path / "ledger")
    review_all(root, "ann", minutes="30")
    found = costs(load_results(Reader.open(root), RUN))
    assert [one.review_minutes for one in found] == [0, 0]
