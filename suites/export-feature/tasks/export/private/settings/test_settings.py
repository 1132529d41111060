"""Settings of the export. What is asked here stays true in every later session."""

import pytest

LOG = "2026-03-02\n  09:00-10:30 acme Header #bug\n"
ALL = "date,start,end,minutes,project,note,tags"


def settings(worklog, text):
    worklog.write("logs/2026-03.log", LOG)
    worklog.write("worklog.toml", text)


def test_without_settings_all_columns_are_exported_to_csv(worklog):
    settings(worklog, 'log = "logs"\n')
    assert worklog.csv().splitlines()[0] == ALL


def test_the_format_of_the_settings_holds(worklog):
    settings(worklog, '[export]\nformat = "jsonl"\n')
    assert worklog.run("export").startswith(b'{"date": "2026-03-02", ')


def test_the_columns_of_the_settings_hold_in_their_order(worklog):
    settings(worklog, '[export]\ncolumns = ["project", "date", "minutes"]\n')
    assert worklog.csv().splitlines()[:2] == ["project,date,minutes", "acme,2026-03-02,90"]
    (one,) = worklog.objects()
    assert list(one.items()) == [("project", "acme"), ("date", "2026-03-02"), ("minutes", 90)]


def test_columns_can_be_asked_for_in_one_call(worklog):
    settings(worklog, "")
    lines = worklog.csv("--columns", "date,tags").splitlines()
    assert lines[:2] == ["date,tags", "2026-03-02,bug"]


def test_a_column_of_one_is_enough(worklog):
    settings(worklog, "")
    assert worklog.csv("--columns", "date").splitlines()[:2] == ["date", "2026-03-02"]


def test_options_win_over_the_settings(worklog):
    settings(worklog, '[export]\nformat = "jsonl"\ncolumns = ["date", "note"]\n')
    assert worklog.csv("--format", "csv").splitlines()[:2] == ["date,note", "2026-03-02,Header"]
    assert worklog.run("export", "--columns", "date,end").startswith(
        b'{"date": "2026-03-02", "end": "10:30"}'
    )


@pytest.mark.parametrize("columns", ["date,colour", "date,date", ""], ids=["unknown", "twice", "none"])
def test_columns_that_cannot_be_are_refused_on_the_command_line(worklog, columns):
    settings(worklog, "")
    worklog.refused("export", "--columns", columns)


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('columns = ["date", "colour"]', "columns"),
        ('columns = ["date", "date"]', "columns"),
        ("columns = []", "columns"),
        ('columns = "date"', "columns"),
        ("columns = [1]", "columns"),
        ('format = "xml"', "format"),
        ("format = 1", "format"),
        ('colour = "blue"', "colour"),
    ],
    ids=[
        "unknown-column",
        "column-twice",
        "no-column",
        "text-for-columns",
        "number-for-a-column",
        "unknown-format",
        "number-for-the-format",
        "unknown-key",
    ],
)
def test_settings_that_cannot_be_are_refused(worklog, text, key):
    settings(worklog, f"[export]\n{text}\n")
    said = worklog.refused("export")
    assert said.startswith(f"worklog: worklog.toml: export.{key}")
    assert said.count("\n") == 1
