from rotor.config import Rule
from rotor.names import generations
from rotor.plan import due, plan


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
    assert "create app.log" in [action.describe() for action in plan(rule(tmp_path))]


def test_other_files_are_no_generations(tmp_path):
    for name in ("app.log.old", "app.log.01", "other.log.1", "app.log.1.txt"):
        (tmp_path / name).touch()
    assert generations(tmp_path / "app.log") == []
