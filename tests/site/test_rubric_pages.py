from __future__ import annotations

from pathlib import Path

from tests.conftest import write_files
from tests.recorded import new_ledger
from tests.site.conftest import build

from trialbook.storage.shipped_rubrics import shipped_rubrics

HOSTILE = """\
---
rubric: odd
version: {version}
title: "Is <b>it</b> safe?"
questions:
  - id: marked-up
    text: Is `<script>alert(1)</script>` escaped?
    no_when: It "is" <i>not</i>.
    evidence: file
---

# Odd

<script>alert(1)</script> and [a link](javascript:alert(1)), and [one](nowhere.md).
"""


def test_every_version_has_a_page_with_its_questions_and_its_prose(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    write_files(root, shipped_rubrics())
    assert build(root, tmp_path / "site").problems == ()
    contents = (tmp_path / "site/rubrics/index.html").read_text()
    for name in ("continuity", "maintainability", "merge", "repair", "trajectory"):
        assert f'href="{name}/v1.html"' in contents
    page = (tmp_path / "site/rubrics/merge/v1.html").read_text()
    assert 'id="question-checks-kept"' in page
    assert "Verdict: MERGE, FIX, REJECT, from best to worst." in page
    assert "<h2>How to answer</h2>" in page or "How to answer</h2>" in page
    assert page.count("<h1") == 1
    assert '<a href="../index.html" aria-current="page">' not in page
    first = (tmp_path / "site/index.html").read_text()
    assert 'href="rubrics/index.html"' in first


def test_versions_lead_to_each_other_and_nothing_in_a_rubric_acts(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    write_files(root, {f"rubrics/odd/v{n}.md": HOSTILE.format(version=n) for n in (1, 2)})
    problems = build(root, tmp_path / "site").problems
    assert [one.path for one in problems] == ["rubrics/odd/v1.html", "rubrics/odd/v2.html"]
    page = (tmp_path / "site/rubrics/odd/v1.html").read_text()
    assert 'href="v2.html"' in page
    assert page.count("<script") == page.count('<script src="../../assets/') == 3
    assert "<b>it" not in page
    assert "<i>" not in page
    assert 'href="javascript' not in page


def test_a_rubric_that_cannot_be_read_is_a_problem_and_the_site_is_built(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    write_files(root, shipped_rubrics() | {"rubrics/odd/v1.md": "nothing\n"})
    problems = build(root, tmp_path / "site").problems
    assert [one.path for one in problems] == ["rubrics/odd/v1.md"]
    assert (tmp_path / "site/rubrics/merge/v1.html").is_file()
    assert not (tmp_path / "site/rubrics/odd").exists()


def test_a_ledger_without_rubrics_has_no_page_of_them(tmp_path: Path) -> None:
    root = new_ledger(tmp_path / "ledger")
    build(root, tmp_path / "site")
    assert not (tmp_path / "site/rubrics").exists()
