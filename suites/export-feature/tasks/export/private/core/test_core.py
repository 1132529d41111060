"""The core of the export. What is asked here stays true in every later session."""

import csv

WEEK = """\
2026-03-02
  09:00-10:30 acme Header, "again" #bug #css
  10:30-12:00 acme Čaj; naïve
2026-03-03
  22:00-24:00 acme
"""


def test_csv_has_a_heading_and_a_row_for_every_entry(worklog):
    worklog.write("logs/2026-03.log", WEEK)
    lines = worklog.csv().split("\n")
    assert lines[:4] == [
        "date,start,end,minutes,project,note,tags",
        '2026-03-02,09:00,10:30,90,acme,"Header, ""again""",bug css',
        "2026-03-02,10:30,12:00,90,acme,Čaj; naïve,",
        "2026-03-03,22:00,24:00,120,acme,,",
    ]


def test_lines_end_with_a_line_feed_in_a_file_too(worklog):
    worklog.write("logs/2026-03.log", WEEK)
    worklog.write("out.csv", "what was there before\n" * 20)
    assert worklog.run("export", "--output", "out.csv") == b""
    written = (worklog.folder / "out.csv").read_bytes()
    assert b"\r" not in written
    assert b"before" not in written
    assert written == worklog.run("export")


def test_json_lines_have_the_same_keys_in_the_same_order(worklog):
    worklog.write("logs/2026-03.log", WEEK)
    first, second, third = worklog.objects()
    assert list(first.items()) == [
        ("date", "2026-03-02"),
        ("start", "09:00"),
        ("end", "10:30"),
        ("minutes", 90),
        ("project", "acme"),
        ("note", 'Header, "again"'),
        ("tags", ["bug", "css"]),
    ]
    assert (second["note"], second["tags"]) == ("Čaj; naïve", [])
    assert (third["note"], third["end"]) == ("", "24:00")
    assert "Čaj".encode() in worklog.run("export", "--format", "jsonl")


def test_options_choose_entries_as_they_do_for_list(worklog):
    worklog.write("logs/2026-02.log", "2026-02-27\n  09:00-10:00 acme/web #bug\n")
    worklog.write("logs/2026-03.log", "2026-03-02\n  09:00-09:30 acme/web\n  10:00-11:00 office\n")
    worklog.write("elsewhere/a.log", "2026-03-02\n  09:00-09:05 mine\n")
    assert [row["minutes"] for row in worklog.rows("--project", "acme")] == ["60", "30"]
    assert [row["minutes"] for row in worklog.rows("--period", "2026-02")] == ["60"]
    assert [row["minutes"] for row in worklog.rows("--tag", "bug")] == ["60"]
    assert [row["project"] for row in worklog.rows("--log", "elsewhere")] == ["mine"]


def test_the_entries_of_a_project_come_in_the_order_of_the_log(worklog):
    worklog.write("logs/b.log", "2026-03-02\n  09:00-10:00 acme two\n")
    worklog.write("logs/a.log", "2026-03-05\n  09:00-10:00 acme one\n  11:00-12:00 acme then\n")
    assert [row["note"] for row in worklog.rows()] == ["one", "then", "two"]


def test_a_log_without_entries_gives_a_heading_or_nothing(worklog):
    assert worklog.csv() == "date,start,end,minutes,project,note,tags\n"
    assert worklog.run("export", "--format", "jsonl") == b""


def test_a_file_that_cannot_be_written_is_a_mistake_of_the_user(worklog):
    worklog.write("logs/2026-03.log", WEEK)
    assert worklog.refused("export", "--output", "no/such/folder.csv").count("\n") == 1


def test_a_format_that_is_not_there_is_refused(worklog):
    assert "xml" in worklog.refused("export", "--format", "xml")


def test_every_row_reads_back_as_it_was(worklog):
    notes = ['"', '""', ",", "a,b", "'x'", "semi;colon", "\\", "=1+1", "ünï 漢"]
    lines = [f"  {hour:02}:00-{hour:02}:30 acme {note}" for hour, note in enumerate(notes)]
    worklog.write("logs/2026-03.log", "2026-03-02\n" + "\n".join(lines) + "\n")
    assert [row["note"] for row in worklog.rows()] == notes
    assert [one["note"] for one in worklog.objects()] == notes
    widths = {len(row) for row in csv.reader(worklog.csv().splitlines())}
    assert widths == {7}
