"""Times of day and durations, in minutes."""

import re

from worklog.errors import WorklogError

DAY = 24 * 60

_TIME = re.compile(r"(\d{1,2}):(\d\d)")


def parse_time(text: str) -> int:
    """Minutes since midnight. `24:00` is the end of the day."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise WorklogError(f"{text!r} is no time such as 09:30")
    hours, minutes = map(int, match.groups())
    if minutes > 59 or hours * 60 + minutes > DAY:
        raise WorklogError(f"{text!r} is no time of a day")
    return hours * 60 + minutes


def format_time(minutes: int) -> str:
    """A time of day as people write it."""
    return f"{minutes // 60:02}:{minutes % 60:02}"


def format_duration(minutes: int) -> str:
    """A duration as hours and minutes; hours may be many."""
    return f"{minutes // 60}:{minutes % 60:02}"
