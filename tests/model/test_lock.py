from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.storage.conftest import make_plan

from trialbook.model.lock import (
    Frozen,
    Lock,
    LockedConfiguration,
    LockedGrader,
    LockedRules,
    LockedTask,
    differences,
    disagreements,
    lock_digest,
)
from trialbook.model.paths import path_to_text
from trialbook.model.plan import PlannedJudgement, Runner
from trialbook.model.suite import Comparison, Limits


def entry(data: bytes, mode: str = "100644") -> str:
    return f"{mode} {hashlib.sha256(data).hexdigest()}"


def test_the_digest_is_that_of_the_published_example() -> None:
    files = {"b/c.sh": entry(b"x\n", "100755"), "a.txt": entry(b"hello\n")}
    assert lock_digest(files) == "f61dc0d87c136e6735784db0de8b79e660994245f4d209be1a6b45472c7cf74b"


@given(st.dictionaries(st.binary(min_size=1, max_size=6), st.binary(max_size=3), max_size=5))
def test_the_digest_goes_by_the_bytes_of_the_paths(files: dict[bytes, bytes]) -> None:
    named = {path_to_text(path): entry(data) for path, data in files.items()}
    lines = b"".join(
        b"100644 " + hashlib.sha256(files[path]).hexdigest().encode() + b" " + path + b"\n"
        for path in sorted(files)
    )
    assert lock_digest(named) == hashlib.sha256(lines).hexdigest()


FROZEN = Frozen(
    rules=LockedRules(
        accept="checks",
        repetitions=2,
        limits=Limits(),
        limits_are_failures=True,
        rerun={"environment_failure": 1},
        compare=None,
    ),
    graders=(
        LockedGrader(
            name="checks", version="1", distribution="trialbook", distribution_version="0.1.0"
        ),
    ),
    tasks={
        "t": LockedTask(
            source="",
            tree="",
            brief_sha256="b",
            limits=Limits(),
            requirements_sha256=None,
            digest="d",
        )
    },
    configurations={"c": LockedConfiguration(sandbox="none", limits=Limits(), digest="e")},
    files={"suites/s/suite.yaml": entry(b"1"), "suites/s/run.sh": entry(b"2", "100755")},
)


def locked(**named: Any) -> Lock:
    parts = {name: getattr(FROZEN, name) for name in ("rules", "graders", "configurations")}
    tasks = {name: replace(task, source="s", tree="a" * 40) for name, task in FROZEN.tasks.items()}
    usual = {
        "suite": "s",
        "protocol": 1,
        "created": "2026-11-30T15:00:00.000Z",
        "locked_by": None,
        "as_root": False,
        "runner": Runner(trialbook="0", python="3", platform="x", git=None, cpus=1),
        "digest": lock_digest(FROZEN.files),
        "tasks": tasks,
        "files": FROZEN.files,
        "matrix": (),
    }
    return Lock(**(parts | usual | named))


def told(frozen: Frozen) -> list[str]:
    return [str(one) for one in differences(locked(), frozen)]


def test_what_is_as_locked_differs_in_nothing() -> None:
    assert told(FROZEN) == []


def test_every_file_that_is_not_as_locked_is_named() -> None:
    files = {"suites/s/suite.yaml": entry(b"other"), "suites/s/new.md": entry(b"3")}
    assert told(replace(FROZEN, files=files)) == [
        "suites/s/new.md: new",
        "suites/s/run.sh: gone",
        "suites/s/suite.yaml: changed",
    ]
    files = FROZEN.files | {"suites/s/run.sh": entry(b"2")}
    assert told(replace(FROZEN, files=files)) == [
        "suites/s/run.sh: mode 100644, locked 100755",
    ]


def test_a_grader_of_another_version_is_named() -> None:
    newer = (replace(FROZEN.graders[0], version="2"),)
    (said,) = told(replace(FROZEN, graders=newer))
    assert said.startswith("grader checks: version 2 of trialbook, locked is version 1 of ")
    other = (replace(FROZEN.graders[0], distribution="forked"),)
    assert len(told(replace(FROZEN, graders=other))) == 1


def test_a_newer_program_with_the_same_grader_is_no_difference() -> None:
    newer = (replace(FROZEN.graders[0], distribution_version="0.2.0"),)
    assert told(replace(FROZEN, graders=newer)) == []


def test_a_rubric_that_was_changed_is_named() -> None:
    asked = PlannedJudgement(
        rubric="merge@1",
        rubric_sha256="1" * 64,
        reviewers=2,
        third=None,
        controls=0.1,
        repeats=0.1,
        shown=(),
        reviewed="all",
        usd_per_hour=None,
    )
    rules = replace(FROZEN.rules, judgement=asked)
    other = replace(FROZEN.rules, judgement=replace(asked, rubric_sha256="2" * 64))
    (said,) = differences(locked(rules=rules), replace(FROZEN, rules=other))
    assert str(said).startswith("rubric merge@1: changed")
    assert differences(locked(rules=rules), replace(FROZEN, rules=rules)) == []


