"""Reviews: of packets that there are, by the rubric of the plan, once; and what settles them."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.review.desk import judgement
from tests.verify.book import BASE, RUN, SUITE, Book, Recipe, make

from trialbook.formats.authored_text import to_yaml
from trialbook.formats.records import plain
from trialbook.model.digest import sha256
from trialbook.model.packets import Packets
from trialbook.model.review import (
    Answer,
    MoveReason,
    Original,
    Quoted,
    Reconciliation,
    Review,
    Settled,
)
from trialbook.model.rubric import AnswerKind
from trialbook.model.runfiles import reconciliation_path, review_path
from trialbook.storage.reader import Reader, RunRef
from trialbook.workflow.results import regenerate

TRIAL = "small/new/r1"
ID = "20261130T190000Z-abcdef"
TIME = "2026-11-30T18:00:00.000Z"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An honest ledger whose plan asks two people; made once."""
    recipe = Recipe(
        plan=lambda plan: replace(
            plan, accept="checks and review:merge", judgement=judgement(third="zoe")
        )
    )
    return make(tmp_path_factory.mktemp("asked") / "ledger", recipe).root


@pytest.fixture
def book(asked: Path, tmp_path: Path) -> Book:
    shutil.copytree(asked, tmp_path / "copy", symlinks=True)
    return Book(tmp_path / "copy")


def packets(book: Book) -> Packets:
    reader = Reader.open(book.root)
    run = RunRef(SUITE, RUN)
    data = reader.plan_bytes(run)
    return Packets(
        plan=reader.plan(run), plan_sha256=sha256(data), trials=tuple(reader.trials(run))
    )


def review(
    book: Book, who: str, *, answer: str = "yes", verdict: str = "MERGE", **changes: Any
) -> Review:
    packet = next(one for one in packets(book).of(who) if one.item.trial == TRIAL)
    found = Review(
        run=f"{SUITE}/{RUN}",
        packet=packet.id,
        reviewer=who,
        rubric="small@1",
        rubric_sha256=judgement().rubric_sha256,
        started=TIME,
        answers=(Answer(question="solves", answer=AnswerKind(answer), evidence=("app.py:1",)),),
        verdict=verdict,
        minutes=3,
        submitted=TIME,
    )
    return replace(found, **changes)


def as_file(review: Review) -> dict[str, bytes]:
    return {f"{BASE}/{review_path(review.reviewer, review.packet)}": to_yaml(plain(review))}


def settlement(reviews: Mapping[str, Review], /, **changes: Any) -> dict[str, bytes]:
    item = Settled(
        item="solves",
        answers=tuple(
            Quoted(reviewer=name, answer=one.answers[0].answer.value, evidence=("app.py:1",))
            for name, one in reviews.items()
        ),
        final="yes",
        moved=("bob",),
        reason=MoveReason.MISSED_FACT,
        text="It does.",
    )
    verdict = replace(
        item,
        item="verdict",
        answers=tuple(
            Quoted(reviewer=name, answer=str(one.verdict)) for name, one in reviews.items()
        ),
        final="MERGE",
    )
    record = Reconciliation(
        id=ID,
        run=f"{SUITE}/{RUN}",
        trial=TRIAL,
        rubric="small@1",
        rubric_sha256=judgement().rubric_sha256,
        reviews=tuple(
            Original(
                reviewer=name, packet=one.packet, sha256=sha256(next(iter(as_file(one).values())))
            )
            for name, one in reviews.items()
        ),
        participants=("ann", "bob"),
        items=(item, verdict),
        minutes=5,
        created=TIME,
    )
    record = replace(record, **changes)
    return {f"{BASE}/{reconciliation_path(TRIAL, ID)}": to_yaml(plain(record))}


def both(book: Book) -> dict[str, Review]:
    """Two reviews that differ, committed."""
    found = {"ann": review(book, "ann"), "bob": review(book, "bob", answer="no", verdict="FIX")}
    for one in found.values():
        book.commit(as_file(one))
    return found


def test_honest_reviews_and_their_settlement_are_no_fault(book: Book) -> None:
    assert book.codes() == set()
    book.commit(settlement(both(book)))
    assert book.codes() == set()


def test_results_made_after_the_settlement_are_those_of_its_records(book: Book) -> None:
    reviews = both(book)
    book.commit(settlement(reviews))
    made = regenerate(Reader.open(book.root), RunRef(SUITE, RUN))
    assert b"MERGE" in made["results.csv"]


def test_a_review_that_was_changed_is_found(book: Book) -> None:
    one = review(book, "ann")
    book.commit(as_file(one))
    book.commit(as_file(replace(one, verdict="REJECT")))
    assert book.codes() == {"review-changed"}


def test_a_review_that_was_taken_away_is_found(book: Book) -> None:
    one = review(book, "ann")
    book.commit(as_file(one))
    book.commit(dict.fromkeys(as_file(one)))
    assert book.codes() == {"record-removed"}


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"packet": "0123456789ab"}, "review-unknown"),
        ({"rubric_sha256": "0" * 64}, "review-rubric"),
        ({"rubric": "small@2"}, "review-rubric"),
        ({"run": "demo/other"}, "record-misplaced"),
    ],
)
def test_a_review_of_something_else_is_found(
    book: Book, changes: dict[str, str], code: str
) -> None:
    book.commit(as_file(review(book, "ann", **changes)))
    assert book.codes() == {code}


