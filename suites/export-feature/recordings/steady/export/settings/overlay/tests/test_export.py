import json

import pytest


def test_csv_has_a_heading_and_a_row_an_entry(log, run):
    lines = run("export", "--period", "2026-03-03").stdout.splitlines()
    assert lines[0] == "date,start,end,minutes,project,note,tags"
    assert lines[1] == "2026-03-03,22:00,24:00,120,acme/ops,Move to the new host,night billed"


def test_json_lines_have_an_object_an_entry(log, run):
    text = run("export", "--format", "jsonl", "--period", "2026-03-03").stdout
    first = json.loads(text.splitlines()[0])
    assert (first["minutes"], first["tags"]) == (120, ["night", "billed"])


def test_an_export_goes_to_a_file(log, run, tmp_path):
    assert run("export", "--output", "out.csv").stdout == ""
    assert (tmp_path / "out.csv").read_text().startswith("date,start,")


def test_what_precedes_a_mistake_is_written(log, run):
    (log / "2026-04.log").write_text("nonsense\n")
    done = run("export", status=2)
    assert "acme/ops" in done.stdout
    assert "2026-04.log:1" in done.stderr


@pytest.mark.parametrize("argv", [("--output", "no/file.csv"), ("--format", "xml")])
def test_what_cannot_be_is_refused(log, run, argv):
    assert run("export", *argv, status=2).stdout == ""


def test_columns_are_chosen_by_settings_and_by_option(log, run, tmp_path):
    (tmp_path / "worklog.toml").write_text('[export]\ncolumns = ["project", "minutes"]\n')
    assert run("export").stdout.splitlines()[:2] == ["project,minutes", "acme/website,135"]
    assert run("export", "--columns", "date").stdout.splitlines()[0] == "date"


def test_the_format_of_the_settings_yields_to_the_option(log, run, tmp_path):
    (tmp_path / "worklog.toml").write_text('[export]\nformat = "jsonl"\n')
    assert run("export").stdout.startswith("{")
    assert run("export", "--format", "csv").stdout.startswith("date,")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("columns = []", "export.columns: there has to be one"),
        ('columns = ["date", "colour"]', "export.columns: 'colour' is none of"),
        ('columns = ["date", "date"]', "export.columns: 'date' is there twice"),
        ('format = "xml"', "export.format: 'xml' is none of csv, jsonl"),
    ],
)
def test_settings_that_cannot_be_are_refused(log, run, tmp_path, text, said):
    (tmp_path / "worklog.toml").write_text(f"[export]\n{text}\n")
    assert run("export", status=2).stderr.startswith(f"worklog: worklog.toml: {said}")
