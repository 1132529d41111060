from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from trialbook.site.text import excerpt


def test_a_short_file_is_shown_whole() -> None:
    found = excerpt(b"one\r\n\x1b[31mtwo\x1b[0m\n", head=100, tail=100)
    assert (found.head, found.tail, found.hidden) == ("one\ntwo\n", "", 0)


def test_a_long_file_is_cut_in_the_middle_at_line_ends() -> None:
    data = b"".join(b"line %d\n" % number for number in range(1000))
    found = excerpt(data, head=100, tail=50)
    assert found.head.endswith("\n")
    assert found.tail.startswith("line ")
    assert found.tail.endswith("line 999\n")
    assert found.hidden == len(data) - len(found.head) - len(found.tail)


@given(st.binary(max_size=300))
def test_no_byte_is_lost_without_being_counted(data: bytes) -> None:
    found = excerpt(data, head=40, tail=20)
    assert found.bytes == len(data)
    assert 0 <= found.hidden <= len(data)
    assert (found.hidden == 0) == (len(data) <= 60)
