"""The two recorded series: one first on outcome, the other on continuity and repair."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from tests.conftest import trialbook
from tests.series import recorded
from tests.series.people import filled, given
from tests.series.recorded import answers, ledger_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(1200)]  # whole runs of suites
SUITE = "export-feature"


@pytest.fixture(scope="module")
def ledger(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The suite's run, with what people answered about it."""
    top = ledger_of(tmp_path_factory.mktemp("two"), SUITE)
    before = shown(top, "steady")
    assert before["conflict"] is None
    assert not before["key_open"]
    recorded.answer(top, SUITE)
    return top


def run_of(ledger: Path) -> str:
    return recorded.run_of(ledger, SUITE)


def trial(ledger: Path, configuration: str) -> str:
    return recorded.trial(ledger, SUITE, configuration)


def shown(ledger: Path, configuration: str) -> Any:
    return recorded.shown(ledger, SUITE, configuration)


def test_the_first_is_green_everywhere_with_a_parallel_path_and_a_special_case(
    ledger: Path,
) -> None:
    found = shown(ledger, "steady")
    said = answers(found)
    assert [said[f"outcome/{n}"] for n in ("core", "settings", "grouped", "repair")] == ["yes"] * 4
    assert (found["conflict"], found["repair"]) == ("parallel_path", "symptom_only")
    expected = {
        "continuity/changes-named": "no",
        "continuity/one-path": "no",
        "repair/reported-passes": "yes",
        "repair/siblings-pass": "no",
        "repair/no-special-case": "no",
    }
    assert expected.items() <= said.items()
    (branch,) = [one for one in found["answers"] if one["question"] == "repair/no-special-case"]
    assert "worklog/commands/export.py" in branch["hint"]


def test_the_second_is_red_once_and_says_so_revises_and_removes_the_cause(ledger: Path) -> None:
    found = shown(ledger, "reviser")
    said = answers(found)
    assert [said[f"outcome/{n}"] for n in ("core", "settings", "grouped", "repair")] == [
        "yes",
        "no",
        "yes",
        "yes",
    ]
    assert said["continuity/state-declared"] == "yes"
    assert (found["conflict"], found["repair"]) == ("revised_explicitly", "root_cause")


def test_every_answer_has_its_evidence(ledger: Path) -> None:
    for configuration in ("steady", "reviser"):
        for one in shown(ledger, configuration)["answers"]:
            if one["answer"] in ("yes", "no"):
                assert one["evidence"], one
            else:
                assert one["hint"] or one["evidence"], one


def test_each_dimension_has_its_own_first_and_nobody_is_first_overall(ledger: Path) -> None:
    report = trialbook(ledger, "report", run_of(ledger)).stdout
    section = report[report.index("## Series") :].partition("\n## ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("|")]
    first = {row[0]: row[-1] for row in rows}
    assert first["outcome"] == "`steady`"
    assert first["continuity"] == first["repair"] == first["maintainability"] == "`reviser`"
    assert first["trajectory"] == "nobody"
    # Every dimension has answers, and whoever is first in one is so by them alone.
    assert not [row for row in rows[:6] if "none answered" in " ".join(row)]
    assert "Case report" in section
    assert not [name for name in first if name in ("total", "all", "overall")]
    assert report == trialbook(ledger, "report", run_of(ledger)).stdout


def test_the_ledger_verifies_with_the_answers_in_it(ledger: Path) -> None:
    assert "nothing is wrong" in trialbook(ledger, "verify").stdout


def test_a_series_reads_as_a_timeline(ledger: Path) -> None:
    text = trialbook(ledger, "show", trial(ledger, "reviser")).stdout
    for part in ("session 2  settings", "declared in NOTES.md", "notes changed", "laid in"):
        assert part in text
    assert text.index("session 1  core") < text.index("session 4  repair")
    assert "component:" not in text
    assert "the true cause" in text
    assert "worklog/logfiles.py" in text[text.index("where it is") :].partition("\n")[0]
    site = ledger.parent / "site"
    trialbook(ledger, "site", "build", "--output", str(site))
    page = (site / "runs" / SUITE / f"{trial(ledger, 'reviser')}.html").read_text()
    for part in ('class="timeline"', '"became-revised">revised', "cleared", "carried", 'id="s4f1"'):
        assert part in page
    run = (site / "runs" / SUITE / run_of(ledger) / "index.html").read_text()
    assert "nobody is first over all of them" in run


def test_answers_are_given_once_and_the_way_comes_last(ledger: Path) -> None:
    name = trial(ledger, "steady")
    answered = given(SUITE)["steady"]["repair"]
    folder = ledger.parent / "again"
    arguments = ["--reviewer", "ann", "--rubric", "repair", "-o", str(folder)]
    trialbook(ledger, "series", "questions", name, *arguments)
    packet = "\n".join(one.read_text() for one in folder.iterdir())
    assert "steady" not in packet
    assert "cause: >-" not in packet
    told = (folder / "sessions.txt").read_text()
    for part in (
        "== session 4: repair",
        "laid in before it began",
        "  worklog/logfiles.py",
        "commit: ",
    ):
        assert part in told
    form = folder / "review.yaml"
    form.write_text(filled(form.read_text(), answered))
    done = trialbook(ledger, "series", "answer", str(form), check=2)
    assert "already" in done.stderr
    form.write_text("answers: [")
    done = trialbook(ledger, "series", "answer", str(form), check=2)
    assert "this is not YAML" in done.stderr
    arguments = ["--reviewer", "bob", "--rubric", "trajectory", "-o", str(ledger.parent / "way")]
    done = trialbook(ledger, "series", "questions", name, *arguments, check=2)
    assert "has not answered maintainability" in done.stderr
