"""Periods as people write them."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta

from worklog.errors import WorklogError

KNOWN = "2026, 2026-Q1, 2026-03, 2026-W10, 2026-03-02 or 2026-02-25..2026-03-03"


@dataclass(frozen=True)
class Period:
    """All days from the first to the last, both of them included."""

    first: date
    last: date

    def __contains__(self, day: date) -> bool:
        return self.first <= day <= self.last


def parse_period(text: str) -> Period:
    """The days that a text means."""
    for pattern, meaning in _FORMS:
        if match := re.fullmatch(pattern, text):
            try:
                period = meaning(*match.groups())
            except ValueError:
                break
            if period.last < period.first:
                raise WorklogError(f"the period {text!r} ends before it begins")
            return period
    raise WorklogError(f"{text!r} is no period; write {KNOWN}")


def _year(year: str) -> Period:
    return Period(date(int(year), 1, 1), date(int(year), 12, 31))


def _quarter(year: str, quarter: str) -> Period:
    first = 3 * int(quarter) - 2
    return Period(date(int(year), first, 1), _end_of_month(int(year), first + 2))


def _month(year: str, month: str) -> Period:
    return Period(date(int(year), int(month), 1), _end_of_month(int(year), int(month)))


def _week(year: str, week: str) -> Period:
    monday = date.fromisocalendar(int(year), int(week), 1)
    return Period(monday, monday + timedelta(days=6))


def _day(day: str) -> Period:
    return Period(date.fromisoformat(day), date.fromisoformat(day))


def _days(first: str, last: str) -> Period:
    return Period(date.fromisoformat(first), date.fromisoformat(last))


def _end_of_month(year: int, month: int) -> date:
    following = date(year + month // 12, month % 12 + 1, 1)
    return following - timedelta(days=1)


_DAY = r"(\d{4}-\d\d-\d\d)"
_FORMS: tuple[tuple[str, Callable[..., Period]], ...] = (
    (r"(\d{4})", _year),
    (r"(\d{4})-Q([1-4])", _quarter),
    (r"(\d{4})-(\d\d)", _month),
    (r"(\d{4})-W(\d\d)", _week),
    (_DAY, _day),
    (rf"{_DAY}\.\.{_DAY}", _days),
)
