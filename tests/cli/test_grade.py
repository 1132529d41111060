from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tests.conftest import git, trialbook, write_files

CHECKS = {
    "01-service/task.md": "Write the service.\n",
    "01-service/checks.yaml": """\
task: service
checks:
  - id: service-exists
    type: file_exists
    path: src/service.py
    severity: HIGH
  - id: service-uses-class
    type: file_contains
    file: src/service.py
    pattern: "^class "
    severity: MEDIUM
""",
    "02-docs/checks.yaml": """\
checks:
  - id: no-todo
    type: file_not_contains
    file: docs/index.md
    pattern: TODO
""",
    "notes/readme.txt": "no task\n",
}
GOOD = {"src/service.py": "class Service: ...\n", "docs/index.md": "# Docs\n"}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    write_files(tmp_path / "eval", CHECKS)
    write_files(tmp_path / "good", GOOD)
    write_files(tmp_path / "bad", GOOD | {"src/service.py": "def service(): ...\n"})
    return tmp_path


def test_a_folder_that_passes_everything(place: Path) -> None:
    done = trialbook(place, "grade", "--path", "good", "--eval-dir", "eval")
    lines = done.stdout.splitlines()
    assert lines[0].split() == ["task", "passed", "failed", "total"]
    assert [line.split() for line in lines[2:4]] == [
        ["01-service", "2", "0", "2"],
        ["02-docs", "1", "0", "1"],
    ]
    assert lines[5].split() == ["total", "3", "0", "3"]
    assert lines[7:] == ["Score: 3/3 (100%)"]


def test_a_folder_that_fails_says_what_and_where(place: Path) -> None:
    done = trialbook(place / "bad", "grade", "--eval-dir", "../eval", check=1)
    assert "Score: 2/3 (66%)" in done.stdout
    assert (
        "Failures:\n"
        "  01-service / service-uses-class: src/service.py does not match '^class '\n"
        "      src/service.py: looked for '^class ' in 1 line, not found\n"
    ) in done.stdout


def test_tasks_can_be_picked(place: Path) -> None:
    done = trialbook(place, "grade", "-p", "bad", "-e", "eval", "-t", "02-docs")
    assert "Score: 1/1 (100%)" in done.stdout
    wrong = trialbook(place, "grade", "-p", "bad", "-e", "eval", "-t", "03", check=2)
    assert "no task named 03" in wrong.stderr
    assert "01-service, 02-docs" in wrong.stderr


def test_json_has_every_check_with_its_evidence(place: Path) -> None:
    done = trialbook(place, "grade", "-p", "bad", "-e", "eval", "--json", check=1)
    told = json.loads(done.stdout)
    assert (told["passed"], told["total"], told["unanswered"]) == (2, 3, 0)
    service, docs = told["tasks"]
    assert (service["task"], service["accepted"], docs["accepted"]) == ("01-service", False, True)
    checks = service["grades"][0]["checks"]
    assert [check["passed"] for check in checks] == [True, False]
    assert checks[1]["severity"] == "medium"
    assert checks[1]["evidence"][0]["file"] == "src/service.py"


def test_every_mistake_in_the_checks_is_told(place: Path) -> None:
    write_files(
        place / "eval",
        {
            "01-service/checks.yaml": "checks:\n  - {id: a, type: nope}\n",
            "02-docs/checks.yaml": (
                'checks:\n  - {id: a, type: file_contains, file: x, pattern: "("}\n'
            ),
        },
    )
    done = trialbook(place, "grade", "-p", "good", "-e", "eval", check=2)
    assert "eval/01-service/checks.yaml:2:" in done.stderr
    assert "eval/02-docs/checks.yaml:2:" in done.stderr
    assert "2 problems to fix" in done.stderr


def test_no_task_at_all_is_something_to_fix(place: Path) -> None:
    done = trialbook(place, "grade", "-p", "good", "-e", "good", check=2)
    assert "no task in good" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["-e", "eval", "-s", "mini"]])
def test_exactly_one_source_of_checks_is_needed(place: Path, arguments: list[str]) -> None:
    done = trialbook(place, "grade", "-p", "good", *arguments, check=2)
    assert "either --suite or --eval-dir" in done.stderr


def test_what_cannot_be_answered_is_told_apart(place: Path) -> None:
    write_files(
        place / "eval",
        {"02-docs/checks.yaml": "checks:\n  - {id: few, type: max_changed_files, count: 3}\n"},
    )
    done = trialbook(place, "grade", "-p", "good", "-e", "eval", check=2)
    assert done.stdout.splitlines()[0].split() == [
        "task",
        "passed",
        "failed",
        "total",
        "no",
        "answer",
    ]
    assert "02-docs / few: no answer: needs a change to look at" in done.stdout
    assert "Score: 2/3" in done.stdout


def test_nothing_of_the_folder_acts_on_the_terminal(place: Path) -> None:
    write_files(place / "good", {"docs/index.md": "TODO \x1b]0;owned\x07 \u202e\n"})
    done = trialbook(place, "grade", "-p", "good", "-e", "eval", check=1)
    assert "\x1b" not in done.stdout
    assert "\u202e" not in done.stdout
    assert "TODO \\x1b]0;owned\\x07 \\u202e" in done.stdout


def test_a_hostile_folder_is_graded_without_harm(place: Path) -> None:
    folder = place / "good"
    (folder / "docs/index.md").unlink()
    (folder / "docs/index.md").symlink_to("/etc/passwd")
    os.mkfifo(folder / "pipe")
    write_files(folder, {".git/config": "[core]\n\tfsmonitor = touch owned\n"})
    done = trialbook(place, "grade", "-p", "good", "-e", "eval", check=1)
    assert "docs/index.md is a symbolic link" in done.stdout
    assert "root" not in done.stdout
    assert not (folder / "owned").exists()


def test_a_suite_of_the_ledger_grades_a_folder(ledger: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "work", {"answer.txt": "first 1\n", "README.md": "# x\n"})
    done = trialbook(ledger, "grade", "-p", "../work", "-s", "mini", check=1)
    assert "Score: 3/4 (75%)" in done.stdout
    done = trialbook(ledger, "grade", "-p", "../work", "-s", "mini", "-t", "first")
    assert "Score: 2/2 (100%)" in done.stdout
    assert git(ledger, "status", "--porcelain") == ""
    wrong = trialbook(ledger, "grade", "-p", "../work", "-s", "mini", "-t", "third", check=2)
    assert "suite mini has no task named third" in wrong.stderr


def test_what_a_killed_grading_left_is_swept_by_the_next_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = tmp_path / "work"
    monkeypatch.setenv("TRIALBOOK_WORK", str(work))
    write_files(
        tmp_path,
        {
            "code/a.py": "x = 1\n",
            "slow/one/checks.yaml": "checks:\n"
            "  - {id: a, question: q, type: command_succeeds, run: [sleep, '60']}\n",
            "quick/one/checks.yaml": "checks:\n"
            "  - {id: a, question: q, type: file_exists, path: a.py}\n",
        },
    )
    command = [sys.executable, "-m", "trialbook", "grade", "-p", "code", "-e", "slow"]
    process = subprocess.Popen(
        command, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    for _ in range(600):
        if list(work.glob("*/*")):
            break
        time.sleep(0.05)
    process.kill()
    process.wait()
    assert list(work.glob("*/*"))
    trialbook(tmp_path, "grade", "-p", "code", "-e", "quick")
    assert list(work.iterdir()) == []
