"""Mistakes in the sessions of a task, each with its place, and what plans and locks freeze."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.conftest import trialbook, write_files
from tests.sessions.world import TASK, make_ledger, ran, short_ledger

from trialbook.model.series import RegressionKind
from trialbook.registry import Registry
from trialbook.storage.suites import load_suite

FOLDER = "suites/story/tasks/table"
FILE = f"{FOLDER}/task.yaml"


def said(top: Path, old: str, new: str, files: dict[str, str] | None = None) -> list[str]:
    """The problems of the task with one text replaced."""
    assert old in TASK
    ledger = make_ledger(top / "ledger", {FILE: TASK.replace(old, new), **(files or {})})
    done = trialbook(ledger, "suite", "check", "story", check=None)
    return [line for line in (done.stdout + done.stderr).splitlines() if FOLDER in line]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("one-writer.yaml}", "one-writr.yaml}", "did you mean `one-writer.yaml`?"),
        ("test_core::test_joined", "test_core::test_joind", "did you mean `test_core::test_join"),
        ("session: docs", "session: core", "there is a session `core` already"),
        ("conflicts_with: commas", "conflicts_with: comas", "did you mean `commas`?"),
        (
            "      - id: commas",
            "      - id: one-writer",
            "there is a decision `one-writer` already",
        ),
        ("    checks: sessions/docs/checks.yaml\n", "", "nothing judges this session"),
        ("private/core, expect", "sessions/core, expect", "is not in `private/`"),
        ("checks: sessions/docs/checks", "checks: private/properties/one-writer", "disclosed"),
        ("brief: sessions/docs/brief.md", "brief: private/key.yaml", "for the agent to read"),
        ("{checks: private/properties", "{checks: sessions/core/../core", "`..`"),
        ("test_two", "test_reported", "is in `reported` too"),
        ('"test_repair::test_two", ', "", "fewer than 3"),
        ("units.py:2", "unit.py:2", "the patch does not touch `unit.py`"),
        ("units.py:2", "units.py", "`path:line`"),
        ("units.py:2", "units.py:1", "the patch does not change `units.py:1`"),
        ("units.py:2", "units.py:40", "the patch does not change `units.py:40`"),
        ("units.py:2", "units.py:2-40", "the patch does not change `units.py:2-40`"),
        (
            "  - session: repair\n",
            "  - session: repair\n    conflicts_with: commas\n",
            "`commas` is contradicted by an earlier session already",
        ),
        (
            "  - session: repair\n",
            "  - session: repair\n    conflicts_with: one-writer\n",
            "`commas` is contradicted by an earlier session already",
        ),
        ('        faulty: ["units.py:2"]\n', "", "belongs to `planted` only"),
        ("kind: planted", "kind: own", "is not planted"),
        ("      key: private/key.yaml\n", "", "there is no sealed key"),
        ("key: private/key.yaml", "key: sessions/core/checks.yaml", "could read the key"),
        ("graders:\n", "brief: brief.md\ngraders:\n", "a brief of its own"),
        ("notes: [NOTES.md, notes/]", "notes: [/etc/notes]", "relative path"),
        ("    conflicts_with: commas\n", "    conflict_with: commas\n", "conflicts_with"),
    ],
)
def test_a_mistake_is_told_with_its_place(tmp_path: Path, old: str, new: str, told: str) -> None:
    problems = said(tmp_path, old, new)
    assert any(told in line for line in problems), problems
    assert all(line.split(":")[1].isdigit() for line in problems if line.startswith(FILE))


@pytest.mark.parametrize(
    ("faulty", "told"),
    [
        ("units.py:2", ""),
        ("units.py:1-2", ""),
        ("units.py:3", "`units.py` has no lines 3"),
        ("units.py:2-9", "`units.py` has no lines 2-9"),
        ("units.py:2-1", "`units.py` has no lines 2-1"),
        ("unit.py:2", "the overlay has no file `unit.py`; did you mean `units.py`?"),
        ("README.md:1", "the overlay has no file `README.md`"),
    ],
)
def test_a_fault_of_an_overlay_is_in_lines_that_it_has(
    tmp_path: Path, faulty: str, told: str
) -> None:
    old = TASK[TASK.index("        patch: private") : TASK.index("      key: private")]
    new = (
        f"        overlay: private/plant/files\n        message: M\n        faulty: [{faulty!r}]\n"
    )
    text = "def number(value):\n    return str(value)\n"
    key = {f"{FOLDER}/private/key.yaml": f"component: ['{faulty.partition(':')[0]}']\ncause: C\n"}
    problems = said(tmp_path, old, new, {f"{FOLDER}/private/plant/files/units.py": text, **key})
    assert [line for line in problems if told in line] if told else not problems, problems
    assert all(line.split(":")[1].isdigit() for line in problems if line.startswith(FILE))


def test_a_key_has_to_hold_the_fault(tmp_path: Path) -> None:
    key = {f"{FOLDER}/private/key.yaml": "component: [rows.py]\ncause: Something else.\n"}
    (problem,) = said(tmp_path, "task: table", "task: table", key)
    assert "outside of the key's `component`" in problem


def test_a_regression_before_the_first_session_and_without_tests_is_refused(tmp_path: Path) -> None:
    start = TASK.index("    regression:")
    regression = TASK[start : TASK.index("notes:")]
    task = TASK.replace(regression, "")
    private = "    private: {run: pytest, tests: private/core, expect: private/core.json}\n"
    task = task.replace(private, regression, 1)
    done = make_ledger(tmp_path / "ledger", {FILE: task})
    text = trialbook(done, "suite", "check", "story", check=2)
    assert "nothing can break before the first session" in text.stdout + text.stderr
    assert "this session has none" in text.stdout + text.stderr


def test_notes_and_rules_are_for_tasks_with_sessions(tmp_path: Path) -> None:
    alone = TASK[: TASK.index("sessions:")] + "notes: [NOTES.md]\nafter_failure: end\n"
    ledger = make_ledger(
        tmp_path / "ledger", {FILE: alone, f"{FOLDER}/brief.md": "Do all of it.\n"}
    )
    text = trialbook(ledger, "suite", "check", "story", check=2)
    for key in ("notes", "after_failure"):
        assert f"`{key}` is for a task with `sessions`" in text.stdout + text.stderr


def test_everything_that_is_written_is_loaded(tmp_path: Path) -> None:
    ledger = make_ledger(tmp_path / "ledger")
    (task,) = load_suite(ledger, "story", Registry()).tasks
    core, docs, change, repair = task.sessions
    assert (core.name, core.brief) == ("core", "Do what core asks for.\n")
    assert core.checks is not None
    assert core.checks.visible
    assert core.private is not None
    assert not core.private.visible
    assert [one.id for one in core.decisions] == ["one-writer", "commas"]
    assert core.decisions[1].tests == ("test_core::test_joined",)
    assert (docs.private, change.conflicts_with) == (None, "commas")
    (regression,) = repair.regressions
    assert regression.kind is RegressionKind.PLANTED
    assert regression.laid_in is not None
    assert regression.laid_in.faulty == ("units.py:2",)
    assert task.notes == ("NOTES.md", "notes/")
    assert "# Session 3: change\n\nDo what change asks for.\n" in task.brief
    frozen = {name.removeprefix(f"{FOLDER}/") for name in task.files}
    assert {"private/key.yaml", "private/plant/merge.patch", "sessions/docs/brief.md"} <= frozen


@pytest.mark.slow
def test_a_plan_and_a_lock_freeze_the_sessions_and_tell_nothing_private(tmp_path: Path) -> None:
    ledger = short_ledger(tmp_path / "ledger")
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    plan = json.loads((ran(ledger).folder.parents[2] / "plan.json").read_text())
    core, docs = plan["tasks"]["table"]["sessions"]
    assert [core["name"], docs["name"]] == ["core", "docs"]
    assert core["graders"] == {"checks": {"checks": {"file": "sessions/core/checks.yaml"}}}
    assert ran(ledger).sessions[0]["brief_sha256"] == core["brief_sha256"]
    # A brief that is other than planned stops a run from going on.
    write_files(ledger, {f"{FOLDER}/sessions/docs/brief.md": "Do something else.\n"})
    run = next((ledger / "runs/story").iterdir()).name
    assert "brief.md" in trialbook(ledger, "resume", run, check=2).stderr


@pytest.mark.slow
def test_the_key_and_the_plant_are_only_digests_in_a_plan(tmp_path: Path) -> None:
    ledger = make_ledger(tmp_path / "ledger")
    trialbook(ledger, "eval", "story", "--sandbox", "none")
    text = (ran(ledger).folder.parents[2] / "plan.json").read_text()
    for word in ("Numbers come out as text", "A number is made text", "units.py:2", "test_two"):
        assert word not in text
    assert json.loads(text)["tasks"]["table"]["sessions"][3]["regressions"] == ["planted"]
