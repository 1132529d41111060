from __future__ import annotations

import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.errors import UserError
from trialbook.formats.authored import parse_document
from trialbook.formats.editing import edit_text, render

SUITE = """\
# yaml-language-server: $schema=../.schemas/suite.schema.json

suite:   refunds     # the folder's name
protocol: 3
decision: >-
    Should small fixes
    go to the cheap one?   # no comment: part of the text

configurations: ['current',   "cheap-first"]   # two
limits:   {minutes: 20, }   # odd spaces
rerun:
      # deeply indented
      provider_outage:    1

accept: 'acceptance and checks'
empty:
list:
- a   # first
-   b
# the end
"""


def data(text: str) -> object:
    document, problems = parse_document(text, "f")
    assert problems == []
    assert document is not None
    return document.data


@pytest.mark.parametrize(
    ("pointer", "value", "old", "new"),
    [
        (("protocol",), 4, "protocol: 3", "protocol: 4"),
        (("suite",), "other", "suite:   refunds ", "suite:   other "),
        (("accept",), "it's", "'acceptance and checks'", "'it''s'"),
        (("configurations", 1), "x", '"cheap-first"', '"x"'),
        (("configurations", 2), "x", '"cheap-first"]', '"cheap-first", x]'),
        (("configurations",), [], "['current',   \"cheap-first\"]", "[]"),
        (("limits", "minutes"), None, "minutes: 20", "minutes: null"),
        (("limits", "usd"), 1.5, "{minutes: 20, }", "{minutes: 20, usd: 1.5, }"),
        (("rerun", "provider_outage"), 2, "provider_outage:    1", "provider_outage:    2"),
        (
            ("rerun", "cancelled"),
            None,
            "provider_outage:    1\n",
            "provider_outage:    1\n      cancelled: null\n",
        ),
        (("empty",), "full", "empty:\n", "empty: full\n"),
        (("empty", "a", "b"), [1], "empty:\n", "empty: {a: {b: [1]}}\n"),
        (("list", 0), "yes", "- a ", '- "yes" '),
        (("list", 2), {"k": "v: w"}, "-   b\n", '-   b\n- {k: "v: w"}\n'),
        (("new",), {"a": []}, "-   b\n", "-   b\nnew: {a: []}\n"),
        (
            ("decision",),
            "Short?",
            SUITE[SUITE.index(">-") : SUITE.index("\nconfigurations")],
            '"Short?"\n',
        ),
    ],
)
def test_only_what_is_set_changes(
    pointer: tuple[str | int, ...], value: object, old: str, new: str
) -> None:
    assert SUITE.count(old) == 1
    assert edit_text(SUITE, pointer, value) == SUITE.replace(old, new)


def test_an_empty_value_deep_inside_can_be_filled() -> None:
    assert edit_text("a:\n  b:\n    c:\n", ("a", "b", "c", "d"), 1) == ("a:\n  b:\n    c: {d: 1}\n")


def test_an_empty_text_gets_its_first_key() -> None:
    assert edit_text("", ("a",), 1) == "a: 1\n"
    assert edit_text("# only a comment", ("a", "b"), "x") == "# only a comment\na: {b: x}\n"


def test_a_text_without_a_last_line_end_is_no_problem() -> None:
    assert edit_text("a: 1", ("b",), 2) == "a: 1\nb: 2"
    assert edit_text("a:", ("a",), 2) == "a: 2"


def test_windows_line_ends_stay() -> None:
    assert edit_text("a: 1\r\nb: x\r\n", ("c",), 2) == "a: 1\r\nb: x\r\nc: 2\r\n"


def test_an_anchor_nobody_uses_may_go_but_a_used_one_may_not() -> None:
    assert data(edit_text("a: &x 1\nb: 2\n", ("a",), 3)) == {"a": 3, "b": 2}
    with pytest.raises(UserError, match="without touching"):
        edit_text("a: &x 1\nb: *x\n", ("a",), 3)


def test_what_an_alias_repeats_is_not_changed_behind_its_back() -> None:
    text = "a: &x {k: 1}\nb: *x\n"
    assert edit_text(text, ("b",), 2) == "a: &x {k: 1}\nb: 2\n"
    with pytest.raises(UserError, match="alias"):
        edit_text(text, ("b", "k"), 2)
    with pytest.raises(UserError, match="without touching"):
        edit_text(text, ("a", "k"), 2)


@pytest.mark.parametrize(
    "pointer", [(), ("suite", "x"), ("list", 9), ("list", "x"), ("protocol", 0)]
)
def test_a_way_that_leads_nowhere_is_refused(pointer: tuple[str | int, ...]) -> None:
    with pytest.raises(UserError):
        edit_text(SUITE, pointer, 1)


def test_what_is_not_yaml_is_not_edited() -> None:
    with pytest.raises(UserError, match="not YAML"):
        edit_text("a: [1", ("a",), 1)


values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**9), 10**9)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"]), max_size=12),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(string.ascii_lowercase, min_size=1, max_size=5), inner, max_size=3
        )
    ),
    max_leaves=6,
)


@given(values)
def test_a_rendered_value_reads_back_as_itself(value: object) -> None:
    assert data(f"k: {render(value)}\n") == {"k": value}
    assert data(f"k: [{render(value, quote=chr(39))}]\n") == {"k": [value]}


names = st.text(string.ascii_lowercase, min_size=1, max_size=6).map("k-{}".format)
scalars = st.sampled_from(
    ["1", "x", "'quoted'", '"double"', "", "[a, {b: c}]", "|\n    lit\n    eral"]
)
lines = st.lists(
    st.tuples(names, st.sampled_from(["", " ", "    "]), scalars, st.sampled_from(["", " # note"])),
    min_size=1,
    max_size=6,
    unique_by=lambda line: line[0],
)


@pytest.mark.slow
@given(lines, names, values)
def test_the_text_of_other_keys_is_never_touched(
    written: list[tuple[str, str, str, str]], key: str, value: object
) -> None:
    blocks = []
    for name, space, scalar, comment in written:
        note = "" if "\n" in scalar else comment
        blocks.append((name, f"# about {name}\n{name}: {space}{scalar}{note}\n"))
    edited = edit_text("".join(block for _, block in blocks), (key,), value)
    for name, block in blocks:
        if name != key:
            assert block in edited
    after = data(edited)
    assert isinstance(after, dict)
    assert after[key] == value
    assert [name for name in after if name != key] == [name for name, *_ in written if name != key]
