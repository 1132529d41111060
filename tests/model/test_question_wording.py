from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.model.question_wording import question_faults

NO_WHEN = "A test was removed and no reason is given."


def said(text: str, no_when: str = NO_WHEN, **more: str) -> list[str]:
    return [one.message for one in question_faults({"text": text, "no_when": no_when, **more})]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("Is this how I prefer it?", "I prefer"),
        ("Is it as I'd like it to be?", "I'd like"),
        ("Is the solution nice?", "nice"),
        ("Is the code Elegant?", "Elegant"),
        ("Is it solved with elegance?", "elegance"),
        ("Is it good in my opinion?", "in my opinion"),
        ("To your taste, is it short?", "To your taste"),
        ("Does the module feel right?", None),
        ("Is there nothing that feels off?", "feels"),
        ("Does the diff look good?", "look good"),
        ("Is it clean code?", "clean code"),
        ("Is the result cleaner than before?", "cleaner"),
        ("Would you personally keep it?", "personally"),
        ("Is the loop pythonic?", "pythonic"),
        ("Is no part of it ugly?", "ugly"),
        ("Is the fix neat\n  and beautiful?", "neat"),
    ],
)
def test_a_question_of_taste_is_refused(text: str, words: str | None) -> None:
    found = said(text)
    assert found
    shown = words or "feel"
    assert f"`{shown}` asks for taste" in found[0]


@pytest.mark.parametrize(
    "text",
    [
        "Did the author intend to change the format?",
        "Is this what the author really wanted?",
        "Is the agent's intent visible?",
        "Does it do what they thought it does?",
        "Is the intention of the developer met?",
        "Did the author\u2019s thinking lead here?",
        "Does the change show that the engineer understood the problem?",
    ],
)
def test_a_question_about_what_somebody_thought_is_refused(text: str) -> None:
    found = said(text)
    assert any("somebody's head" in one for one in found), found


@pytest.mark.parametrize(
    "text",
    [
        "Is it tested? Is it documented?",
        "Is it tested and/or documented?",
        "Is it tested, and is it documented?",
        "Does it pass or does it at least fail loudly?",
        "Are tests kept, and have their names stayed?",
    ],
)
def test_two_questions_in_one_are_refused(text: str) -> None:
    assert said(text) == ["these are two questions in one, and an answer would not say to which"]


def test_what_yes_or_no_cannot_answer_is_refused() -> None:
    assert said("The change is small.") == ["this is not a question"]
    assert said("How large is the change?") == [
        "a question that begins with `How` has no yes or no"
    ]
    assert said("which helpers are used?")
    assert said("When was the cache emptied?")


@pytest.mark.parametrize(
    "no_when",
    [
        "otherwise",
        "No.",
        "if not",
        "It is not.",
        "-",
        "n/a",
        "the answer is no",
        "if that is not so",
        "are all tests kept",
        "TODO",
        "...",
    ],
)
def test_a_no_when_that_says_nothing_is_refused(no_when: str) -> None:
    assert said("Are all tests kept?", no_when) == ["this does not say what makes the answer no"]


@pytest.mark.parametrize(
    "text",
    [
        "Does the diff keep every test?",
        "Are tests and documentation changed together?",
        "Is the work tree clean after the last step?",
        "Is `nice()` called before `renice()`?",
        'Does the message say "I prefer tabs"?',
        "Does the author of a commit stay the same?",
        "Is the neatest-looking helper unused?",
        "Does the worker exit cleanly after a signal?",
        "Is the cache cleaner still called at night?",
        "Is personally identifiable information left out of the log?",
        "Are personal preferences of a user kept?",
        "Is every helper that was there and is still needed left alone?",
        "Where a test was removed, is a reason given?",
        "When the cache is empty, does the first request still answer?",
        "Does the agent's reasoning name the cause?",
        "Is niceness of the process left alone?",
        "Does the meaning of the option stay the same?",
        "Does each failing step, and each skipped one, have a reason?",
    ],
)
def test_a_question_with_evidence_is_let_through(text: str) -> None:
    assert said(text) == []


def test_every_text_of_a_question_is_looked_at_and_the_place_is_exact() -> None:
    faults = question_faults(
        {
            "text": "Is it short?",
            "no_when": "It is longer than I would like.",
            "applies_to": "Work that feels large.",
            "evidence": "diff",
        }
    )
    assert [(one.key, one.offset) for one in faults] == [("no_when", 18), ("applies_to", 10)]
    assert all(one.hint for one in faults)
    (second,) = question_faults({"text": "Is it small? Is it new?", "no_when": NO_WHEN})
    assert second.offset == len("Is it small? ")
    (joined,) = question_faults({"text": "Is it small, and is it new?", "no_when": NO_WHEN})
    assert joined.offset == len("Is it small, ")


@given(st.dictionaries(st.sampled_from(["text", "no_when", "applies_to", "id"]), st.text()))
def test_no_text_makes_the_check_fall_over(texts: dict[str, str]) -> None:
    for fault in question_faults(texts):
        assert 0 <= fault.offset <= len(texts[fault.key])
