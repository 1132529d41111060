from __future__ import annotations

import ast
import json
import os
import re
import runpy
import shutil
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git
from tests.suites.conftest import evaluated, records_of

from trialbook.formats.authored import read_document

SUITE = Path(__file__).resolve().parents[2] / "suites" / "golden-python"
SCRIPT = SUITE / "near_miss" / "near_miss.py"
OTHER_SCRIPT = SUITE / "near_miss" / "variant.py"
TASKS = tuple(sorted(path.name for path in (SUITE / "tasks").iterdir()))
TRAPS = ("trap-consecutive-groups", "trap-escape-apostrophe")
SENTINEL = "test_private::test_sentinel_must_fail"


def read_task(task: str) -> dict[str, Any]:
    path = SUITE / "tasks" / task / "task.yaml"
    document, problems = read_document(path, path.name)
    assert document is not None, problems
    assert not problems
    data: dict[str, Any] = document.data
    return data


def expected_of(task: str) -> dict[str, list[str]]:
    text = (SUITE / "tasks" / task / "private" / "expected.json").read_text()
    expected: dict[str, list[str]] = json.loads(text)
    return expected


def private_ids(task: str) -> list[str]:
    """The ids of the private tests, in the order of the file."""
    path = SUITE / "tasks" / task / "private" / "tests" / "test_private.py"
    tree = ast.parse(path.read_text())
    return [
        f"test_private::{node.name}"
        for node in tree.body
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
    ]


def near_miss_fails(task: str) -> set[str]:
    """The ids that the task's near_miss.md says the wrong fix fails."""
    text = (SUITE / "tasks" / task / "private" / "near_miss.md").read_text()
    listed = text.partition("These private tests fail:")[2]
    return {f"test_private::{name}" for name in re.findall(r"`(test_\w+)`", listed)}


