from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.calibration.compared import Case, cases, compare, compared_ledger, reader_of
from tests.conftest import git, trialbook, write_files
from trialbook.registry import Registry
from trialbook.site.build import build_site

AGENTS = "suites/refunds/instructions/AGENTS.md"
HOSTILE = "<script>alert(1)</script> {{ 7*7 }}"


ROOT = Path(__file__).resolve().parents[2]
SHIPPED = ROOT / "rubrics/merge/calibrations"


def built(root: Path, output: Path) -> Path:
    done = build_site(root, reader_of(root), output, registry=Registry())
    assert done.problems == ()
    return output


def test_pages_say_how_far_judge_and_reviewers_agree(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path / "ledger", cases((11, 12), (6, 8)))
    first = compare(root)
    disputed = first.compared.numbers.disagreements
    compare(root, notes=dict.fromkeys(disputed, HOSTILE))
    page = (built(root, tmp_path / "site") / "judgement/index.html").read_text()
    assert "Reviewers by merge@1: Would you merge it?" in page
    assert "Judge strict by merge@1: advisory" in page
    assert "17/20 (85.0 %)" in page
    assert "11/12 (91.7 %) [61.5 %, 99.8 %] Clopper-Pearson" in page
    assert "An empty name is let through." in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>" not in page
    assert "{{ 7*7 }}" in page


def test_a_page_lists_findings_with_their_rules(tmp_path: Path) -> None:
    refused = Case(people=("REJECT", "REJECT"), no=("solves",))
    root = compared_ledger(tmp_path / "ledger", [refused, refused])
    write_files(root, {AGENTS: "Look at empty names.\n"})
    git(root, "add", "-A")
    git(root, "commit", "-qm", "instructions")
    page = (built(root, tmp_path / "site") / "findings/index.html").read_text()
    assert "question merge:solves at src/user_service.py: solves as I see it" in page
    assert "none yet" in page
    group = page.partition('id="f-')[2][:8]
    trialbook(root, "finding", "resolve", group, "--rule", "task", "--link", AGENTS)
    page = (built(root, tmp_path / "site") / "findings/index.html").read_text()
    (rule,) = (
        line for line in page.splitlines() if f'href="{group}.html"' in line and "rule-" in line
    )
    assert AGENTS in rule
    assert ">task<" in rule
    assert ">never<" in rule


def test_nothing_of_sealed_reviews_is_on_a_page(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path / "ledger", [Case(people=("REJECT",), no=("solves",))])
    site = built(root, tmp_path / "site")
    for name in ("judgement", "findings"):
        page = (site / name / "index.html").read_text()
        assert "solves" not in page
        assert "REJECT" not in page


@pytest.mark.skipif(not SHIPPED.is_dir(), reason="a source distribution has no ledger")
def test_a_calibration_whose_runs_are_not_in_the_ledger_says_so(tmp_path: Path) -> None:
    root = tmp_path / "ledger"
    shutil.copytree(ROOT / "rubrics", root / "rubrics")
    (root / "suites").mkdir()
    git(root, "init", "-q")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "Rubrics")
    said = trialbook(root, "site", "build", "--output", str(tmp_path / "site"), check=None)
    assert said.returncode == 2
    assert "which the site does not have" in said.stderr
    assert "is not in this ledger" in (tmp_path / "site/judgement/index.html").read_text()
