"""The recorded series of both shipped suites: one project is a case report, two are no ranking."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import trialbook
from tests.series.recorded import CONFIGURATIONS, TASKS, answer, answers, ledger_of, run_of, shown

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # whole runs of suites

DIMENSIONS = ("outcome", "continuity", "repair", "maintainability", "trajectory")


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both suites, each run once, with what people answered about every series."""
    ledger = ledger_of(tmp_path_factory.mktemp("projects"), *TASKS)
    for suite in TASKS:
        answer(ledger, suite)
    return ledger


def together(ledger: Path, *suites: str) -> Any:
    runs = [run_of(ledger, suite) for suite in suites]
    return json.loads(trialbook(ledger, "series", "together", *runs, "--json").stdout)


def first(found: Any) -> dict[str, str]:
    return {row["dimension"]: row["first"] for row in found["rows"]}


@pytest.mark.parametrize("suite", TASKS)
def test_one_project_is_a_case_report(ledger: Path, suite: str) -> None:
    found = together(ledger, suite)
    assert found["note"].startswith("Case report: one project is one sample")
    assert (found["projects"], len(found["series"])) == ([TASKS[suite]], 2)
    report = trialbook(ledger, "report", run_of(ledger, suite)).stdout
    section = report[report.index("## Series") :].partition("\n## ")[0]
    assert "Case report" in section
    assert "mean of projects" not in section
    assert "interval" not in section.replace("there are no intervals", "")


@pytest.mark.parametrize("suite", TASKS)
def test_in_each_project_both_come_out_as_they_were_made(ledger: Path, suite: str) -> None:
    steady, reviser = (shown(ledger, suite, name) for name in CONFIGURATIONS)
    assert (steady["conflict"], steady["repair"]) == ("parallel_path", "symptom_only")
    assert (reviser["conflict"], reviser["repair"]) == ("revised_explicitly", "root_cause")
    said = answers(reviser)
    outcomes = [said[name] for name in said if name.startswith("outcome/")]
    assert outcomes == ["yes", "no", "yes", "yes"]
    assert said["continuity/state-declared"] == "yes"
    (why,) = [one for one in reviser["answers"] if one["question"] == "repair/cause-explained"]
    # The cause stands in the body of a commit's message, which is on record.
    cause = {"export-feature": "logfiles.months went", "rotation-feature": "digits after the point"}
    assert cause[suite] in why["hint"]
    assert "commit " in why["hint"]


def test_two_projects_are_put_together_by_dimension_and_never_over_dimensions(
    ledger: Path,
) -> None:
    found = together(ledger, *TASKS)
    assert found["projects"] == ["export-feature/export", "rotation-feature/compress"]
    assert found["note"].startswith("2 projects: the mean gives each project the same weight")
    assert "nobody is first over all of them" in found["note"]
    assert [row["dimension"] for row in found["rows"]] == list(DIMENSIONS)
    assert first(found) == {
        "outcome": "steady",
        "continuity": "reviser",
        "repair": "reviser",
        "maintainability": "reviser",
        "trajectory": "nobody",
    }
    (outcome,) = [row for row in found["rows"] if row["dimension"] == "outcome"]
    assert outcome["counts"] == {"steady": "8/8 (100.0 %)", "reviser": "6/8 (75.0 %)"}
    assert outcome["means"] == {"steady": "100.0 %", "reviser": "75.0 %"}
    assert all("unknown" not in row["means"].values() for row in found["rows"])
    assert not {"total", "overall", "winner", "rank"} & set(found)
    # The order of the runs changes nothing about who is first.
    assert first(together(ledger, *reversed(TASKS))) == first(found)


def test_the_terminal_shows_the_same(ledger: Path) -> None:
    runs = [run_of(ledger, suite) for suite in TASKS]
    text = trialbook(ledger, "series", "together", *runs).stdout
    for part in ("steady, mean", "2 projects", "rotation-feature/compress", "symptom only"):
        assert part in text
    assert "no series in" not in text


def test_what_no_series_is_in_is_refused(ledger: Path) -> None:
    done = trialbook(ledger, "series", "together", "nothing-like-this", check=2)
    assert "nothing-like-this" in done.stderr


def test_the_ledger_verifies_with_all_answers_in_it(ledger: Path) -> None:
    assert "nothing is wrong" in trialbook(ledger, "verify").stdout
