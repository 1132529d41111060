from datetime import date

import pytest

from worklog.entry import Entry
from worklog.errors import LogMistake
from worklog.grammar import parse


def read(text):
    return list(parse(text.splitlines(), "x.log"))


def test_an_entry_has_a_project_a_note_and_tags():
    (entry,) = read("2026-03-02\n  09:00-10:30 acme/web The header, again #bug #css\n")
    assert entry == Entry(date(2026, 3, 2), 540, 630, "acme/web", "The header, again", ("bug", "css"))
    assert entry.minutes == 90


def test_a_note_may_be_missing_and_tags_may_stand_anywhere():
    first, second = read("2026-03-02\n  9:00-9:30 office\n  9:30-10:00 office #x Mail\n")
    assert (first.note, first.tags) == ("", ())
    assert (second.note, second.tags) == ("Mail", ("x",))


def test_comments_and_empty_lines_are_skipped():
    assert read("; a comment\n\n2026-03-02\n  ; nothing done\n") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("  09:00-10:00 a", "x.log:1: an entry before the first day"),
        ("2026-03-32", "x.log:1: '2026-03-32' is no day"),
        ("2026-03-02\n2026-03-01", "x.log:2: 2026-03-01 comes after 2026-03-02"),
        ("2026-03-02\n  lunch", "x.log:2: an entry is START-END PROJECT NOTE"),
        ("2026-03-02\n  09:00-25:00 a", "x.log:2: '25:00' is no time of a day"),
        ("2026-03-02\n  22:00-01:00 a", "x.log:2: ends before it begins"),
        ("2026-03-02\n  09:00-10:00 a\n  09:30-11:00 b", "x.log:3: begins before"),
    ],
)
def test_a_mistake_is_told_with_its_place(text, said):
    with pytest.raises(LogMistake) as caught:
        read(text)
    assert str(caught.value).startswith(said)


def test_entries_before_a_mistake_are_handed_on():
    entries = parse(["2026-03-02", "  09:00-10:00 a", "  nonsense"], "x.log")
    assert next(entries).project == "a"
    with pytest.raises(LogMistake):
        next(entries)
