from __future__ import annotations

from trialbook.model.trajectory import Event, EventKind
from trialbook.stats.rediscovery import rediscovered


def read(number: int, path: str) -> Event:
    return Event(number=number, kind=EventKind.READ, path=path, ok=True)


def ran(number: int, command: str, exit_code: int = 0) -> Event:
    return Event(number=number, kind=EventKind.COMMAND, command=command, exit_code=exit_code)


def test_what_an_earlier_session_knew_is_found_out_again() -> None:
    first = [read(1, "a.py"), ran(2, "pytest -q"), ran(3, "make docs", 2), read(4, "b.py")]
    second = [read(1, "./a.py"), read(2, "a.py"), ran(3, "pytest -q"), ran(4, "make docs", 2)]
    (found,) = rediscovered([(1, first), (2, second)], {})
    assert [one.what for one in found.files] == ["a.py"]
    assert (found.files[0].first_event, found.files[0].event) == (1, 1)
    assert (found.commands_count, found.dead_ends_count) == (2, 1)
    assert found.dead_ends[0].what == "make docs"


def test_a_file_that_was_changed_since_is_news() -> None:
    sessions = [(1, [read(1, "a.py")]), (2, [read(1, "a.py")])]
    assert rediscovered(sessions, {1: frozenset({"a.py"})})[0].files == ()
    three = [*sessions, (3, [read(1, "a.py")])]
    assert rediscovered(three, {2: frozenset({"a.py"})})[1].files == ()


def test_a_command_that_failed_once_only_is_no_dead_end_and_work_is_not_looked_at() -> None:
    first = [ran(1, "pytest -q", 1), ran(2, "echo 1 > a.txt")]
    second = [ran(1, "pytest -q"), ran(2, "echo 1 > a.txt")]
    (found,) = rediscovered([(1, first), (2, second)], {})
    assert (found.commands_count, found.dead_ends_count) == (1, 0)


def test_one_session_has_nothing_to_find_out_again() -> None:
    assert rediscovered([(1, [read(1, "a.py")])], {}) == []
