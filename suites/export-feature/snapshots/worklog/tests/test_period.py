from datetime import date

import pytest

from worklog.errors import WorklogError
from worklog.period import parse_period


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2024", "2024-01-01", "2024-12-31"),
        ("2024-Q1", "2024-01-01", "2024-03-31"),
        ("2024-Q4", "2024-10-01", "2024-12-31"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2026-12", "2026-12-01", "2026-12-31"),
        ("2026-W01", "2025-12-29", "2026-01-04"),
        ("2026-W10", "2026-03-02", "2026-03-08"),
        ("2026-03-02", "2026-03-02", "2026-03-02"),
        ("2026-02-25..2026-03-03", "2026-02-25", "2026-03-03"),
    ],
)
def test_a_period_has_a_first_and_a_last_day(text, first, last):
    period = parse_period(text)
    assert (period.first, period.last) == (date.fromisoformat(first), date.fromisoformat(last))
    assert period.first in period
    assert period.last in period


@pytest.mark.parametrize(
    "text", ["march", "2026-13", "2026-Q5", "2026-W54", "2026-02-30", "2026-03-03..2026-03-02", ""]
)
def test_what_is_no_period_is_refused(text):
    with pytest.raises(WorklogError):
        parse_period(text)
