from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.storage.conftest import make_plan

from trialbook.model.plan import Plan, PlannedLock
from trialbook.reporting.comparability import obstacles

LOCK = PlannedLock(path="suites/demo/locks/3.json", sha256="a" * 64)


def plan(run: str = "first", **named: Any) -> Plan:
    usual: dict[str, Any] = {"run": run, "status": "locked", "lock": LOCK}
    return replace(make_plan(), **(usual | named))


def test_runs_of_one_locked_protocol_number_compare() -> None:
    assert obstacles([plan("first"), plan("second"), plan("third")]) == []


def test_a_draft_compares_with_nothing_and_says_why_it_is_one() -> None:
    draft = plan("second", status="draft", draft_because="the suite is not locked", lock=None)
    assert obstacles([plan("first"), draft]) == ["demo/second is a draft: the suite is not locked"]
    old = replace(draft, draft_because="")
    assert obstacles([plan("first"), old]) == ["demo/second is a draft"]


def test_protocol_numbers_do_not_mix() -> None:
    found = obstacles([plan("first"), plan("second", protocol=4), plan("third")])
    assert found == [
        "they are of different protocol numbers: 3 (first and third) and 4 (second)",
    ]


def test_suites_do_not_mix() -> None:
    found = obstacles([plan("first"), plan("second", suite="other", protocol=9)])
    assert found == ["they are of different suites: demo and other"]


def test_one_number_that_was_locked_twice_is_two_numbers() -> None:
    other = PlannedLock(path=LOCK.path, sha256="b" * 64)
    (found,) = obstacles([plan("first"), plan("second", lock=other)])
    assert found.startswith("the same number was locked more than once: aaaaaaaaaaaa (first)")


def test_a_run_of_fewer_tasks_does_not_compare_with_one_of_all() -> None:
    whole = plan("first")
    name = next(iter(whole.tasks))
    fewer = plan("second", tasks={n: task for n, task in whole.tasks.items() if n != name})
    assert obstacles([whole, fewer]) == [f"demo/second leaves out {name}"]
    assert obstacles([fewer, replace(fewer, run="third")]) == []


def test_every_reason_is_told() -> None:
    draft = plan("second", status="draft", protocol=4)
    assert len(obstacles([plan("first"), draft])) == 2
