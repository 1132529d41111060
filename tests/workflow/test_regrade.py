from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.cli.test_eval import run_folder
from tests.conftest import git, trialbook

from trialbook.formats.records import from_json, to_json
from trialbook.model.change import OmittedFile
from trialbook.model.trial import Trial
from trialbook.storage.ledger import Ledger
from trialbook.system import System

FLIPPING = """\
checks:
  - id: answered
    question: Is there an answer?
    type: file_contains
    file: answer.txt
    pattern: "^{word} "
"""


@pytest.fixture
def run(ledger: Path) -> str:
    """The name of a closed run with one task and both configurations."""
    trialbook(ledger, "eval", "mini", "-t", "first", "-r", "1")
    return run_folder(ledger).rpartition("/")[2]


def regrade(ledger: Path, run: str, *arguments: str) -> dict[str, Any]:
    done = trialbook(ledger, "regrade", run, *arguments, "--json")
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def shown(ledger: Path, what: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(trialbook(ledger, "show", what, "--json").stdout)
    return found


def other_check(ledger: Path, word: str) -> None:
    checks = ledger / "suites/mini/tasks/first/checks.yaml"
    checks.write_text(FLIPPING.format(word=word))


@pytest.mark.slow
def test_the_same_grades_are_the_same_to_the_byte_and_nothing_is_added(
    ledger: Path, run: str
) -> None:
    head = git(ledger, "rev-parse", "HEAD")
    for _ in range(2):
        done = regrade(ledger, run, "--jobs", "2")
        assert (done["commit"], done["grades"], done["same_bytes"]) == (None, 2, 2)
    assert "nothing was added" in trialbook(ledger, "regrade", run).stdout
    assert git(ledger, "rev-parse", "HEAD") == head


@pytest.mark.slow
def test_other_checks_make_a_generation_beside_the_old_one(ledger: Path, run: str) -> None:
    before = git(ledger, "ls-tree", "-r", "HEAD", "runs").splitlines()
    other_check(ledger, "second")
    refused = trialbook(ledger, "regrade", run, check=2)
    assert "suites/mini/tasks/first/checks.yaml: changed" in refused.stderr
    done = regrade(ledger, run, "--reason", "the word was wrong")
    after = git(ledger, "ls-tree", "-r", "HEAD", "runs").splitlines()
    assert set(before) < set(after)
    name = done["regrade"]["id"]
    assert {path.split(f"{run}/")[1] for path in set(after) - set(before)} == {
        f"regrades/{name}.json",
        f"first/good/r1/regrades/{name}/checks.json",
        f"first/bad/r1/regrades/{name}/checks.json",
        f"results/{done['results']}/generation.json",
        f"results/{done['results']}/results.csv",
        f"results/{done['results']}/report.md",
    }
    trial = shown(ledger, f"{run}/first/good/r1")
    assert trial["trial"]["outcome"] == "accepted"
    assert trial["standing"]["outcome"] == "rejected"
    assert trial["standing"]["corrected_by"] == "regrade"
    assert trial["grades"][0]["passed"] == 0
    summary = shown(ledger, run)
    good = summary["configurations"][0]
    assert (good["name"], good["all_scheduled"]["accepted"]) == ("good", 0)
    assert "regraded" in {notice["code"] for notice in summary["notices"]}
    assert not any(one["flaky"] for one in done["regrade"]["differences"])
    git(ledger, "commit", "-qam", "the new word")
    trialbook(ledger, "verify")


@pytest.mark.slow
def test_grading_again_goes_on_from_the_newest_generation(ledger: Path, run: str) -> None:
    other_check(ledger, "second")
    regrade(ledger, run, "--reason", "the word was wrong")
    assert regrade(ledger, run, "--reason", "once more")["commit"] is None
    git(ledger, "checkout", "-q", "suites")
    done = regrade(ledger, run)
    assert [one["was"] for one in done["regrade"]["trials"]] == ["rejected", "rejected"]
    assert shown(ledger, f"{run}/first/good/r1")["standing"]["outcome"] == "accepted"
    trialbook(ledger, "verify")


@pytest.mark.slow
def test_a_flip_of_the_same_grader_on_the_same_files_is_called_flaky(
    ledger: Path, run: str
) -> None:
    # The grade on record is another's than what the check says: as after a check that flips.
    other_check(ledger, "second")
    regrade(ledger, run, "--reason", "the word was wrong")
    path = f"{run_folder(ledger)}/regrades"
    (name,) = git(ledger, "ls-tree", "--name-only", f"HEAD:{path}").split()
    record = json.loads(git(ledger, "show", f"HEAD:{path}/{name}"))
    git(ledger, "checkout", "-q", "suites")
    now = json.loads(git(ledger, "show", f"HEAD:{run_folder(ledger)}/plan.json"))
    later = {**record, "id": "20991231T000000Z-aaaaaa", "created": "2099-12-31T00:00:00.000Z"}
    later["tasks"] = {"first": now["tasks"]["first"]["digest"]}
    data = json.dumps(later, indent=2).encode() + b"\n"
    forged = f"{path}/20991231T000000Z-aaaaaa.json"
    Ledger.open(ledger, System()).commit({forged: data}, "by hand\n")
    done = trialbook(ledger, "regrade", run)
    assert "flaky" in done.stdout
    assert "flipped" in done.stderr


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"redacted": True}, "secret"),
        (
            {"omitted": (OmittedFile(path="big.bin", bytes=9, sha256=None, reason="too large"),)},
            "big.bin",
        ),
        ({"tree": "0" * 40}, "gives the tree"),
        ({"patch_sha256": "0" * 64}, "not the one that its record names"),
    ],
)
def test_what_cannot_be_had_as_it_was_is_left_out_and_never_guessed(
    ledger: Path, run: str, change: dict[str, Any], said: str
) -> None:
    folder = run_folder(ledger)
    record = from_json(
        Trial, git(ledger, "show", f"HEAD:{folder}/first/good/r1/trial.json").encode(), "trial"
    )
    assert record.change is not None
    changed = replace(record, rerun=1, change=replace(record.change, **change))
    files = {
        name: git(ledger, "show", f"HEAD:{folder}/first/good/r1/{name}").encode()
        for name in ("change.patch", "grades/checks.json")
    }
    base = f"{folder}/first/good/r1.rerun1"
    files = {f"{base}/{name}": data for name, data in files.items()}
    Ledger.open(ledger, System()).commit(
        files | {f"{base}/trial.json": to_json(changed)}, "by hand\n"
    )
    other_check(ledger, "second")
    done = regrade(ledger, run, "--reason", "x")
    (left_out,) = done["regrade"]["left_out"]
    assert left_out["trial"] == "first/good/r1.rerun1"
    assert said in left_out["because"]
    assert len(done["regrade"]["trials"]) == 2
    assert shown(ledger, f"{run}/first/good/r1.rerun1")["standing"]["outcome"] == "accepted"


@pytest.mark.slow
def test_what_is_not_there_is_named(ledger: Path, run: str) -> None:
    done = trialbook(ledger, "regrade", run, "--grader", "acceptance", check=2)
    assert "graders: checks" in done.stderr
    assert "no run" in trialbook(ledger, "regrade", "2000", check=2).stderr
