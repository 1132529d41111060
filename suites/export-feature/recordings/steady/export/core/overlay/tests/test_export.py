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
