from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.model.acceptance import PolicyError, parse_policy


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("a", {"a", "ab", "ac", "abc"}),
        ("not a", {"", "b", "c", "bc"}),
        ("a and b", {"ab", "abc"}),
        ("a or b and c", {"a", "ab", "ac", "abc", "bc"}),
        ("(a or b) and c", {"ac", "bc", "abc"}),
        ("not a and b", {"b", "bc"}),
        ("not (a and b)", {"", "a", "b", "c", "ac", "bc"}),
        ("  a\n  and not not b ", {"ab", "abc"}),
    ],
)
def test_policies_hold_as_boolean_algebra_says(text: str, accepted: set[str]) -> None:
    policy = parse_policy(text)
    holds = {
        "".join(name for name, yes in zip("abc", answers, strict=True) if yes)
        for answers in itertools.product([True, False], repeat=3)
        if policy.holds(dict(zip("abc", answers, strict=True)))
    }
    assert holds == accepted


def test_a_name_may_carry_the_answer_wanted() -> None:
    policy = parse_policy("checks and review:merge")
    assert policy.names == {"checks", "review:merge"}
    assert policy.graders == {"checks", "review"}
    assert policy.holds({"checks": True, "review:merge": True})


def test_names_may_begin_like_operators() -> None:
    assert parse_policy("order and android or nothing").graders == {"order", "android", "nothing"}


@pytest.mark.parametrize(
    ("text", "position", "words"),
    [
        ("", 0, "expected the name"),
        ("   ", 0, "expected the name"),
        ("checks and", 10, "expected the name"),
        ("and checks", 0, "not `and`"),
        ("checks checks", 7, "expected `and` or `or`"),
        ("checks & acceptance", 7, "'&'"),
        ("(checks", 7, "expected `)`"),
        ("checks)", 6, "before `)`"),
        ("()", 1, "not `)`"),
        ("Checks", 0, "'C'"),
        ("checks or not", 13, "expected the name"),
        ("checks:", 6, "':'"),
        ("(" * 100 + "a" + ")" * 100, 21, "too deeply"),
        ("not " * 100 + "a", 84, "too deeply"),
    ],
)
def test_a_mistake_is_reported_with_its_position(text: str, position: int, words: str) -> None:
    with pytest.raises(PolicyError) as caught:
        parse_policy(text)
    assert caught.value.position == position
    assert words in caught.value.message


def test_a_missing_answer_is_an_error_and_never_a_no() -> None:
    with pytest.raises(KeyError):
        parse_policy("a and b").holds({"a": True})


@given(st.text(alphabet="ab ()andortx:-\n", max_size=60))
def test_any_text_parses_or_is_refused_with_a_position_inside(text: str) -> None:
    try:
        policy = parse_policy(text)
    except PolicyError as error:
        place = error.position
    else:
        place = 0
        policy.holds(dict.fromkeys(policy.names, True))
    assert 0 <= place <= len(text)


@given(
    st.sampled_from(["a and b", "a or b", "not a or b and c", "not (a and not b) or c", "a"]),
    st.dictionaries(st.sampled_from("abc"), st.booleans()),
    st.tuples(st.booleans(), st.booleans(), st.booleans()),
)
def test_what_some_answers_settle_no_other_answer_changes(
    text: str, some: dict[str, bool], others: tuple[bool, bool, bool]
) -> None:
    policy = parse_policy(text)
    settled = policy.settle(some)
    whole = dict(zip("abc", others, strict=True)) | some
    assert policy.settle(whole) is not None
    if settled is not None:
        assert policy.settle(whole) is settled
