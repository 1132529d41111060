import pytest

from worklog.clock import format_duration, format_time, parse_time
from worklog.errors import WorklogError


def test_times_are_minutes_since_midnight():
    assert parse_time("00:00") == 0
    assert parse_time("9:05") == 545
    assert parse_time("24:00") == 1440


@pytest.mark.parametrize("text", ["24:01", "09:60", "9", "nine", "-1:00", ""])
def test_what_is_no_time_is_refused(text):
    with pytest.raises(WorklogError):
        parse_time(text)


def test_times_and_durations_are_printed():
    assert format_time(545) == "09:05"
    assert format_time(1440) == "24:00"
    assert format_duration(1505) == "25:05"
