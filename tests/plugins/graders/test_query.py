from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook_graders.query import Missing, QueryError, parse_query, same, shown, value_at

DATA: dict[str, Any] = {
    "project": {"name": "shop", "tags": ["a", "b"]},
    "a.b": {"it's": 1},
    "jobs": [{"steps": [{"run": "make"}]}],
}


@pytest.mark.parametrize(
    ("query", "value"),
    [
        ("project.name", "shop"),
        ("$.project.name", "shop"),
        ("project['name']", "shop"),
        ("$['project'].tags[1]", "b"),
        ("['a.b'][\"it's\"]", 1),
        ("jobs[0].steps[0].run", "make"),
        ("$", DATA),
    ],
)
def test_a_query_leads_to_its_value(query: str, value: object) -> None:
    assert value_at(DATA, parse_query(query)) == value


@pytest.mark.parametrize(
    ("query", "why"),
    [
        ("project.title", "project has no key 'title'"),
        ("project.tags[2]", "project.tags has 2 items, no [2]"),
        ("project.tags.x", "project.tags is a list, not a mapping"),
        ("project[0]", "project is a mapping, not a list"),
        ("project.name.x", 'project.name is the value "shop", not a mapping'),
        ("[0]", "the top is a mapping, not a list"),
    ],
)
def test_a_query_that_leads_nowhere_says_where_it_ended(query: str, why: str) -> None:
    assert value_at(DATA, parse_query(query)) == Missing(why=why)


@pytest.mark.parametrize(
    ("query", "position"),
    [
        ("", 1),
        ("a..b", 3),
        ("a.", 3),
        (".a", None),
        ("a[-1]", 2),
        ("a[x]", 2),
        ("a b", 2),
        ("$a", 2),
    ],
)
def test_a_malformed_query_is_refused_with_its_place(query: str, position: int | None) -> None:
    if position is None:
        assert parse_query(query) == ("a",)
        return
    with pytest.raises(QueryError) as caught:
        parse_query(query)
    assert caught.value.position == position


def test_equality_is_that_of_data() -> None:
    assert same(1, 1.0)
    assert same({"a": [1, {"b": None}]}, {"a": [1, {"b": None}]})
    assert not same(True, 1)
    assert not same(0, False)
    assert not same("1", 1)
    assert not same([1], [1, 2])
    assert not same({"a": 1}, {"a": 1, "b": 2})
    assert not same([], {})
    assert not same(None, "")
    assert not same(float("nan"), float("nan"))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(json_values)
def test_a_value_equals_its_own_copy_and_is_shown_in_few_words(value: object) -> None:
    assert same(value, json.loads(json.dumps(value)))
    text = shown(value)
    assert len(text) < 20_000
    text.encode()


def test_a_monstrous_value_is_shown_in_few_words() -> None:
    bomb: list[object] = ["x" * 10_000]
    for _ in range(60):
        bomb = [bomb] * 10
    assert len(shown(bomb)) < 2000
    assert not same(bomb, ["x"])


def test_a_lone_surrogate_is_shown_as_an_escape() -> None:
    assert shown("\ud800") == '"\\ud800"'
