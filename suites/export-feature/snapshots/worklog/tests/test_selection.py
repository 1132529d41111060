import pytest

from worklog.errors import LogMistake, WorklogError
from worklog.period import parse_period
from worklog.selection import Selection, selected


def projects(log, **wanted):
    return [entry.project for entry in selected(log, Selection(**wanted))]


def test_everything_is_selected_in_the_order_of_the_log(log):
    expected = ["acme/website", "office", "acme/website", "acme/shop", "acme/ops"]
    assert projects(log) == expected


def test_a_period_selects_days(log):
    assert projects(log, period=parse_period("2026-03")) == ["acme/website", "acme/shop", "acme/ops"]
    assert projects(log, period=parse_period("2026-03-03")) == ["acme/ops"]
    assert projects(log, period=parse_period("2027")) == []


def test_a_project_is_selected_with_its_parts_but_not_by_its_first_letters(log):
    assert projects(log, projects=("acme/web", "office")) == ["office"]
    assert len(projects(log, projects=("acme",))) == 4


def test_all_tags_have_to_be_there(log):
    assert projects(log, tags=("night", "billed")) == ["acme/ops"]
    assert projects(log, tags=("night", "bug")) == []


def test_a_folder_that_is_not_there_is_a_mistake(tmp_path):
    with pytest.raises(WorklogError, match="no such folder"):
        list(selected(tmp_path / "none", Selection()))


def test_a_file_of_a_month_holds_that_month_only(log):
    (log / "2026-04.log").write_text("2026-05-01\n  09:00-10:00 a\n")
    with pytest.raises(LogMistake, match="2026-04.log: 2026-05-01 is not in the month"):
        list(selected(log, Selection()))


def test_other_files_hold_any_days(log):
    (log / "travel.log").write_text("2026-05-01\n  09:00-10:00 travel\n")
    assert projects(log)[-1] == "travel"
