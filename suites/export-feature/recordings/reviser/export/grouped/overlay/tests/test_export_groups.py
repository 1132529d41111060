from datetime import date

from worklog.entry import Entry
from worklog.export.groups import rows

ENTRIES = [
    Entry(date(2026, 3, 2), 540, 600, "shop", "first"),
    Entry(date(2026, 3, 2), 600, 630, "acme/web"),
    Entry(date(2026, 3, 3), 540, 545, "shop", "last"),
]


def test_projects_come_by_name_each_with_its_total():
    found = [tuple(row.values()) for row in rows(ENTRIES, ("project", "minutes", "note"))]
    assert found == [
        ("acme/web", 30, ""),
        ("acme/web", 30, "total"),
        ("shop", 60, "first"),
        ("shop", 5, "last"),
        ("shop", 65, "total"),
    ]


def test_a_total_has_nothing_in_other_columns():
    assert rows(ENTRIES[:1], ("date", "tags"))[-1] == {"date": None, "tags": None}


def test_no_entries_no_rows():
    assert rows([], ("date",)) == []


def test_both_formats_have_the_totals(log, run):
    assert run("export", "--project", "office").stdout.endswith(",,,45,office,total,\n")
    assert '"date": null' in run("export", "--project", "office", "--format", "jsonl").stdout
