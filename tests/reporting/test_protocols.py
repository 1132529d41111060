from __future__ import annotations

from dataclasses import replace

from tests.recorded import a_plan

from trialbook.model.lock import (
    Lock,
    LockedConfiguration,
    LockedGrader,
    LockedRules,
    LockedTask,
)
from trialbook.model.suite import Comparison, Limits
from trialbook.reporting.protocols import Change, protocol_changes

TASK = LockedTask(
    source="folder ../../snapshots/service",
    tree="1" * 40,
    brief_sha256="b" * 64,
    limits=Limits(),
    requirements_sha256=None,
    digest="d" * 64,
)
CHECKS = LockedGrader(name="checks", version="1", distribution="t", distribution_version="0.1.0")
LOCK = Lock(
    suite="s",
    protocol=1,
    created="2026-11-30T16:54:10.041Z",
    locked_by=None,
    as_root=False,
    runner=a_plan({}, []).runner,
    digest="e" * 64,
    rules=LockedRules(
        accept="checks",
        repetitions=2,
        limits=Limits(),
        limits_are_failures=True,
        rerun={"environment_failure": 1},
        compare=None,
    ),
    graders=(CHECKS,),
    tasks={"a": TASK, "b": TASK},
    configurations={"base": LockedConfiguration(sandbox="none", limits=Limits(), digest="c" * 64)},
    files={
        "suites/s/suite.yaml": "100644 1",
        "suites/s/tasks/a/brief.md": "100644 1",
        "suites/s/tasks/a/old.md": "100644 1",
        "suites/s/configurations/base.yaml": "100644 1",
        "suites/s/instructions/base/AGENTS.md": "100644 1",
    },
    matrix=(),
)


def said(after: Lock) -> list[Change]:
    return protocol_changes(LOCK, after)


def test_the_same_lock_under_another_number_has_no_change() -> None:
    assert said(replace(LOCK, protocol=2, created="2026-12-01T00:00:00.000Z")) == []


def test_rules_are_told_value_by_value() -> None:
    compare = Comparison(baseline="base", candidate="next", margin=0.1)
    limits = replace(Limits(), minutes=30.0, turns=40)
    rules = replace(LOCK.rules, repetitions=5, compare=compare, limits=limits)
    [change] = said(replace(LOCK, rules=rules))
    assert (change.kind, change.how) == ("rules", "changed")
    assert change.details[:3] == (
        "repetitions: 2 → 5",
        "limits, minutes: 20 → 30",
        "limits, turns: none → 40",
    )
    assert change.details[3].startswith("compare: none → baseline base, candidate next, margin 0.1")


def test_a_task_that_comes_goes_or_changes_is_told_with_its_files() -> None:
    files = {path: entry for path, entry in LOCK.files.items() if not path.endswith("old.md")}
    files |= {"suites/s/tasks/a/brief.md": "100644 2", "suites/s/tasks/c/brief.md": "100644 1"}
    changed = replace(TASK, tree="2" * 40, digest="f" * 64)
    found = said(replace(LOCK, tasks={"a": changed, "c": TASK}, files=files))
    assert [(one.name, one.how) for one in found] == [
        ("a", "changed"),
        ("b", "removed"),
        ("c", "added"),
    ]
    assert found[0].details == (
        "tree: 111111111111 → 222222222222",
        "changed: tasks/a/brief.md",
        "removed: tasks/a/old.md",
    )
    assert found[2].details == ("starts from folder ../../snapshots/service",)


def test_graders_configurations_and_shared_files_are_told_apart() -> None:
    files = LOCK.files | {
        "suites/s/suite.yaml": "100644 2",
        "suites/s/configurations/base.yaml": "100644 2",
        "suites/s/instructions/base/AGENTS.md": "100644 2",
        "suites/s/instructions/base/CLAUDE.md": "100644 1",
    }
    base = replace(LOCK.configurations["base"], sandbox="strongest", digest="9" * 64)
    after = replace(
        LOCK,
        graders=(replace(CHECKS, version="2"), replace(CHECKS, name="acceptance")),
        configurations={"base": base},
        files=files,
    )
    assert said(after) == [
        Change(
            kind="configuration",
            name="base",
            how="changed",
            details=("sandbox: none → strongest", "changed: configurations/base.yaml"),
        ),
        Change(kind="grader", name="acceptance", how="added", details=("version 1",)),
        Change(kind="grader", name="checks", how="changed", details=("version: 1 → 2",)),
        Change(
            kind="files",
            name="instructions/",
            how="changed",
            details=("changed: instructions/base/AGENTS.md", "added: instructions/base/CLAUDE.md"),
        ),
        Change(kind="files", name="suite.yaml", how="changed"),
    ]
