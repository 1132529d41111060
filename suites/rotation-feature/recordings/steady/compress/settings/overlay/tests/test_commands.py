import json


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_log_that_is_due_is_set_aside(logs, run):
    said = run("run").stdout
    assert "app: create app.log\n" in said
    assert (logs / "app.log").read_text() == ""
    assert len(names(logs)) == 2
    assert run("run").stdout == "nothing is due\n"


def test_no_more_are_kept_than_the_rule_says(logs, run):
    for number in range(4):
        (logs / "app.log").write_text(str(number) * 100)
        run("run", "--now", f"2026-03-0{number + 1}T00:00:00")
    assert len(names(logs)) == 3


def test_a_dry_run_says_the_same_and_does_nothing(logs, run):
    now = ("--now", "2026-03-02T10:15:00")
    planned = run("run", "--dry-run", *now).stdout
    assert names(logs) == ["app.log"]
    assert run("run", *now).stdout == planned


def test_the_journal_has_a_line_for_what_was_done(logs, run, tmp_path):
    run("run", "--now", "2026-03-02T10:15:00")
    (line,) = (tmp_path / "rotor.journal").read_text().splitlines()
    said = json.loads(line)
    assert (said["time"], said["log"]) == ("2026-03-02T10:15:00+00:00", "app")
    assert "create app.log" in said["done"]


def test_list_prints_files_and_leaves_small_ones_out(logs, run):
    run("run")
    (logs / "app.log").write_text("y" * 2000)
    assert run("list").stdout.startswith("app app.log 2.0k\n")
    assert run("list", "--over", "1k").stdout == "app app.log 2.0k\n"


def test_check_prints_what_the_configuration_comes_to(logs, run):
    assert run("check").stdout == "app: app.log from 100, keep 2, gzip 6\n"


def test_a_mistake_ends_with_status_2_and_one_line(logs, run):
    done = run("run", "--now", "noon", status=2)
    assert done.stderr == "rotor: --now: 'noon' is no time such as 2026-03-02T10:15:00\n"
    assert "cannot be read" in run("--config", "none.ini", "run", status=2).stderr
