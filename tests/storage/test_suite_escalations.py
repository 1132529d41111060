"""What a configuration may escalate to, as it is written, checked and loaded."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from trialbook.model.escalation import Condition
from trialbook.model.suite import Configuration, GivenLimits, Suite
from trialbook.registry import Registry
from trialbook.storage.suites import check_suite, load_suite

SCRIPT = {"argv": ["true"]}


def write(ledger: Path, name: str, **keys: Any) -> None:
    written = {"configuration": name, "agent": "command", "with": SCRIPT, **keys}
    if written["with"] is None:
        del written["with"]
    path = ledger / f"suites/mini/configurations/{name}.yaml"
    path.write_text(json.dumps(written, indent=1))


def escalate(to: Any, **keys: Any) -> dict[str, Any]:
    return {"when": ["checks_fail"], "to": to, "workspace": "fresh", **keys}


def problems(ledger: Path) -> list[str]:
    return [f"{one.message}; {one.hint}" for one in check_suite(ledger, "mini", Registry())]


def loaded(ledger: Path, name: str = "good") -> tuple[Suite, Configuration]:
    suite = load_suite(ledger, "mini", Registry())
    return suite, next(one for one in suite.configurations if one.name == name)


def test_what_is_different_is_laid_over_the_first_attempts_own(ledger: Path) -> None:
    own: GivenLimits = {"turns": 5}
    write(
        ledger,
        "good",
        model="small",
        secrets=["KEY"],
        limits={"usd": 2},
        escalate=escalate(
            {"model": "large", "limits": own}, tell="checks", first_limits={"usd": 1}
        ),
    )
    _, good = loaded(ledger)
    escalation = good.escalation
    assert escalation is not None
    assert escalation.when == (Condition.CHECKS_FAIL,)
    assert (escalation.tell, escalation.first_limits) == ("checks", {"usd": 1})
    to = escalation.to
    assert to == replace(
        good, name="good.second", model="large", limits=own, escalation=None, digests={}
    )
    assert [one.name for one in good.stages] == ["good", "good.second"]


def test_another_agent_takes_over_no_words_of_the_first_one(ledger: Path) -> None:
    (ledger / "suites/mini/recorded").mkdir()
    (ledger / "suites/mini/recorded/stdout.txt").write_text("x")
    write(
        ledger,
        "good",
        model="small",
        reasoning="high",
        escalate=escalate({"agent": "replay", "files": "recorded"}),
    )
    _, good = loaded(ledger)
    assert good.escalation is not None
    to = good.escalation.to
    assert (to.model, to.reasoning, to.parameters, to.files) == (None, None, {}, "recorded")
    assert "suites/mini/recorded/stdout.txt" in good.digests


def test_a_configuration_that_is_named_stands_in_the_digests(ledger: Path) -> None:
    (ledger / "suites/mini/strong").mkdir()
    (ledger / "suites/mini/strong/a.txt").write_text("x")
    limits = {"usd": 3, "memory_mb": 100}
    write(ledger, "strong", model="m", limits=limits, files="strong", environment={"A": "1"})
    write(ledger, "good", escalate=escalate("strong"))
    suite, good = loaded(ledger)
    assert good.escalation is not None
    to = good.escalation.to
    assert (to.name, to.model, to.environment) == ("strong", "m", {"A": "1"})
    assert to.limits == {"usd": 3}
    expected = {"configurations/strong.yaml", "configurations/good.yaml", "strong/a.txt"}
    assert {f"suites/mini/{name}" for name in expected} == set(good.digests)
    assert "suites/mini/configurations/strong.yaml" in suite.every_file()


@pytest.mark.parametrize(
    ("strong", "good", "told"),
    [
        ({}, {"escalate": escalate("strnog")}, "there is no configuration `strnog`; did you"),
        ({}, {"escalate": escalate("good")}, "a configuration cannot escalate to itself"),
        (
            {"escalate": escalate({"model": "x"})},
            {"escalate": escalate("strong")},
            "`strong` escalates itself, and a trial has two attempts at most",
        ),
        (
            {"network": "none"},
            {"escalate": escalate("strong")},
            "`strong` has another `network` than this configuration",
        ),
        (
            {"sandbox": "none"},
            {"escalate": escalate("strong")},
            "`strong` has another `sandbox` than this configuration",
        ),
        (
            {"gives_reference": True, "with": {"argv": ["true"]}},
            {"escalate": escalate("strong")},
            "`strong` is handed the reference, which no second attempt may be",
        ),
        ({}, {"escalate": escalate({"with": {"argw": []}})}, "unknown key `argw`"),
        ({}, {"escalate": escalate({"agent": "no-such"})}, "no-such"),
        ({}, {"escalate": escalate({"files": "nowhere"})}, "there is no folder"),
        ({}, {"escalate": escalate({"files": "tasks/first"})}, "private part of a task"),
        (
            {},
            {"escalate": escalate({"model": "x"}, when=["no_change"], tell="checks")},
            "there is nothing to tell",
        ),
        (
            {},
            {"escalate": escalate({"with": {"argv": ["{prompt}"] * 20, "prompt": "argument"}})},
            "",
        ),
    ],
)
def test_what_cannot_be_done_is_told_where_it_is_written(
    ledger: Path, strong: dict[str, Any], good: dict[str, Any], told: str
) -> None:
    write(ledger, "strong", **strong)
    write(ledger, "good", **good)
    found = [one for one in problems(ledger) if told in one]
    assert bool(found) is bool(told), problems(ledger)


def test_what_is_told_has_to_fit_into_the_prompt_too(ledger: Path) -> None:
    (ledger / "suites/mini/tasks/first/brief.md").write_text("x" * 125_000)
    argument = {"argv": ["{prompt}"], "prompt": "argument"}
    write(ledger, "good", escalate=escalate({"with": argument}))
    assert problems(ledger) == []
    write(ledger, "good", escalate=escalate({"with": argument}, tell="checks"))
    (told,) = problems(ledger)
    assert "125000 bytes and 8000 for what checks say" in told


def test_a_reference_and_a_second_attempt_exclude_each_other(ledger: Path) -> None:
    write(ledger, "good", gives_reference=True, escalate=escalate({"model": "x"}))
    assert any("needs no second attempt" in one for one in problems(ledger))
