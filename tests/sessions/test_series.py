"""A task of several sessions from its plan to its record, with real processes and git."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import git, trialbook
from tests.sessions.world import TASK, Ran, make_ledger, ran, short_ledger


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    """The four sessions, done once."""
    ledger = make_ledger(tmp_path_factory.mktemp("series") / "ledger")
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    trialbook(ledger, "verify")
    return ran(ledger)


def test_each_session_gets_its_own_brief_and_its_own_files(whole: Ran) -> None:
    assert whole.record["outcome"] == "accepted"
    assert [one["name"] for one in whole.sessions] == ["core", "docs", "change", "repair"]
    for number, name in enumerate(("core", "docs", "change", "repair"), 1):
        prompt = whole.text(f"sessions/{number}/attempt-1/prompt.md")
        assert prompt == f"Do what {name} asks for.\n"
    assert whole.outcomes == ["accepted"] * 4


def test_a_session_begins_with_what_the_one_before_left(whole: Ran) -> None:
    for number in (2, 3):
        before, now = whole.sessions[number - 2], whole.sessions[number - 1]
        assert now["start"] == before["end"]
        handed = whole.handover(number)
        assert (handed["equal"], handed["planted"]) == (True, None)
        assert (handed["before"], handed["start"]) == (before["end"], now["start"])
    docs = whole.sessions[1]["end"]
    assert [one["subject"] for one in docs["commits"]] == ["Write rows", "Say how"]
    # What was not committed is carried as a change of the files.
    assert docs["tree"] != docs["commits"][-1]["tree"]


def test_a_planted_commit_is_laid_on_top_of_the_agents_history(whole: Ran) -> None:
    handed = whole.handover(4)
    assert not handed["equal"]
    planted = handed["planted"]["commit"]
    assert [one["subject"] for one in handed["start"]["commits"]][-2:] == [
        "Use semicolons",
        "Merge branch 'units'",
    ]
    assert handed["start"]["head"] == planted
    assert "return str(value)" in whole.text("sessions/4/planted.patch")
    assert whole.sessions[3]["regression"] == 1


def test_private_tests_report_the_regression_before_anybody_repairs_it(whole: Ran) -> None:
    start, end = (whole.json(f"sessions/4/grades/private.{one}.json") for one in ("start", "end"))
    failed = {one["id"] for one in start["checks"] if one["passed"] is False}
    assert {f"test_repair::test_{one}" for one in ("reported", "two", "three", "four")} <= failed
    assert end["accepted"] is True


def test_patches_of_sessions_and_of_notes_are_kept(whole: Ran) -> None:
    assert "+# Rows" in whole.text("sessions/2/change.patch")
    assert "rows.py" not in whole.text("sessions/2/change.patch").replace("NOTES", "")[:40]
    assert whole.text("sessions/2/notes.patch").count("+Not committed yet.") == 1
    assert whole.text("sessions/4/notes.patch") == ""
    assert [one["written_by"] for one in whole.handover(4)["notes"]] == ["session-2"]


def test_what_is_cleared_is_told_with_how_that_was_checked(whole: Ran) -> None:
    assert whole.handover(1)["things"] == []
    things = whole.things(2)
    assert things["files"] == things["history"] == "carried"
    assert things["tags"] == "carried"
    assert things["git index"] == things["git settings, hooks, stash and logs"] == "cleared"
    assert things["home"] == things["temporary files"] == things["processes"] == "cleared"
    # Without a sandbox, nobody knows what a process wrote elsewhere.
    assert things["the rest of the host"] == "unknown"
    assert all(one["checked"] for one in whole.handover(2)["things"])


@pytest.mark.slow
def test_nothing_of_the_checks_is_in_the_room_of_an_agent(tmp_path: Path) -> None:
    look = "find .. -not -path '*/.git/*' > room.txt; env >> room.txt\n"
    ledger = short_ledger(
        tmp_path / "ledger",
        core=f"{look}printf 'def write' > rows.py\n",
        docs=f"{look}printf '# Rows' > DOCS.md\n",
    )
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    patch = ran(ledger).text("change.patch")
    assert "+../prompt.md" in patch
    for word in ("private", "checks", "grades", "sessions", "core", "story"):
        assert word not in patch.lower(), word


@pytest.mark.slow
def test_a_session_that_fails_is_followed_by_the_next_one(tmp_path: Path) -> None:
    ledger = short_ledger(tmp_path / "ledger", core="echo 'tests are red' > NOTES.md; exit 3\n")
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    found = ran(ledger)
    assert found.outcomes == ["agent_error", "accepted"]
    failing = found.handover(1)["failing"]
    assert [(one["check"], one["declared"], one["where"]) for one in failing] == [
        ("core", True, "NOTES.md")
    ]


@pytest.mark.slow
def test_a_session_out_of_time_is_followed_by_the_next_one(tmp_path: Path) -> None:
    ledger = short_ledger(tmp_path / "ledger", core="printf x > half.txt; sleep 60\n")
    task = ledger / "suites/story/tasks/table/task.yaml"
    limited = "    checks: sessions/core/checks.yaml\n    limits: {minutes: 0.02}\n"
    text = task.read_text().replace("    checks: sessions/core/checks.yaml\n", limited)
    task.write_text(text)
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    found = ran(ledger)
    assert found.outcomes == ["agent_timeout", "accepted"]
    assert found.sessions[1]["start"]["tree"] == found.sessions[0]["end"]["tree"]
    assert found.handover(1)["failing"][0]["declared"] is False


def test_the_plans_rule_may_end_a_series_after_a_failure(tmp_path: Path) -> None:
    ledger = short_ledger(tmp_path / "ledger", core="printf x > other.txt\n")
    task = ledger / "suites/story/tasks/table/task.yaml"
    task.write_text(task.read_text() + "after_failure: end\n")
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    assert ran(ledger).outcomes == ["rejected"]


@pytest.mark.slow
def test_the_time_of_the_series_is_shared_by_its_sessions(tmp_path: Path) -> None:
    ledger = short_ledger(tmp_path / "ledger", core="printf 'def write' > rows.py; sleep 60\n")
    suite = ledger / "suites/story/suite.yaml"
    suite.write_text(suite.read_text().replace("{minutes: 3}", "{minutes: 0.03}"))
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    found = ran(ledger)
    assert found.outcomes == ["agent_timeout", None]
    assert "used up" in found.sessions[1]["reason"]
    trialbook(ledger, "verify")


@pytest.mark.slow
def test_a_process_left_behind_is_gone_in_the_next_session(tmp_path: Path) -> None:
    ledger = short_ledger(
        tmp_path / "ledger",
        core="printf 'def write' > rows.py\nsetsid sh -c 'echo $$ > pid.txt; exec sleep 300' &\n"
        "while [ ! -s pid.txt ]; do sleep 0.05; done\n",
        docs="printf '# Rows\\n' > DOCS.md\n"
        "kill -0 $(cat pid.txt) 2>/dev/null && echo yes > alive.txt\ntrue\n",
    )
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    found = ran(ledger)
    assert "alive.txt" not in found.text("change.patch")
    assert "pid.txt" in found.text("sessions/1/change.patch")
    processes = next(one for one in found.handover(2)["things"] if one["thing"] == "processes")
    assert (processes["state"], processes["checked"][0]) == ("cleared", "1")


@pytest.mark.slow
def test_home_and_temporary_files_are_new_in_each_session(tmp_path: Path) -> None:
    write = 'ls -A "$HOME" "$TMPDIR" > "seen-$1.txt"; echo "$HOME" >> "seen-$1.txt"\n'
    keep = 'touch "$HOME/.client" "$TMPDIR/cache"\n'
    ledger = short_ledger(
        tmp_path / "ledger",
        core=f"set one\n{write}{keep}printf 'def write' > rows.py\n",
        docs=f"set two\n{write}{keep}printf '# Rows' > DOCS.md\n",
    )
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    patch = ran(ledger).text("change.patch")
    assert ".client" not in patch
    assert patch.count("/home") >= 2


def test_a_repetition_and_a_session_choose_the_agents_files(tmp_path: Path) -> None:
    ledger = short_ledger(tmp_path / "ledger")
    configuration = ledger / "suites/story/configurations/steady.yaml"
    configuration.write_text(configuration.read_text().replace("{session}", "{sesion}"))
    said = trialbook(ledger, "suite", "check", "story", check=2)
    assert "did you mean `session`?" in said.stdout + said.stderr


@pytest.mark.slow
def test_the_history_is_the_agents_own_in_the_next_session(tmp_path: Path) -> None:
    ledger = short_ledger(
        tmp_path / "ledger",
        core="printf 'def write' > rows.py; git add -A; git commit -qm one; git branch side\n",
        docs="git log --format='%s by %an' > log.txt; git branch -a >> log.txt\n"
        "git status --porcelain >> log.txt; git fsck --strict 2>> log.txt\n"
        "printf '# Rows' > DOCS.md\n",
    )
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    patch = ran(ledger).text("change.patch")
    for line in ("+one by agent", "+Baseline by Baseline", "+* main", "+  side", "+?? log.txt"):
        assert line in patch.splitlines(), line
    assert "error" not in patch
    git(ledger, "fsck", "--strict")


@pytest.mark.slow
def test_trouble_of_ours_in_a_later_session_is_no_result(tmp_path: Path) -> None:
    # What the agent of the second session is to get goes while the first one works.
    ledger = short_ledger(
        tmp_path / "ledger",
        core="printf 'def write' > rows.py; git add -A; git commit -qm one\n"
        f"mv {tmp_path}/ledger/suites/story/driver/docs {tmp_path}/gone\n",
    )
    trialbook(ledger, "eval", "story", "--sandbox", "none", check=None)
    found = ran(ledger)
    assert found.record["outcome"] == "environment_failure"
    assert "files that are not there" in found.record["reason"]
    assert found.outcomes == ["accepted"]
    assert found.text("sessions/1/change.patch")


@pytest.mark.slow
def test_trouble_after_grading_is_no_result_and_has_no_grades(tmp_path: Path) -> None:
    task = "suites/story/tasks/table"
    # What the look back over the series needs is gone when the graders are done.
    patch = tmp_path / "ledger" / task / "private/plant/merge.patch"
    graders = (
        "graders:\n  - acceptance: {run: pytest, tests: private/final, expect: private/core.json}\n"
    )
    test = f"import pathlib\n\n\ndef test_joined():\n    pathlib.Path({str(patch)!r}).unlink()\n"
    ledger = make_ledger(
        tmp_path / "ledger",
        {
            f"{task}/task.yaml": TASK.replace("graders:\n", graders),
            f"{task}/private/final/test_core.py": test,
        },
    )
    plant = patch.read_text()
    trialbook(ledger, "eval", "story", "--sandbox", "none", check=None)
    patch.write_text(plant)
    found = ran(ledger)
    assert found.record["outcome"] == "environment_failure"
    assert "merge.patch" in found.record["reason"]
    assert found.record["grades"] == []
    assert "nothing is wrong" in trialbook(ledger, "verify").stdout
