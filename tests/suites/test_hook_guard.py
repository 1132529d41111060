from __future__ import annotations

import difflib
import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import git
from tests.suites.conftest import evaluated, records_of

SUITE = Path(__file__).resolve().parents[2] / "suites" / "hook-guard"
REFUSED = ("code-without-tests", "code-with-deleted-test")
LET_THROUGH = ("code-with-tests", "docs-only")
TASKS = (*REFUSED, *LET_THROUGH)
DECISIONS = {
    "current": dict.fromkeys(REFUSED, "refuse") | dict.fromkeys(LET_THROUGH, "allow"),
    "refuses-all": dict.fromkeys(TASKS, "refuse"),
    "refuses-none": dict.fromkeys(TASKS, "allow"),
}


def hook_text(configuration: str) -> list[str]:
    return hook_of(configuration).read_text().splitlines()


def hook_of(configuration: str) -> Path:
    return SUITE / "instructions" / configuration / ".hooks" / "require-tests"


def ask(configuration: str, diff: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [hook_of(configuration)], input=diff, capture_output=True, text=True, check=False
    )


def drive(workspace: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, SUITE / "driver" / "run_hook.py"],
        cwd=workspace,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def workspace_of(folder: Path, configuration: str, task: str) -> Path:
    for layer in (SUITE / "snapshots" / task, SUITE / "instructions" / configuration):
        shutil.copytree(layer, folder, dirs_exist_ok=True)
    return folder


def diff_of(*paths: str, marks: str = "index 1..2 100644\n") -> str:
    return "".join(
        f"diff --git a/{path} b/{path}\n{marks}--- a/{path}\n+++ b/{path}\n@@ -1 +1 @@\n-a\n+b\n"
        for path in paths
    )


@pytest.mark.parametrize("configuration", DECISIONS)
@pytest.mark.parametrize("task", TASKS)
def test_each_hook_decides_as_the_readme_says(
    configuration: str, task: str, tmp_path: Path
) -> None:
    workspace = workspace_of(tmp_path / "workspace", configuration, task)
    done = drive(workspace)
    assert done.returncode == 0, done.stderr
    verdict = json.loads((workspace / "verdict.json").read_text())
    wanted = DECISIONS[configuration][task]
    assert verdict["decision"] == wanted
    assert verdict["exit_code"] == (1 if wanted == "refuse" else 0)
    assert bool(verdict["message"]) == (wanted == "refuse")


@pytest.mark.parametrize("configuration", ["current", "refuses-all"])
@pytest.mark.parametrize("task", REFUSED)
def test_a_refusal_names_the_file_without_a_test(
    configuration: str, task: str, tmp_path: Path
) -> None:
    workspace = workspace_of(tmp_path / "workspace", configuration, task)
    drive(workspace)
    message = json.loads((workspace / "verdict.json").read_text())["message"]
    assert "src/shop/prices.py" in message


@pytest.mark.parametrize("configuration", ["refuses-all", "refuses-none"])
def test_each_broken_hook_is_one_line_away_from_the_right_one(configuration: str) -> None:
    changes = [
        line
        for line in difflib.ndiff(hook_text("current"), hook_text(configuration))
        if line.startswith(("- ", "+ "))
    ]
    assert [line[0] for line in changes] == ["-", "+"]


@pytest.mark.parametrize(
    ("diff", "status"),
    [
        ("", 0),
        (diff_of("README.md"), 0),
        (diff_of("src/shop/data.json"), 0),
        (diff_of("src/shop/deep/er/a.py"), 1),
        (diff_of("src/a b.py"), 1),
        ('diff --git "a/src/\\303\\244.py" "b/src/\\303\\244.py"\nindex 1..2 100644\n', 1),
        ('diff --git a/src/a.py "b/src/\\303\\244.py"\nrename from src/a.py\n', 1),
        ('diff --git "a/src/\\303\\244.txt" b/src/a.py\nrename to src/a.py\n', 1),
        (diff_of("src/a.py", "tests/conftest.py"), 1),
        (diff_of("src/a.py", "tests/unit/deep/test_a.py"), 0),
        (diff_of("tests/test_a.py", "src/a.py"), 0),
        (diff_of("src/a.py") + diff_of("tests/test_a.py", marks="deleted file mode 100644\n"), 1),
        (diff_of("tests/test_a.py", marks="deleted file mode 100644\n") + diff_of("src/a.py"), 1),
        (diff_of("src/a.py").rstrip("\n"), 1),
    ],
)
def test_the_right_hook_weighs_paths_not_lines(diff: str, status: int) -> None:
    assert ask("current", diff).returncode == status


def test_lines_that_look_like_headers_do_not_mislead_the_right_hook() -> None:
    diff = diff_of("src/a.py") + "+diff --git a/tests/test_a.py b/tests/test_a.py\n+++ tests\n"
    assert ask("current", diff).returncode == 1


@pytest.mark.parametrize("task", TASKS)
def test_each_change_is_a_diff_that_git_reads(task: str) -> None:
    done = subprocess.run(
        ["git", "apply", "--numstat", SUITE / "snapshots" / task / "change.diff"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


@pytest.mark.parametrize("status", [2, 77])
def test_the_driver_calls_any_other_status_an_error(status: int, tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path / "workspace", "current", "docs-only")
    hook = workspace / ".hooks" / "require-tests"
    hook.write_text(f"#!/bin/sh\necho broken >&2\nexit {status}\n")
    assert drive(workspace).returncode == 0
    verdict = json.loads((workspace / "verdict.json").read_text())
    assert verdict == {"decision": "error", "exit_code": status, "message": "broken"}


def test_the_driver_fails_without_a_hook(tmp_path: Path) -> None:
    shutil.copytree(SUITE / "snapshots" / "docs-only", tmp_path / "workspace")
    done = drive(tmp_path / "workspace")
    assert done.returncode == 1
    assert "missing or not executable" in done.stderr
    assert not (tmp_path / "workspace" / "verdict.json").exists()


def test_the_driver_fails_without_a_change(tmp_path: Path) -> None:
    workspace = workspace_of(tmp_path / "workspace", "current", "docs-only")
    (workspace / "change.diff").unlink()
    done = drive(workspace)
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    assert "change.diff" in done.stderr


@pytest.mark.slow
def test_an_evaluation_accepts_the_right_hook_and_half_of_each_broken_one(tmp_path: Path) -> None:
    ledger = evaluated(SUITE, tmp_path / "ledger")
    outcomes = {
        (record["configuration"], record["task"]): record["outcome"]
        for record in records_of(ledger).values()
    }
    assert outcomes == {
        (name, task): "accepted" if decision == DECISIONS["current"][task] else "rejected"
        for name, decisions in DECISIONS.items()
        for task, decision in decisions.items()
    }
    assert git(ledger, "status", "--porcelain") == ""
