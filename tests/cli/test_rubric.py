from __future__ import annotations

import json
from pathlib import Path

from tests.conftest import git, trialbook, write_files

from trialbook.storage.shipped_rubrics import shipped_rubrics

TASTE = """\
---
rubric: taste
version: 1
title: Is it nice?
questions:
  - id: nice
    text: Is the change elegant?
    no_when: otherwise
    evidence: diff
---
Prose.
"""


def place(ledger: Path, *names: str) -> None:
    wanted = {path: text for path, text in shipped_rubrics().items() if path.split("/")[1] in names}
    write_files(ledger, wanted)


def test_a_new_ledger_has_the_rubrics_that_are_shipped(tmp_path: Path) -> None:
    trialbook(tmp_path, "init", "evals")
    for path, text in shipped_rubrics().items():
        assert (tmp_path / "evals" / path).read_text() == text
    checked = trialbook(tmp_path / "evals", "rubric", "check")
    assert checked.stdout.splitlines() == [
        f"rubric {name}: 1 version: no problems"
        for name in ("continuity", "maintainability", "merge", "repair", "trajectory")
    ]


def test_rubrics_are_listed_and_shown(ledger: Path) -> None:
    said = trialbook(ledger, "rubric", "list")
    assert said.stdout == ""
    assert "no rubrics yet; " in said.stderr
    assert "rubric new merge" in said.stderr
    place(ledger, "merge", "repair")
    assert trialbook(ledger, "rubric", "list").stdout.splitlines() == [
        (
            "merge@1               Would you merge this change? "
            "(7 questions; verdict MERGE, FIX, REJECT)"
        ),
        "repair@1              Was the cause repaired, or the symptom? (7 questions)",
    ]
    listed = json.loads(trialbook(ledger, "rubric", "list", "--json").stdout)
    assert [one["reference"] for one in listed] == ["merge@1", "repair@1"]
    assert [one["frozen"] for one in listed] == [False, False]
    shown = trialbook(ledger, "rubric", "show", "merge").stdout
    assert "1. Does the change do everything that the brief asks for?  [solves, must]" in shown
    assert "verdict: MERGE, FIX, REJECT, from best to worst" in shown
    assert "## How to answer" in shown
    whole = json.loads(trialbook(ledger, "rubric", "show", "merge@1", "--json").stdout)
    assert whole["reference"] == "merge@1"
    assert whole["questions"][4]["id"] == "checks-kept"
    assert len(whole["sha256"]) == 64
    wrong = trialbook(ledger, "rubric", "show", "merg", check=2)
    assert "'merg' does not name a version of a rubric" in wrong.stderr


def test_control_characters_in_a_rubric_are_shown_and_not_sent_to_the_terminal(
    ledger: Path,
) -> None:
    text = TASTE.replace("Prose.", "Prose \x1b[31m.")
    write_files(ledger, {"rubrics/taste/v1.md": text})
    assert "\x1b" not in trialbook(ledger, "rubric", "show", "taste").stdout


def test_the_check_reports_taste_with_its_place(ledger: Path) -> None:
    place(ledger, "merge")
    write_files(ledger, {"rubrics/taste/v1.md": TASTE})
    said = trialbook(ledger, "rubric", "check", check=2)
    assert said.stdout == ""
    first, second, count = said.stderr.splitlines()
    assert first.startswith("rubrics/taste/v1.md:7:25: `elegant` asks for taste")
    assert second.startswith("rubrics/taste/v1.md:8:14: this does not say what makes the answer no")
    assert count == "2 problems to fix"
    for name in ("merge", "merge@1"):
        assert "merge: 1 version" in trialbook(ledger, "rubric", "check", name).stdout
    found = json.loads(trialbook(ledger, "rubric", "check", "--json", check=2).stdout)
    assert found["rubrics"] == ["merge", "taste"]
    assert found["ok"] is False
    assert [one["line"] for one in found["problems"]] == [7, 8]
    unknown = trialbook(ledger, "rubric", "check", "merg", check=2)
    assert "did you mean `merge@1`?" in unknown.stderr


