from __future__ import annotations

from typing import Any

import pytest

from trialbook.formats.patch_lines import PatchLines, patch_lines
from trialbook.grading.plant_rules import first_hit, other_inputs, size, source_of, words
from trialbook.model.planting import RuleResult, RuleStatus

SYMPTOM = "The invoice is short, the harbour's hours do not appear."


def lines(added: int = 160, text: str = "value = compute(value)\n") -> PatchLines:
    return PatchLines(added={"core.py": [(n, text) for n in range(1, added + 1)]})


def refused(found: RuleResult, *told: str) -> None:
    assert found.status is RuleStatus.BROKEN, found
    assert found.advice
    for text in told:
        assert text in found.reason


def test_a_large_change_with_a_small_fault_looks_like_an_integration() -> None:
    assert size(lines(), 8, ["core.py:7-10"]).status is RuleStatus.KEPT


def test_a_fault_is_numbered_as_the_change_is_written() -> None:
    moved = PatchLines(added={"core.py": [(n + 100, "x = 1\n") for n in range(1, 161)]})
    assert size(moved, 8, ["core.py:7-10"]).status is RuleStatus.BROKEN
    assert size(moved, 8, ["core.py:7-10"], lines()).status is RuleStatus.KEPT


def test_a_fault_may_be_a_line_that_is_gone() -> None:
    text = b"diff --git a/core.py b/core.py\n--- a/core.py\n+++ b/core.py\n"
    gone = patch_lines(text + b"@@ -3,3 +3,2 @@\n kept\n-gone\n kept too\n")
    bare = patch_lines(text + b"@@ -4 +3,0 @@\n-gone\n")
    for found in (gone, bare):
        assert found is not None
        given = [found.changes(f"core.py:{n}") for n in (1, 2, 3, 4, 5)]
        assert given == [False, False, True, True, False]
        assert not found.changes("core.py:5-3")
        assert not found.changes("core.py")


@pytest.mark.parametrize(
    ("given", "files", "faulty", "told"),
    [
        (lines(), 7, ["core.py:7"], "at least 8 files"),
        (lines(149), 8, ["core.py:7"], "at least 150 changed lines"),
        (lines(), 8, ["core.py:1-9"], "more than 5%"),
        (lines(), 8, ["core.py:900"], "does not change: core.py:900"),
        (lines(), 8, ["core.py:159-161"], "does not change: core.py:159-161"),
        (PatchLines(deleted={"core.py": [(9, "x\n")] * 160}), 8, ["core.py:7"], "core.py:7"),
        (lines(), 8, ["other.py:1"], "does not change: other.py:1"),
    ],
)
def test_a_change_that_stands_out_is_refused(
    given: PatchLines, files: int, faulty: list[str], told: str
) -> None:
    refused(size(given, files, faulty), told)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"message": "Introduce a bug"}, "the message: bug"),
        ({"message": "Merge hacks"}, "hacks"),
        ({"message": "Merge", "lines": lines(text="temp = 1\n")}, "core.py:1: temp"),
        ({"message": "Merge", "lines": lines(text="def regression_here():\n")}, "regression"),
        ({"message": "Merge", "lines": lines(text="# it breaks\n")}, "breaks"),
        ({"message": "Merge the invoice"}, "invoice"),
        ({"message": "Merge", "paths": ["harbour.py"]}, "harbour.py: harbour"),
        ({"message": " "}, "no message"),
    ],
)
def test_a_word_that_gives_the_fault_away_is_refused(given: dict[str, Any], told: str) -> None:
    found = words(
        given["message"], given.get("lines", lines()), SYMPTOM, [], given.get("paths", ["core.py"])
    )
    refused(found, told)


def test_words_of_the_language_and_of_the_project_give_nothing_away() -> None:
    plain = lines(text="    break\n")
    assert words("Merge main", plain, SYMPTOM, [], ["debug.py"]).status is RuleStatus.KEPT
    template = lines(text="template = hours(day)\n")
    kept = words("Merge main", template, SYMPTOM, ["def hours(day):"], ["core.py"])
    assert kept.status is RuleStatus.KEPT


def test_a_cause_that_a_search_finds_first_is_refused() -> None:
    texts = {"cause.py": "invoice harbour hours", "other.py": "invoice"}
    refused(first_hit(SYMPTOM, texts, ["cause.py:3"]), "cause.py")
    assert first_hit(SYMPTOM, texts, ["other.py:3"]).status is RuleStatus.KEPT
    alike = {"cause.py": "invoice", "other.py": "invoice"}
    assert first_hit(SYMPTOM, alike, ["cause.py:3"]).status is RuleStatus.KEPT
    assert first_hit(SYMPTOM, {"cause.py": "x"}, ["cause.py:3"]).status is RuleStatus.KEPT


def test_a_sibling_with_the_input_of_the_report_is_refused() -> None:
    source = "def test_a():\n    assert f(7) == 7\n\ndef test_b():\n    assert f(7) == 7\n"
    source += "\ndef test_c():\n    assert f(8) == 8\n"
    files = {"test_x": source}
    a, b, c = (source_of(f"test_x::test_{one}", files) for one in "abc")
    assert a
    refused(other_inputs({"a": a}, {"b": b, "c": c}), "as the reported test: b")
    assert other_inputs({"a": a}, {"c": c}).status is RuleStatus.KEPT
    assert other_inputs({"a": a}, {"d": ""}).status is RuleStatus.UNKNOWN


def test_cases_of_one_test_have_inputs_of_their_own() -> None:
    files = {"test_x": "def test_a(n):\n    assert f(n)\n"}
    one, two = (source_of(f"tests.test_x::test_a[{n}]", files) for n in "12")
    assert other_inputs({"one": one}, {"two": two}).status is RuleStatus.KEPT
    assert source_of("test_y::test_a", files) == ""
    assert source_of("test_x::test_a", {"test_x": "def ("}) == ""
