import pytest


def test_columns_come_from_the_settings_and_options_win(log, run, tmp_path):
    (tmp_path / "worklog.toml").write_text('[export]\ncolumns = ["minutes", "date"]\n')
    assert run("export", "--project", "office").stdout.splitlines()[:2] == [
        "minutes,date",
        "45,2026-02-26",
    ]
    assert run("export", "--columns", "date").stdout.startswith("date\n")


def test_the_format_comes_from_the_settings_and_options_win(log, run, tmp_path):
    (tmp_path / "worklog.toml").write_text('[export]\nformat = "jsonl"\n')
    assert run("export").stdout.startswith("{")
    assert run("export", "--format", "csv").stdout.startswith("date,")


@pytest.mark.parametrize("columns", ["", "date,colour", "date,date"])
def test_columns_of_an_option_are_checked(log, run, columns):
    assert run("export", "--columns", columns, status=2).stderr.startswith("worklog: --columns: ")


@pytest.mark.parametrize("columns", ['[]', '["date", "colour"]', '["date", "date"]'])
def test_columns_of_the_settings_are_checked(log, run, tmp_path, columns):
    (tmp_path / "worklog.toml").write_text(f"[export]\ncolumns = {columns}\n")
    assert run("export", status=2).stderr.startswith("worklog: worklog.toml: export.columns: ")
