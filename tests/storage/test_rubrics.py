from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import write_files

from trialbook.errors import UserError
from trialbook.model.digest import sha256
from trialbook.model.rubric import VERDICTS, EvidenceKind
from trialbook.model.severity import Severity
from trialbook.storage.rubrics import (
    check_rubrics,
    load_rubric,
    rubric_file,
    rubric_files,
    rubric_names,
    rubric_path,
)
from trialbook.storage.shipped_rubrics import empty_rubric, shipped_rubrics

GOOD = """\
---
rubric: tests
version: 1
title: Are the tests worth having?
verdicts: [MERGE, REJECT]
questions:
  - id: bite
    text: Would an added test fail without the change?
    no_when: >-
      An added test passes
      on the starting state.
    evidence: check
    severity: must
    applies_to: Changes with tests.
  - id: kept
    text: Is every old test still there?
    no_when: A test is gone.
    evidence: diff
---

# Tests

What they are for.
"""
PLACE = "rubrics/tests/v1.md"


def ledger(folder: Path, text: str = GOOD, place: str = PLACE) -> Path:
    write_files(folder, {place: text})
    return folder


def said(folder: Path) -> list[str]:
    return [str(one) for one in check_rubrics(folder)]


def test_a_rubric_is_read_whole(tmp_path: Path) -> None:
    rubric = load_rubric(ledger(tmp_path), "tests@1")
    assert (rubric.name, rubric.version, rubric.reference) == ("tests", 1, "tests@1")
    assert rubric.title == "Are the tests worth having?"
    assert rubric.verdicts == ("MERGE", "REJECT")
    assert rubric.sha256 == sha256(GOOD.encode())
    assert rubric.prose == "# Tests\n\nWhat they are for.\n"
    bite, kept = rubric.questions
    assert bite.no_when == "An added test passes on the starting state."
    assert (bite.evidence, bite.severity) == (EvidenceKind.CHECK, Severity.MUST)
    assert bite.applies_to == "Changes with tests."
    assert (kept.severity, kept.applies_to) == (Severity.HIGH, None)
    assert rubric.question("kept") is kept
    assert rubric.question("gone") is None
    assert said(tmp_path) == []


def test_versions_and_names_are_listed_and_judges_are_no_rubric(tmp_path: Path) -> None:
    ledger(tmp_path)
    ledger(tmp_path, place="rubrics/tests/v10.md")
    ledger(tmp_path, place="rubrics/tests/v2.md")
    ledger(tmp_path, place="rubrics/judges/v1.md")
    write_files(tmp_path, {"rubrics/README.md": "x", "rubrics/tests/README.md": "x"})
    (tmp_path / "rubrics/empty").mkdir()
    assert rubric_names(tmp_path) == ["tests"]
    references = [file.reference for file in rubric_files(tmp_path)]
    assert references == ["tests@1", "tests@2", "tests@10"]
    assert rubric_file(tmp_path, "tests@10") is not None
    assert rubric_file(tmp_path, "tests@3") is None
    assert rubric_path("tests@10") == "rubrics/tests/v10.md"
    assert rubric_names(tmp_path / "nowhere") == []


@pytest.mark.parametrize(
    ("reference", "message", "hint"),
    [
        ("tests@2", "there is no rubric tests@2", "tests@1"),
        ("test@1", "there is no rubric test@1", "did you mean `tests@1`?"),
        ("tests", "'tests' does not name a version of a rubric", "as in tests@1"),
        ("other", "'other' does not name a version of a rubric", "as in merge@1"),
        ("tests@01", "'tests@01' does not name a version", "name and the number"),
        ("../tests@1", "there is no rubric ../tests@1", ""),
        ("", "'' does not name a version of a rubric", ""),
    ],
)
def test_a_reference_that_names_nothing_is_met_with_what_there_is(
    tmp_path: Path, reference: str, message: str, hint: str
) -> None:
    with pytest.raises(UserError) as caught:
        load_rubric(ledger(tmp_path), reference)
    assert message in caught.value.message
    assert hint in caught.value.hint


BROKEN = """\
---
rubric: test
version: "1"
titel: Are they?
verdicts: [REJECT, MERGE]
questions:
  - id: Bite
    text: Would it fail?
    evidence: feeling
  - id: kept
    text: " "
    no_when: A test is gone.
    evidence: diff
    severity: hihg
  - id: kept
    text: "Is \\0 there?"
    no_when: It is gone.
    evidence: diff
    weight: 3
---
"""


def test_every_mistake_is_reported_at_once_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(UserError) as caught:
        load_rubric(ledger(tmp_path, BROKEN), "tests@1")
    found = [str(one) for one in caught.value.problems]
    starts = [
        "2:9: `rubric` is `test`, but the folder says `tests`; write rubric: tests",
        "3:10: `version` must be a whole number, not text; remove the quotes",
        "4:1: unknown key `titel`; did you mean `title`?",
        "5:11: the verdicts must stand from best to worst; write [MERGE, REJECT]",
        "7:5: the key `no_when` is missing; add `no_when:`",
        "7:9: `id` (`Bite`) is not a usable id",
        "9:15: `evidence` must be diff, check, trajectory or file, not `feeling`",
        "11:11: `text` (` `) is empty",
        "14:15: `severity` must be must, high, medium or low, not `hihg`; did you mean `high`?",
        "15:9: the id `kept` is here twice; it is already on line 10",
        "16:11: a text may not hold the character U+0000; remove it",
        "19:5: unknown key `weight`",
        "21:1: there is no prose below the front matter",
    ]
    for start in starts:
        assert any(one.startswith(f"{PLACE}:{start}") for one in found), (start, found)
    assert any("the key `title` is missing" in one for one in found)
    assert len(found) == len(starts) + 1
    assert set(found) <= set(said(tmp_path))


