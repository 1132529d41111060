from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import git, trialbook, write_files

from trialbook.formats.authored import parse_document

CURRENT = """\
configuration: current
agent: command
instructions: {from: {revision: main, paths: [AGENTS.md, .agent]}}
with:
  argv: [cp, AGENTS.md, answer.txt]
"""
SUITE = """\
suite: rules
protocol: 1
decision: May the line about answers go?
configurations: [current]
repetitions: 3
limits: {minutes: 1}
accept: checks
"""
TASK = """\
task: answer
category: small-fix
snapshot: {{git: ../../../.., commit: {commit}}}
brief: brief.md
graders:
  - checks: checks.yaml
"""
CHECKS = """\
checks:
  - id: says-why
    question: Does the answer say why?
    type: file_contains
    file: answer.txt
    pattern: "because"
  - id: polite
    question: Is the answer polite?
    type: file_contains
    file: answer.txt
    pattern: "please"
"""


@pytest.fixture
def product(tmp_path: Path) -> Path:
    """A product's repository with a ledger in it; a branch takes lines out of AGENTS.md."""
    folder = tmp_path / "product"
    write_files(folder, {"AGENTS.md": "please\nbecause\n", "README.md": "# product\n"})
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "product")
    commit = git(folder, "rev-parse", "HEAD").strip()
    suite = "suites/rules"
    write_files(
        folder,
        {
            f"{suite}/suite.yaml": SUITE,
            f"{suite}/configurations/current.yaml": CURRENT,
            f"{suite}/tasks/answer/task.yaml": TASK.format(commit=commit),
            f"{suite}/tasks/answer/brief.md": "Answer.\n",
            f"{suite}/tasks/answer/checks.yaml": CHECKS,
            "runs/README.md": "runs\n",
        },
    )
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "suite")
    trialbook(folder, "suite", "lock", "rules")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "lock")
    git(folder, "checkout", "-q", "-b", "shorter")
    write_files(folder, {"AGENTS.md": "hurry\n", ".agent/skill.md": "skill\n"})
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "shorter rules")
    return folder


@pytest.mark.slow
def test_a_pull_requests_instructions_are_gated_against_mains(product: Path) -> None:
    done = trialbook(product, "gate", "rules", "--revisions", "main..shorter", "--json", check=1)
    said = json.loads(done.stdout)
    assert said["answer"] == "fail"
    assert (said["baseline"]["configuration"], said["candidate"]["configuration"]) == (
        "base",
        "head",
    )
    run = said["candidate"]["runs"][0]
    plan = json.loads((product / f"runs/rules/{run}/plan.json").read_text())
    assert plan["status"] == "locked"
    taken = {name: one["taken"] for name, one in plan["configurations"].items()}
    assert sorted(taken["base"]["files"]) == ["AGENTS.md"]
    assert sorted(taken["head"]["files"]) == [".agent/skill.md", "AGENTS.md"]
    assert taken["base"]["commit"] == git(product, "rev-parse", "main").strip()
    compared = json.loads(
        trialbook(
            product, "compare", run, "--baseline", "base", "--candidate", "head", "--json"
        ).stdout
    )
    assert compared["differs"] == ["instruction files (.agent/skill.md, AGENTS.md)"]
    trialbook(product, "verify")
    assert git(product, "status", "--porcelain") == ""


@pytest.mark.slow
def test_the_work_tree_can_be_the_head_and_nothing_changed_passes(product: Path) -> None:
    write_files(product, {"AGENTS.md": "please\nbecause\nhurry\n"})
    (product / ".agent/skill.md").unlink()
    done = trialbook(product, "gate", "rules", "--revisions", "main...", "--json")
    assert json.loads(done.stdout)["answer"] == "pass"


def steps_of(service: str, folder: Path) -> list[str]:
    """The shell lines of a CI template that run the gate, and what comes after it."""
    text = trialbook(folder, "init", "--ci", service).stdout
    job = parse_document(text, "job.yml")[0]
    assert job is not None
    if service == "github":
        return [
            step["run"]
            for step in job.data["jobs"]["gate"]["steps"]
            if "trialbook gate" in step.get("run", "") or "bundle" in step.get("run", "")
        ]
    return [*job.data["gate"]["script"], *job.data["gate"]["after_script"]]


@pytest.mark.slow
@pytest.mark.parametrize(("service", "status"), [("github", 1), ("gitlab", 1)])
def test_the_jobs_for_ci_services_run_as_far_as_a_shell_can_run_them(
    product: Path, tmp_path: Path, service: str, status: int
) -> None:
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(product), str(clone))
    git(clone, "checkout", "-q", "shorter")
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "trialbook").write_text(f'#!/bin/sh\nexec {sys.executable} -m trialbook "$@"\n')
    (programs / "trialbook").chmod(0o755)
    environment = {
        **os.environ,
        "PATH": f"{programs}:{os.environ['PATH']}",
        "SUITE": "rules",
        "GITHUB_BASE_REF": "main",
        "GITHUB_STEP_SUMMARY": str(tmp_path / "summary.md"),
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": git(clone, "rev-parse", "origin/main").strip(),
    }
    ended = [
        subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step],
            cwd=clone,
            env=environment,
            stdin=subprocess.DEVNULL,
            check=False,
        ).returncode
        for step in steps_of(service, clone)
    ]
    assert ended == [status, 0]
    assert (clone / "gate.md").read_text().startswith("## rules\\@1: FAIL")
    assert git(clone, "bundle", "list-heads", "trialbook-runs.bundle")


def test_what_is_no_pair_of_revisions_or_not_there_is_told(product: Path) -> None:
    told = trialbook(product, "gate", "rules", "--revisions", "main", check=2).stderr
    assert "is no pair of revisions" in told
    told = trialbook(product, "gate", "rules", "--revisions", "nothing..main", check=2).stderr
    assert "has no revision 'nothing'" in told


@pytest.mark.parametrize(
    ("written", "told"),
    [
        ("{from: {revision: main}}", "paths"),
        ("{from: {revision: main, paths: [../x]}}", "is not a usable path"),
        ("{from: {revision: main, paths: [/etc]}}", "is not a usable path"),
        ("{from: {revision: main, paths: [.git/config]}}", "is not a usable path"),
        ("{from: {revision: --all, paths: [a]}}", "is not a revision"),
        ("{form: {revision: main, paths: [a]}}", "unknown key `form`"),
        ("[a]", "instructions"),
    ],
)
def test_mistakes_in_what_is_taken_have_a_place(ledger: Path, written: str, told: str) -> None:
    path = ledger / "suites/mini/configurations/good.yaml"
    path.write_text(path.read_text() + f"instructions: {written}\n")
    said = trialbook(ledger, "suite", "check", "mini", check=2)
    assert "suites/mini/configurations/good.yaml:6:" in said.stdout + said.stderr
    assert told in said.stdout + said.stderr


def test_a_suite_that_takes_instructions_from_a_revision_can_be_checked(product: Path) -> None:
    ledger = next(product.glob("**/suites")).parent
    assert trialbook(ledger, "suite", "check", "rules").returncode == 0