def test_a_review_in_another_persons_folder_is_found(book: Book) -> None:
    one = review(book, "ann")
    (data,) = as_file(one).values()
    book.commit({f"{BASE}/{review_path('bob', one.packet)}": data})
    assert book.codes() == {"record-misplaced", "review-unknown"}


def test_a_review_by_who_decides_is_found(book: Book) -> None:
    book.commit(as_file(review(book, "zoe")))
    assert book.codes() == {"review-unknown"}


def test_a_review_of_a_run_that_asks_nobody_is_found(
    pristine: Path, book: Book, tmp_path: Path
) -> None:
    one = review(book, "ann")
    shutil.copytree(pristine, tmp_path / "nobody", symlinks=True)
    other = Book(tmp_path / "nobody")
    other.commit(as_file(one))
    assert other.codes() == {"review-unknown"}


def test_a_review_that_is_none_is_found(book: Book) -> None:
    one = review(book, "ann")
    book.commit(dict.fromkeys(as_file(one), b"verdict: MERGE\n"))
    assert book.codes() == {"record-unreadable"}


def test_a_packet_that_was_repeated_without_being_asked_is_found(book: Book) -> None:
    known = packets(book)
    again = next(
        one for one in known.every("ann").values() if one.repeat and one.item.trial == TRIAL
    )
    one = review(book, "ann")
    book.commit(as_file(one))
    book.commit(as_file(replace(one, packet=again.id, verdict="REJECT")))
    assert book.codes() == {"review-twice"}


def test_two_reviews_of_one_packet_on_two_branches_are_found(book: Book) -> None:
    start = book.head
    first = book.commit(as_file(review(book, "ann")))
    second = book.commit(as_file(review(book, "ann", verdict="REJECT")), parents=[start])
    for kept in (first, second):
        other = second if kept == first else first
        book.commit({}, parents=[kept, other])
        assert book.codes() == {"review-twice"}
    book.commit(as_file(review(book, "ann", verdict="FIX")), parents=[first, second])
    assert book.codes() == {"review-twice"}


def test_reviews_of_two_people_on_two_branches_are_no_fault(book: Book) -> None:
    start = book.head
    ann, bob = review(book, "ann"), review(book, "bob")
    first = book.commit(as_file(ann))
    second = book.commit(as_file(bob), parents=[start])
    book.commit(as_file(bob), parents=[first, second])
    assert book.codes() == set()


def test_a_settlement_without_both_reviews_is_found(book: Book) -> None:
    reviews = {"ann": review(book, "ann"), "bob": review(book, "bob", answer="no", verdict="FIX")}
    book.commit(as_file(reviews["ann"]))
    book.commit(settlement(reviews))
    assert "reconciliation-early" in book.codes()


def test_a_settlement_that_came_before_a_review_is_found(book: Book) -> None:
    reviews = {"ann": review(book, "ann"), "bob": review(book, "bob", answer="no", verdict="FIX")}
    book.commit(as_file(reviews["ann"]))
    book.commit(settlement(reviews))
    book.commit(as_file(reviews["bob"]))
    assert book.codes() == {"reconciliation-early"}


def test_a_settlement_that_quotes_what_nobody_said_is_found(book: Book) -> None:
    reviews = both(book)
    lie = {
        **reviews,
        "ann": replace(
            reviews["ann"],
            answers=(replace(reviews["ann"].answers[0], answer=AnswerKind.NOT_APPLICABLE),),
        ),
    }
    originals = tuple(
        Original(reviewer=name, packet=one.packet, sha256=sha256(next(iter(as_file(one).values()))))
        for name, one in reviews.items()
    )
    book.commit(settlement(lie, reviews=originals))
    assert book.codes() == {"reconciliation-differs"}


@pytest.mark.parametrize(
    "change",
    [
        {"rubric_sha256": "0" * 64},
        {"trial": "small/current/r1"},
        {"id": "20261130T190000Z-000000"},
    ],
)
def test_a_settlement_of_something_else_is_found(book: Book, change: dict[str, str]) -> None:
    book.commit(settlement(both(book), **change))
    assert book.codes() & {"review-rubric", "record-misplaced"}


def test_a_settlement_of_what_nobody_disputes_is_found(book: Book) -> None:
    reviews = {"ann": review(book, "ann"), "bob": review(book, "bob")}
    for one in reviews.values():
        book.commit(as_file(one))
    book.commit(settlement(reviews))
    assert book.codes() == {"reconciliation-differs"}


def test_a_third_person_that_the_plan_does_not_name_is_found(book: Book) -> None:
    reviews = both(book)
    (path, data), *_ = settlement(reviews).items()
    text = data.decode().replace("final: MERGE", "final: MERGE\n    third: max", 1)
    text = text.replace('"third": null', '"third": "max"')
    assert "max" in text
    book.commit({path: text.encode()})
    assert book.codes() & {"reconciliation-differs", "record-unreadable"}
