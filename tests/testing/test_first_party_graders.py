"""The graders that are shipped keep the promises that a stranger's must keep."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trialbook.testing import GradingCase, check_grader
from trialbook_graders.acceptance import AcceptanceGrader
from trialbook_graders.checks import ChecksGrader

CHECKS = """
checks:
  - id: addition
    question: Does the function add?
    type: file_contains
    file: calc.py
    pattern: "a [+] b"
  - id: compiles
    question: Does it compile?
    type: command_succeeds
    run: [python3, -m, py_compile, calc.py]
"""
TESTS = """
import os
import subprocess
import sys


def test_add():
    said = subprocess.run(
        [sys.executable, "-c", "import calc; print(calc.add(2, 2))"],
        cwd=os.environ["CANDIDATE"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert said.stdout == "4\\n"


def test_sentinel():
    assert False
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, operator in (("good", "+"), ("bad", "-"), ("baseline", "-")):
        (tmp_path / name).mkdir()
        text = f"def add(a, b):\n    return a {operator} b\n"
        (tmp_path / name / "calc.py").write_text(text)
    (tmp_path / "task").mkdir()
    return tmp_path


def test_the_checks_grader_conforms(folder: Path) -> None:
    (folder / "task" / "checks.yaml").write_text(CHECKS)
    case = GradingCase(
        task_folder=folder / "task",
        good=folder / "good",
        bad=folder / "bad",
        baseline=folder / "baseline",
        parameters={"file": "checks.yaml"},
    )
    check_grader(ChecksGrader(), folder / "work", case)


@pytest.mark.slow
def test_the_acceptance_grader_conforms(folder: Path) -> None:
    tests = folder / "task" / "private" / "tests"
    tests.mkdir(parents=True)
    (tests / "test_calc.py").write_text(TESTS)
    expected = {"passed": ["test_calc::test_add"], "must_fail": ["test_calc::test_sentinel"]}
    (tests.parent / "expected.json").write_text(json.dumps(expected))
    case = GradingCase(
        task_folder=folder / "task",
        good=folder / "good",
        bad=folder / "bad",
        baseline=folder / "baseline",
        parameters={
            "run": "pytest",
            "tests": "private/tests",
            "expect": "private/expected.json",
            "environment": {"CANDIDATE": "{candidate}"},
        },
    )
    check_grader(AcceptanceGrader(), folder / "work", case)