def make_near_miss(
    folder: Path, *arguments: str, script: Path = SCRIPT
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-B", script, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


@pytest.fixture(scope="module")
def script() -> dict[str, Any]:
    """The names that the near-miss script defines."""
    return runpy.run_path(str(SCRIPT))


# --- the files of the tasks --------------------------------------------------------------------


def test_there_are_sixteen_tasks() -> None:
    assert len(TASKS) == 16
    assert set(TRAPS) <= set(TASKS)


@pytest.mark.parametrize("task", TASKS)
def test_every_file_of_a_task_is_there(task: str) -> None:
    folder = SUITE / "tasks" / task
    found = {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()}
    found = {name for name in found if "__pycache__" not in name}
    wanted = {"task.yaml", "brief.md", "private/tests/test_private.py", "private/expected.json"}
    wanted |= {"private/near_miss.md"}
    wanted |= {"private/reference/NOTES.md" if task in TRAPS else "private/variant.md"}
    assert found == wanted


@pytest.mark.parametrize("task", TASKS)
def test_expected_ids_are_the_private_tests(task: str) -> None:
    expected = expected_of(task)
    assert set(expected) == {"passed", "must_fail"}
    assert expected["must_fail"] == [SENTINEL]
    ids = expected["passed"] + expected["must_fail"]
    assert len(ids) == len(set(ids))
    assert sorted(ids) == sorted(private_ids(task))


@pytest.mark.parametrize("task", TASKS)
def test_a_near_miss_fails_some_expected_tests_and_passes_others(task: str) -> None:
    passed = set(expected_of(task)["passed"])
    assert near_miss_fails(task)
    assert near_miss_fails(task) < passed


@pytest.mark.parametrize("task", TASKS)
def test_every_clause_of_a_brief_is_tested(task: str) -> None:
    folder = SUITE / "tasks" / task
    clauses = re.findall(r"^- (C\d+):", (folder / "brief.md").read_text(), re.MULTILINE)
    source = (folder / "private" / "tests" / "test_private.py").read_text()
    tested = re.findall(r"\bC\d+\b", source)
    assert clauses
    assert set(clauses) == set(tested)


@pytest.mark.parametrize("task", TASKS)
def test_task_brief_and_grader_agree_on_the_snapshot(task: str) -> None:
    data = read_task(task)
    assert data["task"] == task
    snapshot = data["snapshot"]
    assert re.fullmatch("[0-9a-f]{64}", snapshot["sha256"])
    brief = (SUITE / "tasks" / task / "brief.md").read_text()
    assert f"source distribution of {snapshot['package']} {snapshot['version']}." in brief
    ((grader, parameters),) = [pair for entry in data["graders"] for pair in entry.items()]
    assert grader == "acceptance"
    assert (parameters["tests"], parameters["expect"]) == ("private/tests", "private/expected.json")
    (where,) = re.findall(r"The package lies in `(.*?)/`", brief)
    root = "{candidate}" if where == "." else f"{{candidate}}/{where}"
    assert parameters["environment"] == {"GOLDEN_PACKAGE_ROOT": root}


@pytest.mark.parametrize("task", TASKS)
def test_the_reference_is_a_later_release_or_a_note(task: str) -> None:
    data = read_task(task)
    reference, snapshot = data["reference"], data["snapshot"]
    if task in TRAPS:
        assert reference == {"overlay": "private/reference"}
        return
    assert reference["package"] == snapshot["package"]
    assert re.fullmatch("[0-9a-f]{64}", reference["sha256"])
    older, newer = (
        tuple(int(part) for part in side["version"].split(".")) for side in (snapshot, reference)
    )
    assert older < newer


def test_only_one_trap_has_to_be_handed_back_and_none_is_right_untouched() -> None:
    marks = {
        task: (data.get("no_change_expected", False), data.get("must_escalate", False))
        for task in TASKS
        for data in [read_task(task)]
    }
    assert {task: mark for task, mark in marks.items() if any(mark)} == {
        "trap-escape-apostrophe": (False, True),
    }


def test_the_readme_has_every_task_with_its_versions_and_counts() -> None:
    rows = {}
    for line in (SUITE / "README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) == 8 and cells[1].strip("`") in TASKS:
            rows[cells[1].strip("`")] = cells[2:7]
    assert set(rows) == set(TASKS)
    for task, (category, snapshot, reference, count, contamination) in rows.items():
        data = read_task(task)
        assert category == data["category"]
        assert snapshot == f"{data['snapshot']['package']} {data['snapshot']['version']}"
        if task not in TRAPS:
            assert reference.startswith(f"{data['reference']['version']} (")
        assert int(count) == len(expected_of(task)["passed"])
        assert contamination == data["contamination"]


def test_every_requirement_is_pinned_and_none_holds_an_answer() -> None:
    lines = (SUITE / "requirements.txt").read_text().splitlines()
    pins = dict(line.split("==") for line in lines if line and not line.startswith("#"))
    assert pins["pytest"] == "9.2.0"
    for task in TASKS:
        snapshot = read_task(task)["snapshot"]
        pin = pins.get(snapshot["package"].lower())
        assert pin in (None, snapshot["version"]), f"{task}: its environment holds its answer"


@pytest.mark.slow
def test_private_tests_have_the_ids_that_pytest_reports(tmp_path: Path) -> None:
    task = "tomli-loads-type"
    tests = tmp_path / "tests"
    shutil.copytree(SUITE / "tasks" / task / "private" / "tests", tests)
    report = tmp_path / "report.xml"
    subprocess.run(
        [
            *(sys.executable, "-B", "-m", "pytest", "-q", "-p", "no:cacheprovider"),
            *("--rootdir", str(tests), "--junitxml", str(report), str(tests)),
        ],
        cwd=tmp_path,
        env=os.environ | {"GOLDEN_PACKAGE_ROOT": str(tmp_path)},
        capture_output=True,
        check=False,
    )
    cases = ET.parse(report).iter("testcase")
    ids = {f"{case.get('classname')}::{case.get('name')}" for case in cases}
    assert ids == set(private_ids(task))


# --- the near-miss script ----------------------------------------------------------------------


def test_the_near_miss_script_knows_every_task(script: dict[str, Any]) -> None:
    edits: dict[str, Callable[[Any], None]] = script["EDITS"]
    assert tuple(sorted(edits)) == TASKS
    for name, edit in edits.items():
        assert edit.__name__ == name.replace("-", "_")
        assert edit.__doc__


@pytest.mark.parametrize("task", TASKS)
def test_a_wrong_snapshot_is_refused_and_left_alone(task: str, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("something else\n")
    done = make_near_miss(tmp_path, task)
    assert done.returncode == 1
    assert "no such file" in done.stderr
    assert "Traceback" not in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["README.md"]


def test_every_task_has_its_near_miss_and_the_variants_are_those_of_the_script() -> None:
    wrong = {"run": ["{python}", "{files}/near_miss.py", "{task}"], "files": "near_miss"}
    right = {"run": ["{python}", "{files}/variant.py", "{task}"], "files": "near_miss"}
    given = {task: read_task(task) for task in TASKS}
    assert all(data["near_misses"] == {"wrong-fix": wrong} for data in given.values())
    with_variant = [task for task in TASKS if "variants" in given[task]]
    assert all(given[task]["variants"] == {"other-form": right} for task in with_variant)
    done = make_near_miss(SUITE, script=OTHER_SCRIPT)
    assert done.returncode == 2
    assert done.stderr == f"usage: variant.py TASK\ntasks: {', '.join(with_variant)}\n"


def test_a_variant_is_not_made_of_another_snapshot(tmp_path: Path) -> None:
    done = make_near_miss(tmp_path, "tomli-loads-type", script=OTHER_SCRIPT)
    assert done.returncode == 1
    assert "no such file" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("arguments", [(), ("no-such-task",), (TASKS[0], TASKS[1])])
def test_wrong_use_names_the_tasks(arguments: tuple[str, ...], tmp_path: Path) -> None:
    done = make_near_miss(tmp_path, *arguments)
    assert done.returncode == 2
    assert all(task in done.stderr for task in TASKS)


@pytest.mark.parametrize(("text", "times"), [("nothing\n", 0), ("anchor anchor\n", 2)])
def test_an_anchor_must_be_there_exactly_once(
    script: dict[str, Any], text: str, times: int, tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text(text)
    draft = script["Draft"](tmp_path)
    with pytest.raises(script["AnchorError"], match=f"there {times} times"):
        draft.replace("a.py", "anchor", "x")


def test_nothing_is_written_before_every_edit_is_made(
    script: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_bytes(b"one two\r\nthree\n")
    draft = script["Draft"](tmp_path)
    draft.replace("a.py", "one", "1")
    draft.replace_span("a.py", "two", "three", "2")
    draft.note("NOTES.md", "a note\n")
    assert (tmp_path / "a.py").read_bytes() == b"one two\r\nthree\n"
    assert draft.write() == ["NOTES.md", "a.py"]
    assert (tmp_path / "a.py").read_bytes() == b"1 2\n"


def test_a_span_that_ends_before_it_begins_is_refused(
    script: dict[str, Any], tmp_path: Path
) -> None:
    (tmp_path / "a.py").write_text("last first\n")
    draft = script["Draft"](tmp_path)
    with pytest.raises(script["AnchorError"], match="does not come after"):
        draft.replace_span("a.py", "first", "last", "")


def test_a_note_does_not_replace_a_file(script: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "NOTES.md").write_text("mine\n")
    with pytest.raises(script["AnchorError"], match="exists already"):
        script["Draft"](tmp_path).note("NOTES.md", "theirs\n")


# --- all of it, with the package index ---------------------------------------------------------


@pytest.mark.index
@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_controls_come_out_as_the_readme_says(tmp_path: Path) -> None:
    ledger = evaluated(SUITE, tmp_path / "ledger")
    records = records_of(ledger)
    outcomes = {
        (record["configuration"], record["task"]): record["outcome"] for record in records.values()
    }
    assert len(records) == len(outcomes) == 3 * len(TASKS)
    assert {outcomes["reference", task] for task in TASKS} == {"accepted"}
    assert {outcomes["near-miss", task] for task in TASKS} == {"rejected"}
    assert {outcomes["untouched", task] for task in TASKS} == {"no_change"}
    by_path = {(record["configuration"], record["task"]): path for path, record in records.items()}
    for task in TASKS:
        path = by_path["near-miss", task]
        grade = json.loads((path.parent / "grades" / "acceptance.json").read_text())
        failing = {check["id"] for check in grade["checks"] if not check["passed"]}
        assert failing == near_miss_fails(task)
        assert any(name in records[path]["reason"] for name in failing)
    assert git(ledger, "status", "--porcelain") == ""