def test_how_questions_are_worded_is_checked_and_does_not_keep_a_rubric_from_being_read(
    tmp_path: Path,
) -> None:
    text = GOOD.replace("Is every old test still there?", "Is every old test nice?")
    text = text.replace("A test is gone.", "otherwise")
    taste, nothing = said(ledger(tmp_path, text))
    assert taste.startswith(f"{PLACE}:16:29: `nice` asks for taste")
    assert "; name what can be seen in the evidence" in taste
    assert nothing.startswith(f"{PLACE}:17:14: this does not say what makes the answer no; name")
    assert load_rubric(tmp_path, "tests@1").questions


def test_what_is_no_version_is_pointed_out(tmp_path: Path) -> None:
    ledger(tmp_path, GOOD)
    ledger(tmp_path, GOOD, "rubrics/tests/V2.md")
    ledger(tmp_path, GOOD.replace("rubric: tests", "rubric: Other"), "rubrics/Other/v1.md")
    found = said(tmp_path)
    assert found[0].startswith("rubrics/Other/v1.md: 'Other' is not a usable name")
    assert found[1].startswith("rubrics/tests/V2.md: this is not the name of a rubric's version")
    assert len(found) == 2
    assert [one.path for one in check_rubrics(tmp_path, frozenset({"tests"}))] == [
        "rubrics/tests/V2.md"
    ]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_a_link_is_not_followed(tmp_path: Path, kind: str) -> None:
    outside = ledger(tmp_path / "outside")
    inside = tmp_path / "inside"
    (inside / "rubrics").mkdir(parents=True)
    if kind == "folder":
        (inside / "rubrics/tests").symlink_to(outside / "rubrics/tests")
    else:
        (inside / "rubrics/tests").mkdir()
        (inside / PLACE).symlink_to(outside / PLACE)
    with pytest.raises(UserError, match="symbolic link"):
        load_rubric(inside, "tests@1")


def test_what_is_no_text_file_is_reported(tmp_path: Path) -> None:
    folder = tmp_path / "rubrics/tests"
    (folder / "v1.md").mkdir(parents=True)
    (folder / "v2.md").write_bytes(b"---\nrubric: \xff\n---\n")
    os.mkfifo(folder / "v3.md")
    found = said(tmp_path)
    assert [one.partition(";")[0] for one in found] == [
        "rubrics/tests/v1.md: this is not a file",
        "rubrics/tests/v2.md:2:9: not UTF-8: byte 0xff",
        "rubrics/tests/v3.md: this is not a file",
    ]


@given(st.text(max_size=200))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_front_matter_makes_reading_fall_over(tmp_path: Path, inside: str) -> None:
    ledger(tmp_path, f"---\nrubric: tests\n{inside}\n---\nprose\n")
    found = check_rubrics(tmp_path)
    with suppress(UserError):
        load_rubric(tmp_path, "tests@1")
        assert not [one for one in found if "is missing" in one.message]


# --- what is shipped ------------------------------------------------------------------------------


def test_this_repository_has_the_shipped_rubrics_byte_for_byte(root: Path) -> None:
    shipped = shipped_rubrics()
    assert {path.split("/")[1] for path in shipped} == {
        "continuity",
        "maintainability",
        "merge",
        "repair",
        "trajectory",
    }
    for path, text in shipped.items():
        assert (root / path).read_bytes() == text.encode(), path


def test_the_shipped_rubrics_pass_their_own_check(tmp_path: Path) -> None:
    write_files(tmp_path, shipped_rubrics())
    assert said(tmp_path) == []
    merge = load_rubric(tmp_path, "merge@1")
    assert merge.verdicts == VERDICTS
    assert [question.id for question in merge.questions] == [
        "solves",
        "tested",
        "minimal",
        "fits",
        "checks-kept",
        "verified",
        "safe",
    ]
    assert load_rubric(tmp_path, "maintainability@1").verdicts == VERDICTS
    for name in ("continuity", "repair", "trajectory"):
        assert load_rubric(tmp_path, f"{name}@1").verdicts == ()


def test_an_empty_rubric_passes_the_check(tmp_path: Path) -> None:
    assert said(ledger(tmp_path, empty_rubric(), "rubrics/new/v1.md")) == []


def test_the_rubric_in_the_docs_is_one(tmp_path: Path, root: Path) -> None:
    page = (root / "site/pages/how-to/write-a-rubric.md").read_text()
    example = page.split("```markdown\n")[1].split("```\n")[0]
    assert said(ledger(tmp_path, example, "rubrics/payments/v1.md")) == []
    assert load_rubric(tmp_path, "payments@1").verdicts == VERDICTS
