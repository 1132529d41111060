import pytest

from worklog.logfiles import months
from worklog.period import parse_period


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-W18", [(2026, 4), (2026, 5)]),
        ("2026-W01", [(2025, 12), (2026, 1)]),
        ("2026-02-28..2026-03-01", [(2026, 2), (2026, 3)]),
        ("2026-01-31..2026-03-01", [(2026, 1), (2026, 2), (2026, 3)]),
    ],
)
def test_a_period_that_begins_inside_of_a_month_has_every_month(text, expected):
    assert list(months(parse_period(text))) == expected


def test_a_report_has_the_hours_of_both_months_of_a_week(log, run):
    (log / "2026-04.log").write_text("2026-04-30\n  09:00-10:00 acme\n")
    (log / "2026-05.log").write_text("2026-05-01\n  09:00-11:00 acme\n")
    assert run("report", "--period", "2026-W18").stdout.split()[-1] == "3:00"
