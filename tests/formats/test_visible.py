from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trialbook.formats.visible import (
    decode,
    json_for_terminal,
    pieces,
    unstyled,
    visible,
    visible_line,
)

ACTING = {"Cc", "Cf", "Cs", "Co", "Zl", "Zp"}
ANY_TEXT = st.text(alphabet=st.characters(exclude_categories=()))


def acts(text: str) -> bool:
    return any(unicodedata.category(char) in ACTING and char not in "\n\t" for char in text)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain, with\ttab\nand line", "plain, with\ttab\nand line"),
        ("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"),
        ("\x00", "\\x00"),
        ("a\u202eb", "a\\u202eb"),
        ("\x9b31m", "\\x9b31m"),
        ("\U000e0041", "\\U000e0041"),
        ("\ud800", "\\ud800"),
        ("\u2028\u200b\ufeff\u3164", "\\u2028\\u200b\\ufeff\\u3164"),
        ("grün 漢字 ✓ é", "grün 漢字 ✓ é"),
        ("a\rb", "a\\x0db"),
    ],
)
def test_what_acts_becomes_an_escape_and_what_shows_stays(text: str, shown: str) -> None:
    assert visible(text) == shown


@given(ANY_TEXT)
def test_nothing_that_acts_is_left(text: str) -> None:
    assert not acts(visible(text))
    assert visible(visible(text)) == visible(text)
    assert "\n" not in visible_line(text)


@given(ANY_TEXT)
def test_pieces_make_up_the_whole_and_mark_exactly_the_escapes(text: str) -> None:
    found = list(pieces(text))
    assert "".join(piece for piece, _ in found) == visible(text)
    assert all(piece.startswith("\\") for piece, acting in found if acting)


@given(st.binary())
def test_any_bytes_are_text_for_people(data: bytes) -> None:
    assert not acts(visible(decode(data)))


def test_styles_leave_a_log_without_a_trace_and_other_sequences_do_not() -> None:
    assert unstyled("\x1b[1;31mred\x1b[0m\r\n\x1b[2J") == "red\n\x1b[2J"


@given(ANY_TEXT.filter(lambda text: not any(0xD800 <= ord(char) < 0xE000 for char in text)))
def test_json_for_a_terminal_is_the_same_value_without_acting_characters(text: str) -> None:
    shown = json_for_terminal(json.dumps({"key": text}, indent=2, ensure_ascii=False))
    assert json.loads(shown) == {"key": text}
    assert not acts(shown)
