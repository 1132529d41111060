from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.formats.front_matter import edit_front_matter, parse_front_matter

TEXT = "---\nname: one\n# why\nnumber: 1\n---\n\n# Title\n\n---\nMore: of it\n"


def test_both_parts_are_read_and_a_rule_in_the_prose_is_prose() -> None:
    parts, problems = parse_front_matter(TEXT, "f.md")
    assert problems == []
    assert parts is not None
    assert parts.document.data == {"name": "one", "number": 1}
    assert parts.prose == "\n# Title\n\n---\nMore: of it\n"
    assert parts.prose_line == 6
    assert parts.document.position(("number",)) == (4, 9)


def test_places_count_from_the_top_of_the_file() -> None:
    parts, problems = parse_front_matter("---\nname: one\nname: two\n---\n", "f.md")
    assert parts is not None
    assert [str(one) for one in problems] == [
        "f.md:3:1: the key `name` is here twice; it is already on line 2"
    ]
    _, problems = parse_front_matter("---\nname: [one\n---\n", "f.md")
    assert problems[0].path == "f.md"
    assert 2 <= problems[0].line <= 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "f.md:1:1: the first line must be `---`, and the front matter must follow"),
        ("# Title\n---\na: 1\n---\n", "f.md:1:1: the first line must be `---`"),
        ("---\na: 1\n", "f.md:1:1: the front matter that begins here has no end"),
        ("---\n---\nprose\n", "f.md:1:1: the front matter is empty"),
    ],
)
def test_a_file_without_front_matter_says_so(text: str, message: str) -> None:
    parts, problems = parse_front_matter(text, "f.md")
    assert parts is None
    assert str(problems[0]).startswith(message)


def test_windows_line_ends_are_read() -> None:
    parts, problems = parse_front_matter(TEXT.replace("\n", "\r\n"), "f.md")
    assert problems == []
    assert parts is not None
    assert parts.document.data == {"name": "one", "number": 1}


def test_one_value_is_changed_and_nothing_else() -> None:
    assert edit_front_matter(TEXT, ("number",), 2) == TEXT.replace("number: 1", "number: 2")
    assert edit_front_matter(TEXT, ("more",), "x") == TEXT.replace("1\n---", "1\nmore: x\n---")
    with pytest.raises(ValueError, match="no front matter"):
        edit_front_matter("name: one\n", ("name",), "two")


@given(st.text())
def test_no_text_makes_the_reader_fall_over(text: str) -> None:
    for whole in (text, f"---\n{text}\n---\n{text}"):
        parts, problems = parse_front_matter(whole, "f.md")
        assert parts is not None or problems
        assert all(0 <= one.line <= whole.count("\n") + 2 for one in problems)


@given(st.text(st.characters(exclude_characters="\r")))
def test_prose_comes_back_as_it_is(prose: str) -> None:
    text = f"---\na: 1\n---\n{prose}"
    parts, _ = parse_front_matter(text, "f.md")
    assert parts is not None
    assert parts.prose == prose
    assert edit_front_matter(text, ("a",), 2) == f"---\na: 2\n---\n{prose}"
