import json

import pytest

HEADING = "date,start,end,minutes,project,note,tags"


def test_csv_is_what_comes_without_options(log, run):
    lines = run("export", "--project", "acme/ops").stdout.splitlines()
    assert lines[:2] == [HEADING, "2026-03-03,22:00,24:00,120,acme/ops,Move to the new host,night billed"]


def test_json_lines_keep_numbers_and_lists(log, run):
    text = run("export", "--format", "jsonl", "--project", "acme/ops").stdout
    assert json.loads(text.splitlines()[0])["tags"] == ["night", "billed"]
    assert json.loads(text.splitlines()[0])["minutes"] == 120


def test_a_file_that_is_there_is_replaced(log, run, tmp_path):
    (tmp_path / "out.csv").write_text("old\n" * 100)
    assert run("export", "--output", "out.csv").stdout == ""
    text = (tmp_path / "out.csv").read_text()
    assert text.startswith(HEADING)
    assert "old" not in text


def test_entries_before_a_mistake_are_written(log, run):
    (log / "2026-04.log").write_text("nonsense\n")
    assert run("export", status=2).stdout.count("\n") == 6


def test_a_file_that_cannot_be_written_is_a_mistake(log, run):
    assert run("export", "--output", "no/out.csv", status=2).stderr == (
        "worklog: no/out.csv: cannot be written: No such file or directory\n"
    )


@pytest.mark.parametrize("note", ["a,b", 'say "x"', "; no comment"])
def test_cells_are_quoted_where_they_have_to_be(log, run, note):
    (log / "2026-04.log").write_text(f"2026-04-01\n  09:00-10:00 quoted {note}\n")
    text = run("export", "--project", "quoted", "--format", "jsonl").stdout
    assert json.loads(text.splitlines()[0])["note"] == note
