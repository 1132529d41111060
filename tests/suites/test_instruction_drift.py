from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import git
from tests.suites.conftest import evaluated, records_of

from trialbook.formats.authored import read_document

SUITE = Path(__file__).resolve().parents[2] / "suites" / "instruction-drift"
TASKS = ("user-service", "invitation-tests", "invitation-docs")
CONFIGURATIONS = ("baseline", "candidate")
EXPECTED = {
    "baseline": {"user-service": (3, 3), "invitation-tests": (4, 4), "invitation-docs": (2, 2)},
    "candidate": {"user-service": (1, 3), "invitation-tests": (2, 4), "invitation-docs": (2, 2)},
}


def recorded(folder: Path, configuration: str, task: str) -> Path:
    """The tree that a trial ends with: snapshot, instructions, recording."""
    for layer in (
        SUITE / "snapshots" / "service",
        SUITE / "instructions" / configuration,
        SUITE / "recordings" / configuration / task / "overlay",
    ):
        shutil.copytree(layer, folder, dirs_exist_ok=True)
    return folder


def own_tests(folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-B", "-m", "pytest", "-q", "-W", "error", "-p", "no:cacheprovider"],
        cwd=folder,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
        check=False,
    )


def satisfied(folder: Path, check: dict[str, str]) -> bool:
    """The answer to one of this suite's checks, worked out apart from the grader."""
    if check["type"] == "file_exists":
        return (folder / check["path"]).is_file()
    assert check["type"] == "file_contains"
    file = folder / check["file"]
    found = file.is_file() and re.search(check["pattern"], file.read_text(), re.MULTILINE)
    return bool(found)


def checks_of(task: str) -> list[dict[str, str]]:
    path = SUITE / "tasks" / task / "checks.yaml"
    document, problems = read_document(path, path.name)
    assert document is not None, problems
    assert not problems
    checks: list[dict[str, str]] = document.data["checks"]
    return checks


def test_the_instructions_differ_by_one_added_line() -> None:
    before, after = (
        (SUITE / "instructions" / name / "AGENTS.md").read_text().splitlines()
        for name in CONFIGURATIONS
    )
    (added,) = [line for line in after if line not in before]
    assert [line for line in after if line != added] == before


def test_the_decision_and_the_readme_quote_the_added_line() -> None:
    before, after = (
        (SUITE / "instructions" / name / "AGENTS.md").read_text().splitlines()
        for name in CONFIGURATIONS
    )
    (added,) = [line.removeprefix("- ") for line in after if line not in before]
    decision = " ".join((SUITE / "suite.yaml").read_text().split())
    assert added in (SUITE / "README.md").read_text()
    assert added.removesuffix(".") in decision


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("task", TASKS)
def test_recordings_score_as_the_readme_says(configuration: str, task: str, tmp_path: Path) -> None:
    folder = recorded(tmp_path / "tree", configuration, task)
    answers = [satisfied(folder, check) for check in checks_of(task)]
    assert (sum(answers), len(answers)) == EXPECTED[configuration][task]


def test_scores_add_up_to_nine_and_five_of_nine() -> None:
    totals = {
        name: tuple(sum(column) for column in zip(*scores.values(), strict=True))
        for name, scores in EXPECTED.items()
    }
    assert totals == {"baseline": (9, 9), "candidate": (5, 9)}


def test_the_untouched_snapshot_satisfies_no_check() -> None:
    service = SUITE / "snapshots" / "service"
    assert not [
        check["id"] for task in TASKS for check in checks_of(task) if satisfied(service, check)
    ]


@pytest.mark.slow
def test_the_projects_own_tests_pass(tmp_path: Path) -> None:
    shutil.copytree(SUITE / "snapshots" / "service", tmp_path / "tree")
    done = own_tests(tmp_path / "tree")
    assert done.returncode == 0, done.stdout


@pytest.mark.slow
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
@pytest.mark.parametrize("task", TASKS)
def test_recorded_code_works_and_its_tests_pass(
    configuration: str, task: str, tmp_path: Path
) -> None:
    folder = recorded(tmp_path / "tree", configuration, task)
    done = own_tests(folder)
    assert done.returncode == 0, done.stdout
    added = [p.name for p in folder.glob("tests/test_*.py") if p.name != "test_teams.py"]
    assert (
        added
        == {
            "user-service": ["test_users.py"],
            "invitation-tests": ["test_invitations.py"],
            "invitation-docs": [],
        }[task]
    )


@pytest.mark.parametrize("task", TASKS)
def test_both_configurations_record_the_same_paths(task: str) -> None:
    paths = [
        sorted(
            path.relative_to(top).as_posix()
            for top in [SUITE / "recordings" / configuration / task]
            for path in top.rglob("*")
            if path.is_file()
        )
        for configuration in CONFIGURATIONS
    ]
    assert paths[0] == paths[1]
    assert "stdout.txt" in paths[0]


@pytest.mark.slow
def test_an_evaluation_gives_nine_and_five_of_nine_in_every_repetition(tmp_path: Path) -> None:
    ledger = evaluated(SUITE, tmp_path / "ledger")
    scores: dict[tuple[str, int], list[tuple[int, int]]] = {}
    for record in records_of(ledger).values():
        (grade,) = record["grades"]
        assert record["outcome"] == ("accepted" if grade["accepted"] else "rejected")
        slot = (record["configuration"], record["repetition"])
        scores.setdefault(slot, []).append((grade["passed"], grade["total"]))
    totals = {slot: tuple(map(sum, zip(*pairs, strict=True))) for slot, pairs in scores.items()}
    assert totals == {
        ("baseline", 1): (9, 9),
        ("baseline", 2): (9, 9),
        ("candidate", 1): (5, 9),
        ("candidate", 2): (5, 9),
    }
    assert git(ledger, "status", "--porcelain") == ""