def test_a_default_of_the_program_that_changed_is_told() -> None:
    rules = replace(FROZEN.rules, limits=Limits(minutes=30))
    assert told(replace(FROZEN, rules=rules)) == [
        "the suite's rules: limits.minutes is 30, locked is 20.0; a default of trialbook changed"
    ]
    task = replace(FROZEN.tasks["t"], limits=Limits(file_mb=1))
    assert "task t: limits.file_mb is 1" in told(replace(FROZEN, tasks={"t": task}))[0]
    configuration = replace(FROZEN.configurations["c"], sandbox="other")
    assert told(replace(FROZEN, configurations={"c": configuration}))[0].startswith(
        "configuration c: sandbox is 'other', locked is 'none'"
    )


# --- plans ---------------------------------------------------------------------------------------


def lock_of(plan: Any) -> Lock:
    """A lock that says what a plan says."""
    files: dict[str, str] = dict(plan.files)
    for part in (*plan.tasks.values(), *plan.configurations.values()):
        files |= part.files
    return locked(
        suite=plan.suite,
        protocol=plan.protocol,
        rules=LockedRules(
            accept=plan.accept,
            repetitions=plan.repetitions,
            limits=Limits(),
            limits_are_failures=plan.limits_are_failures,
            rerun={"environment_failure": plan.rerun.get("environment_failure")},
            compare=plan.compare,
        ),
        tasks={
            name: LockedTask(
                source=task.source,
                tree=task.tree,
                brief_sha256=task.brief_sha256,
                limits=task.limits,
                requirements_sha256=None,
                digest=task.digest,
            )
            for name, task in plan.tasks.items()
        },
        configurations={
            name: LockedConfiguration(sandbox=one.sandbox, limits=one.limits, digest=one.digest)
            for name, one in plan.configurations.items()
        },
        files={path: f"100644 {digest}" for path, digest in files.items()},
    )


def test_a_plan_made_under_a_lock_agrees_with_it_also_if_it_leaves_something_out() -> None:
    plan = make_plan()
    lock = lock_of(plan)
    assert disagreements(lock, plan) == []
    fewer = replace(plan, tasks=dict(list(plan.tasks.items())[:1]), repetitions=9)
    assert disagreements(lock, fewer) == []


@pytest.mark.parametrize(
    ("change", "where"),
    [
        ({"suite": "another"}, "suite"),
        ({"protocol": 9}, "protocol"),
        ({"accept": "not checks"}, "accept"),
        ({"limits_are_failures": False}, "limits_are_failures"),
        ({"files": {"suites/demo/suite.yaml": "f" * 64}}, "suites/demo/suite.yaml"),
    ],
)
def test_a_plan_that_says_something_else_is_found(change: dict[str, Any], where: str) -> None:
    plan = make_plan()
    found = disagreements(lock_of(plan), replace(plan, **change))
    assert where in {one.where for one in found}


def test_a_task_or_configuration_that_was_planned_otherwise_is_found() -> None:
    plan = make_plan()
    lock = lock_of(plan)
    name = next(iter(plan.tasks))
    task = replace(plan.tasks[name], tree="1" * 40)
    found = disagreements(lock, replace(plan, tasks={name: task}))
    assert [one.where for one in found] == [f"task {name}"]
    found = disagreements(lock, replace(plan, tasks={"unknown": task}))
    assert [str(one) for one in found] == ["task unknown: is not in the lock"]
    name = next(iter(plan.configurations))
    other = replace(plan.configurations[name], sandbox="other")
    found = disagreements(lock, replace(plan, configurations={name: other}))
    assert [one.where for one in found] == [f"configuration {name}"]


def test_a_plan_reads_through_links_that_a_lock_keeps_as_links() -> None:
    plan = replace(make_plan(), files={"suites/demo/link/a.md": "1" * 64})
    lock = lock_of(plan)
    files = {path: one for path, one in lock.files.items() if path != "suites/demo/link/a.md"}
    assert disagreements(replace(lock, files=files), plan)
    linked = files | {"suites/demo/link": f"120000 {'2' * 64}"}
    assert disagreements(replace(lock, files=linked), plan) == []


SIDES = Comparison(baseline="current", candidate="cheap")
MARGIN = replace(SIDES, margin=0.1, because="one in ten")


@pytest.mark.parametrize(
    ("locked", "planned", "agrees"),
    [
        (None, SIDES, True),
        (SIDES, replace(MARGIN, looks=(1,)), True),
        (MARGIN, replace(MARGIN, looks=(1, 2)), True),
        (MARGIN, replace(MARGIN, margin=0.2), False),
        (MARGIN, replace(MARGIN, because="because"), False),
        (replace(SIDES, looks=(1,)), SIDES, False),
        (SIDES, replace(SIDES, alpha=0.1), False),
        (SIDES, replace(SIDES, candidate="other"), False),
        (SIDES, None, False),
    ],
)
def test_a_plan_may_fill_what_a_lock_leaves_open_about_comparing_and_change_nothing(
    locked: Comparison | None, planned: Comparison | None, *, agrees: bool
) -> None:
    plan = make_plan()
    lock = lock_of(replace(plan, compare=locked))
    found = disagreements(lock, replace(plan, compare=planned))
    assert [one.where for one in found] == ([] if agrees else ["compare"])
