from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from tests.conftest import trialbook
from tests.recorded import a_bundle, a_configuration, a_plan, a_trial, new_ledger, record_run
from tests.stats.vectors import A, B

from trialbook.model.outcome import Outcome
from trialbook.model.suite import Comparison

RUN = "20261130-151526-3f9c"
NAMES = ("current", "cheap", "third")


def recorded(
    folder: Path,
    *,
    declared: Comparison | None = None,
    names: Sequence[str] = NAMES[:2],
    status: str = "locked",
    drop: int = 0,
) -> Path:
    """A ledger with one run of ten tasks, three trials each: 24/30 and 25/30 accepted."""
    root = new_ledger(folder)
    plan = a_plan(
        {name: a_configuration(model=name) for name in names},
        [f"t{place:02}" for place in range(1, 11)],
        compare=declared,
        status=status,
    )
    accepted = {"current": A, "cheap": B, "third": A}
    bundles = []
    for slot in plan.schedule[: len(plan.schedule) - drop]:
        good = slot.repetition <= accepted[slot.configuration][int(slot.task[1:]) - 1]
        outcome = Outcome.ACCEPTED if good else Outcome.REJECTED
        bundles.append(a_bundle(a_trial(plan, slot.key, outcome), patch=None))
    record_run(root, plan, bundles, closed=not drop)
    return root


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    declared = Comparison(baseline="current", candidate="cheap", margin=0.1, because="one in ten")
    return recorded(tmp_path_factory.mktemp("compare") / "ledger", declared=declared, names=NAMES)


def test_the_answer_comes_with_both_views_moved_tasks_and_what_was_needed(root: Path) -> None:
    said = trialbook(root, "compare", RUN).stdout
    assert "inconclusive: these trials do not show whether cheap is better or worse." in said
    assert said.count("24/30 (80.0 %)") == 2
    assert said.count("25/30 (83.3 %)") == 2
    for moved in ("up t07: 2/3 to 3/3", "up t09: 1/3 to 2/3", "down t10: 1/3 to 0/3"):
        assert moved in said
    assert "31 tasks for 10" in said
    bounds = "-11.2 to +17.8 points (confidence 0.9, t, guarded)"
    assert f"Margin 10 points: {bounds} is not inside it" in said


def test_json_says_the_same(root: Path) -> None:
    said = json.loads(trialbook(root, "compare", RUN, "--json").stdout)
    assert said["comparable"] is True
    assert said["verdict"] == "inconclusive"
    assert said["valid_execution"]["p"] == "1"
    assert said["rule"]["margin"] == "1/10"


def test_other_configurations_than_the_declared_ones_can_be_named(root: Path) -> None:
    said = trialbook(root, "compare", RUN, "--candidate", "third").stdout
    assert "whether third is better or worse" in said


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["--candidate", "nobody"], "no run has a configuration 'nobody'"),
        (["--candidate", "current"], "does not compare with itself"),
    ],
)
def test_names_that_cannot_be_compared(root: Path, arguments: list[str], told: str) -> None:
    assert told in trialbook(root, "compare", RUN, *arguments, check=2).stderr


def test_without_a_declaration_two_are_compared_and_more_are_asked_for(tmp_path: Path) -> None:
    two = recorded(tmp_path / "two")
    said = trialbook(two, "compare", RUN).stdout
    assert "No margin was declared" in said
    three = recorded(tmp_path / "three", names=NAMES)
    asked = trialbook(three, "compare", RUN, check=2).stderr
    assert "add --baseline and --candidate; there are current, cheap and third" in asked


def test_an_incomplete_schedule_is_not_ready_and_shows_no_difference(tmp_path: Path) -> None:
    said = trialbook(recorded(tmp_path / "open", drop=2), "compare", RUN, check=4).stdout
    assert "not ready: " in said
    assert "did not run yet" in said
    assert "interval -" not in said
    assert "p = " not in said


def test_a_draft_does_not_compare(tmp_path: Path) -> None:
    draft = recorded(tmp_path / "draft", status="draft")
    said = trialbook(draft, "compare", RUN, check=4).stdout
    assert f"{RUN} is a draft" in said
    assert json.loads(trialbook(draft, "compare", RUN, "--json", check=4).stdout)["reasons"]
