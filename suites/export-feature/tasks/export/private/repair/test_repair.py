"""Hours that an export lacked after the merge, and others that were lacking for the same reason."""

import json

FILES = {
    "2024-12": "2024-12-30\n  09:00-10:00 canal\n",
    "2025-01": "2025-01-02\n  09:00-11:00 canal\n",
    "2026-01": "2026-01-31\n  09:00-10:00 mole\n",
    "2026-02": "2026-02-14\n  09:00-11:00 mole\n2026-02-25\n  09:00-13:00 quay\n",
    "2026-03": "2026-03-01\n  09:00-12:00 mole\n2026-03-03\n  09:00-10:00 quay\n"
    "2026-03-30\n  09:00-12:00 harbour\n2026-03-31\n  09:00-13:00 harbour\n",
    "2026-04": "2026-04-01\n  08:00-16:00 harbour\n2026-04-04\n  10:00-12:00 harbour\n",
}


def filled(worklog):
    for month, text in FILES.items():
        worklog.write(f"logs/{month}.log", text)
    return worklog


def test_the_harbours_week_has_all_its_hours(worklog):
    rows = filled(worklog).rows("--project", "harbour", "--period", "2026-W14")
    assert [row["date"] for row in rows] == ["2026-03-30", "2026-03-31", "2026-04-01", "2026-04-04"]


def test_an_export_over_the_turn_of_the_year(worklog):
    rows = filled(worklog).rows("--project", "canal", "--period", "2025-W01")
    assert [row["minutes"] for row in rows] == ["60", "120"]


def test_a_report_of_the_harbours_week(worklog):
    text = filled(worklog).run("report", "--project", "harbour", "--period", "2026-W14").decode()
    assert text.split() == ["harbour", "17:00", "total", "17:00"]


def test_a_list_of_days_in_two_months(worklog):
    text = filled(worklog).run("list", "--period", "2026-02-25..2026-03-03", "--project", "quay")
    assert [line[:10] for line in text.decode().splitlines()] == ["2026-02-25", "2026-03-03"]


def test_an_export_from_the_last_of_a_month_to_the_first_of_another(worklog):
    text = filled(worklog).run(
        "export", "--period", "2026-01-31..2026-03-01", "--project", "mole", "--format", "jsonl"
    ).decode()
    found = [one["minutes"] for one in map(json.loads, text.splitlines()) if one["date"]]
    assert found == [60, 120, 180]
