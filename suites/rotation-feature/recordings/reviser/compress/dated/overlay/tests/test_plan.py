from datetime import UTC, datetime

import pytest

from rotor.config import Rule
from rotor.errors import RotorError
from rotor.names import generations
from rotor.plan import due, plan


NOW = datetime(2026, 3, 2, 10, 15, tzinfo=UTC)


def rule(tmp_path, keep=2):
    return Rule("app", tmp_path / "app.log", 10, keep)


def test_a_log_is_due_at_its_limit(tmp_path):
    assert not due(rule(tmp_path))
    (tmp_path / "app.log").write_text("x" * 9)
    assert not due(rule(tmp_path))
    assert due(rule(tmp_path), force=True)
    (tmp_path / "app.log").write_text("x" * 10)
    assert due(rule(tmp_path))


def test_an_empty_log_is_never_forced(tmp_path):
    (tmp_path / "app.log").touch()
    assert not due(rule(tmp_path), force=True)


def test_a_plan_makes_an_empty_log(tmp_path):
    (tmp_path / "app.log").write_text("x" * 10)
    assert "create app.log" in [action.describe() for action in plan(rule(tmp_path), NOW)]


def test_other_files_are_no_generations(tmp_path):
    for name in ("app.log.1", "app.log.1.gz", "app.log-2026", "other.log-20260302T101500"):
        (tmp_path / name).touch()
    assert generations(tmp_path / "app.log") == []


def test_generations_keep_their_names_and_the_oldest_goes(tmp_path):
    for stamp in ("20260301T000000", "20260228T000000.gz"):
        (tmp_path / f"app.log-{stamp}").touch()
    (tmp_path / "app.log").write_text("x" * 10)
    assert [action.describe() for action in plan(rule(tmp_path), NOW)] == [
        "remove app.log-20260228T000000.gz",
        "move app.log to app.log-20260302T101500",
        "create app.log",
        "compress app.log-20260302T101500",
    ]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_a_name_that_is_taken_stops_the_plan(tmp_path, ending):
    (tmp_path / f"app.log-20260302T101500{ending}").touch()
    with pytest.raises(RotorError, match="the name is taken"):
        plan(rule(tmp_path), NOW)
