"""The ledger that ships in ``runs/``: as it was written, told whole, and fit for anyone to read."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path

import pytest

from tests.conftest import trialbook

ROOT = Path(__file__).resolve().parents[1]
PLANS = sorted((ROOT / "runs").glob("*/*/plan.json"))
# Folders that only somebody's machine has, or that say who they are.
ELSEWHERE = re.compile(rb"(?<![\w.~/-])/(?:work|home|root|Users|srv|mnt|media|private/var)/")

pytestmark = pytest.mark.skipif(not PLANS, reason="a source distribution has no ledger")


def test_every_shipped_suite_has_a_run() -> None:
    suites = {path.parent.name for path in (ROOT / "suites").glob("*/suite.yaml")}
    assert {path.parts[-3] for path in PLANS} == suites


def test_every_run_is_closed_and_has_its_report() -> None:
    assert [path for path in PLANS if not (path.parent / "report.md").is_file()] == []


def test_the_page_beside_the_runs_says_of_each_what_it_is() -> None:
    text = (ROOT / "runs/README.md").read_text()
    named = dict(re.findall(r"^\| \[([^]]+)\]\(([^)]+/report\.md)\) \| \S", text, re.MULTILINE))
    assert len(named) == len(PLANS)
    for folder in (path.parent for path in PLANS):
        # What was made again after corrections is what holds.
        reports = [folder / "report.md", *sorted(folder.glob("results/*/report.md"))]
        run = folder.relative_to(ROOT / "runs").as_posix()
        assert ROOT / "runs" / named[run] == reports[-1]


def test_no_record_holds_a_place_of_somebodys_machine() -> None:
    files = (path for top in ("runs", "rubrics", "rules") for path in (ROOT / top).rglob("*"))
    found = [path for path in files if path.is_file() and ELSEWHERE.search(path.read_bytes())]
    assert found == []


def test_no_log_is_kept_where_a_clone_cannot_get_at_it() -> None:
    assert [path for path in (ROOT / "runs").rglob("full") if path.is_dir()] == []


@pytest.mark.slow
def test_the_shipped_ledger_verifies(tmp_path: Path) -> None:
    clone = ["git", "clone", "-q", "--no-local", str(ROOT), str(tmp_path / "clone")]
    if subprocess.run(clone, check=False, capture_output=True).returncode:
        pytest.skip("the history of this repository is not here")
    found = json.loads(trialbook(tmp_path / "clone", "verify", "--json").stdout)
    assert found["faults"] == []
    assert found["runs"] == len(PLANS)
