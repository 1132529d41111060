from __future__ import annotations

import hashlib
import re

from hypothesis import given
from hypothesis import strategies as st

from trialbook.formats.cut_log import cut_log

MARK = re.compile(
    rb"\[trialbook: (\d+) bytes are left out here; all (\d+) bytes have sha256 ([0-9a-f]{64})"
    rb"(?:; the whole is in (\S+))?\]\n"
)


def test_a_log_that_is_short_enough_is_not_cut() -> None:
    assert cut_log(b"a" * 100, 100, None) is None
    assert cut_log(b"", 1, None) is None


def test_a_long_log_keeps_its_beginning_and_its_end_at_ends_of_lines() -> None:
    data = b"".join(b"line %04d\n" % number for number in range(1000))
    cut = cut_log(data, 1005, "full/x.txt")
    assert cut is not None
    head, _, tail = cut.partition(MARK.search(cut)[0])  # type: ignore[index]
    assert data.startswith(head)
    assert data.endswith(tail)
    assert head.endswith(b"0049\n")
    assert tail.startswith(b"line 0950\n")


def test_the_line_in_between_says_how_much_is_gone_and_where_the_whole_is() -> None:
    data = b"x" * 5000
    for where in ("full/sessions/1/attempt-1/stdout.txt", None):
        cut = cut_log(data, 1000, where)
        assert cut is not None
        mark = MARK.search(cut)
        assert mark is not None
        assert int(mark[1]) == len(data) - (len(cut) - len(mark[0]) - 1)
        assert int(mark[2]) == 5000
        assert mark[3].decode() == hashlib.sha256(data).hexdigest()
        assert mark[4] == (where.encode() if where else None)


def test_a_character_is_not_cut_in_half() -> None:
    for spare in range(4):
        cut = cut_log(b"a" * spare + "é€😀".encode() * 500, 1000, None)
        assert cut is not None
        cut.decode()


@given(st.binary(max_size=400), st.integers(1, 100))
def test_whatever_the_bytes_what_is_kept_is_theirs(data: bytes, keep: int) -> None:
    cut = cut_log(data, keep, None)
    if cut is None:
        assert len(data) <= keep
        return
    mark = next(m for m in MARK.finditer(cut) if int(m[2]) == len(data))
    head, tail = cut[: mark.start()], cut[mark.end() :]
    kept = [head, head.removesuffix(b"\n")]
    assert any(data.startswith(part) for part in kept)
    assert data.endswith(tail)
    assert len(head) + len(tail) <= keep + 1 + 6