def test_a_damaged_rubric_does_not_hide_the_others(ledger: Path) -> None:
    place(ledger, "merge")
    write_files(ledger, {"rubrics/taste/v1.md": "no front matter\n"})
    said = trialbook(ledger, "rubric", "list", check=2)
    assert said.stdout.startswith("merge@1")
    assert "rubrics/taste/v1.md:1:1: the first line must be" in said.stderr


def test_a_version_that_was_used_is_frozen_and_the_next_one_is_the_way_out(ledger: Path) -> None:
    place(ledger, "merge")
    digest = json.loads(trialbook(ledger, "rubric", "list", "--json").stdout)[0]["sha256"]
    plan = json.dumps({"judgement": {"rubric": "merge@1", "rubric_sha256": digest}})
    write_files(ledger, {"runs/mini/one/plan.json": plan})
    git(ledger, "add", "-A")
    git(ledger, "commit", "-q", "-m", "a plan")
    assert "; frozen)" in trialbook(ledger, "rubric", "list").stdout
    trialbook(ledger, "rubric", "check")

    path = ledger / "rubrics/merge/v1.md"
    path.write_text(path.read_text().replace("severity: medium", "severity: low"))
    said = trialbook(ledger, "rubric", "check", "merge", check=2)
    assert "merge@1 is not what was used in runs/mini/one/plan.json" in said.stderr
    assert "trialbook rubric new merge" in said.stderr
    changed = path.read_text()
    made = trialbook(ledger, "rubric", "new", "merge")
    assert made.stdout == "rubrics/merge/v2.md\n"
    assert "copied from merge@1" in made.stderr
    assert (ledger / "rubrics/merge/v2.md").read_text() == changed.replace(
        "version: 1", "version: 2"
    )
    git(ledger, "checkout", "--", "rubrics/merge/v1.md")
    assert trialbook(ledger, "rubric", "check").stdout == "rubric merge: 2 versions: no problems\n"

    path.unlink()
    gone = trialbook(ledger, "rubric", "check", check=2)
    assert "merge@1 is gone" in gone.stderr


def test_a_new_rubric_is_shipped_or_copied_or_begun(ledger: Path) -> None:
    assert "as shipped" in trialbook(ledger, "rubric", "new", "merge").stderr
    shipped = shipped_rubrics()["rubrics/merge/v1.md"]
    assert (ledger / "rubrics/merge/v1.md").read_text() == shipped
    trialbook(ledger, "rubric", "new", "payments", "--from", "merge")
    copied = (ledger / "rubrics/payments/v1.md").read_text()
    assert copied == shipped.replace("rubric: merge", "rubric: payments", 1)
    trialbook(ledger, "rubric", "new", "payments", "--from", "repair")
    assert "\nversion: 2\n" in (ledger / "rubrics/payments/v2.md").read_text()
    assert trialbook(ledger, "rubric", "new", "own").stdout == "rubrics/own/v1.md\n"
    assert "rubric: own\n" in (ledger / "rubrics/own/v1.md").read_text()
    trialbook(ledger, "rubric", "check")


def test_a_new_rubric_needs_a_usable_name_and_a_source_that_is_there(ledger: Path) -> None:
    for name, said in (
        ("Merge", "not a usable name"),
        ("judges", "the folder of something else"),
        ("../x", "not a usable name"),
    ):
        assert said in trialbook(ledger, "rubric", "new", name, check=2).stderr
    for source in ("nothing", "merge@9"):
        refused = trialbook(ledger, "rubric", "new", "own", "--from", source, check=2)
        assert f"there is no rubric {source.partition('@')[0]}@" in refused.stderr
    assert not (ledger / "rubrics").exists()


def test_a_ledger_in_no_repository_can_be_checked(tmp_path: Path) -> None:
    write_files(tmp_path, {"suites/README.md": "x"})
    place(tmp_path, "merge")
    assert trialbook(tmp_path, "rubric", "check").stdout == "rubric merge: 1 version: no problems\n"
