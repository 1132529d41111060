"""Locks of suites: against themselves, against plans that name them, and against the suite."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.verify.book import Book, Recipe, a_demo_plan, make

from trialbook.formats.records import to_json
from trialbook.model.digest import sha256
from trialbook.model.lock import (
    Lock,
    LockedConfiguration,
    LockedRules,
    LockedTask,
    lock_digest,
)
from trialbook.model.plan import PlannedLock
from trialbook.model.suite import Limits

Cook = Callable[..., Book]

LOCK = "suites/demo/locks/1.json"
SUITE = b"suite: demo\nprotocol: 1\n"


def a_lock(**changes: Any) -> Lock:
    """The lock that fits the plan of an honest ledger."""
    plan = a_demo_plan("0" * 40)
    files = {"suites/demo/suite.yaml": f"100644 {sha256(SUITE)}"}
    plain = Lock(
        suite="demo",
        protocol=1,
        created="2026-11-30T15:00:00.000Z",
        locked_by=None,
        as_root=False,
        runner=plan.runner,
        digest=lock_digest(files),
        rules=LockedRules(
            accept=plan.accept,
            repetitions=2,
            limits=Limits(),
            limits_are_failures=True,
            rerun={"environment_failure": 1},
            compare=None,
        ),
        graders=(),
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
        files=files,
        matrix=(),
    )
    return replace(plain, **changes)


def locked(cook: Cook, lock_sha256: str | None = None, **changes: Any) -> Book:
    """A ledger with a lock whose plan says that the suite was locked."""
    tree = cook(close=False).git("rev-parse", "main:suites/demo/snapshots/app")
    tasks = {name: replace(task, tree=tree) for name, task in a_lock().tasks.items()}
    data = to_json(a_lock(tasks=tasks))
    named = PlannedLock(path=LOCK, sha256=lock_sha256 or sha256(data))
    return cook(
        plan=lambda plan: replace(plan, **{"status": "locked", "lock": named, **changes}),
        suite_files={LOCK: data},
    )


@pytest.fixture
def cook(tmp_path_factory: pytest.TempPathFactory) -> Cook:
    """Makes as many ledgers as are wanted."""

    def made(**steps: Any) -> Book:
        return make(tmp_path_factory.mktemp("cooked") / "ledger", Recipe(**steps))

    return made


def test_a_locked_run_is_no_fault(cook: Cook) -> None:
    assert locked(cook).verify().faults == ()


def test_a_lock_that_was_not_there_when_the_plan_came_is_a_fault(cook: Cook) -> None:
    book = cook(
        plan=lambda plan: replace(
            plan, status="locked", lock=PlannedLock(path=LOCK, sha256="0" * 64)
        )
    )
    book.commit({LOCK: to_json(a_lock())})
    assert "lock-missing" in book.codes()


def test_a_plan_against_another_lock_is_a_fault(cook: Cook) -> None:
    assert locked(cook, lock_sha256="0" * 64).codes() == {"lock-differs"}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"accept": "not checks"}, "accept"),
        ({"rerun": {"environment_failure": 3}}, "rerun"),
        ({"limits_are_failures": False}, "limits_are_failures"),
    ],
)
def test_a_plan_with_other_rules_than_its_lock_is_a_fault(
    cook: Cook, changes: dict[str, Any], said: str
) -> None:
    faults = locked(cook, **changes).verify().faults
    mine = [fault for fault in faults if fault.code.value == "lock-differs"]
    assert mine
    assert said in mine[0].detail


def test_a_suite_that_is_not_as_its_number_was_locked_is_a_fault(cook: Cook) -> None:
    book = locked(cook)
    book.commit({"suites/demo/suite.yaml": SUITE + b"decision: another\n"})
    (fault,) = book.verify().faults
    assert (fault.code.value, fault.path) == ("suite-differs", "suites/demo/suite.yaml")
    # Under the next number it may be as it likes.
    book.commit({"suites/demo/suite.yaml": b"suite: demo\nprotocol: 2 # the next\n"})
    assert book.codes() == set()


def test_a_lock_is_held_against_itself(book: Book) -> None:
    book.commit({LOCK: to_json(a_lock(digest="0" * 64))})
    assert book.codes() == {"lock-unreadable"}


def test_a_lock_in_the_place_of_another_is_a_fault(book: Book) -> None:
    book.commit({"suites/demo/locks/2.json": to_json(a_lock())})
    assert book.codes() == {"record-misplaced"}


def test_a_lock_that_cannot_be_read_is_a_fault(book: Book) -> None:
    book.commit({LOCK: b"{}\n"})
    assert book.codes() == {"record-unreadable"}


def test_private_files_may_be_kept_out_of_git(book: Book) -> None:
    hidden = "suites/demo/tasks/small/private/tests/test_x.py"
    files = {"suites/demo/suite.yaml": f"100644 {sha256(SUITE)}", hidden: f"100644 {'0' * 64}"}
    book.commit({LOCK: to_json(a_lock(files=files, digest=lock_digest(files)))})
    assert book.codes() == set()
    book.commit({hidden: b"something else\n"})
    assert book.codes() == {"suite-differs"}
