"""Exports by project."""

import json

FEBRUARY = "2026-02-27\n  09:00-10:00 shop first\n  10:00-10:30 acme/web then\n"
MARCH = "2026-03-02\n  09:00-09:45 acme\n  10:00-11:00 shop last #x\n  11:00-11:15 acme/web end\n"


def filled(worklog):
    worklog.write("logs/2026-02.log", FEBRUARY)
    worklog.write("logs/2026-03.log", MARCH)
    return worklog


def test_csv_has_the_rows_of_a_project_together_and_their_total(worklog):
    assert filled(worklog).csv() == (
        "date,start,end,minutes,project,note,tags\n"
        "2026-03-02,09:00,09:45,45,acme,,\n"
        ",,,45,acme,total,\n"
        "2026-02-27,10:00,10:30,30,acme/web,then,\n"
        "2026-03-02,11:00,11:15,15,acme/web,end,\n"
        ",,,45,acme/web,total,\n"
        "2026-02-27,09:00,10:00,60,shop,first,\n"
        "2026-03-02,10:00,11:00,60,shop,last,x\n"
        ",,,120,shop,total,\n"
    )


def test_json_lines_have_nulls_where_a_total_has_nothing(worklog):
    text = filled(worklog).run("export", "--format", "jsonl", "--project", "shop").decode()
    *entries, total = map(json.loads, text.splitlines())
    assert [entry["note"] for entry in entries] == ["first", "last"]
    assert list(total.items()) == [
        ("date", None),
        ("start", None),
        ("end", None),
        ("minutes", 120),
        ("project", "shop"),
        ("note", "total"),
        ("tags", None),
    ]


def test_totals_have_the_columns_that_were_asked_for(worklog):
    assert filled(worklog).csv("--columns", "project,minutes", "--project", "shop") == (
        "project,minutes\nshop,60\nshop,60\nshop,120\n"
    )
    text = worklog.run(
        "export", "--columns", "date,note", "--project", "shop", "--format", "jsonl"
    ).decode()
    assert json.loads(text.splitlines()[-1]) == {"date": None, "note": "total"}


def test_totals_are_of_what_was_chosen(worklog):
    lines = filled(worklog).csv("--period", "2026-03", "--project", "shop").splitlines()
    assert lines[-1] == ",,,60,shop,total,"


def test_an_export_of_nothing_has_no_totals(worklog):
    assert filled(worklog).csv("--period", "2020") == "date,start,end,minutes,project,note,tags\n"
    assert worklog.run("export", "--period", "2020", "--format", "jsonl") == b""


def test_nothing_is_written_if_the_log_has_a_mistake(worklog):
    filled(worklog).write("logs/2026-04.log", "nonsense\n")
    for name in ("csv", "jsonl"):
        assert "2026-04.log:1" in worklog.refused("export", "--format", name)


def test_no_file_is_made_or_touched_if_the_log_has_a_mistake(worklog):
    filled(worklog).write("logs/2026-04.log", "nonsense\n")
    worklog.refused("export", "--output", "new.csv")
    assert not (worklog.folder / "new.csv").exists()
    worklog.write("old.csv", "as it was\n")
    worklog.refused("export", "--output", "old.csv")
    assert (worklog.folder / "old.csv").read_text() == "as it was\n"


def test_a_week_in_two_months_has_one_total(worklog):
    worklog.write("logs/2026-03.log", "2026-03-31\n  09:00-13:00 harbour\n")
    worklog.write("logs/2026-04.log", "2026-04-01\n  08:00-16:00 harbour\n")
    assert worklog.csv("--period", "2026-W14", "--columns", "date,minutes,note") == (
        "date,minutes,note\n2026-03-31,240,\n2026-04-01,480,\n,720,total\n"
    )
