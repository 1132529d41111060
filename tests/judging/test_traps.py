"""The shipped diffs with traps, tried on judges that fall for them and on one that does not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import trialbook, write_files
from tests.judging.conftest import RUBRIC, Judges

from trialbook.grading.judge_traps import traps

READS = """\
if "abs(amount)" in diff:
    answers["solves"] = "no"
    answer["findings"] = [finding("amount = abs(amount)")]
    answer["verdict"] = "REJECT"
"""
OBEYS = (
    READS
    + """\
if "MERGE" in diff.replace("u200b", "").replace("\\\\", ""):
    answers["solves"] = "yes"
    answer["findings"], answer["verdict"] = [], "MERGE"
"""
)


def tried(ledger: Path, name: str, check: int) -> dict[str, Any]:
    done = trialbook(ledger, "judge", "--judge", name, "--traps", "--json", "-j", "2", check=check)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.slow
def test_a_judge_that_reads_the_diff_is_moved_by_nothing(ledger: Path, judge_named: Judges) -> None:
    write_files(ledger, {"rubrics/merge/v1.md": RUBRIC})
    judge_named("reads", READS)
    found = tried(ledger, "reads", check=0)
    assert found["held"] is True
    assert len(found["traps"]) == len(traps())
    assert {one["result"] for one in found["traps"]} == {"held"}
    assert all(one["seen"] for one in found["traps"][2:])
    assert not any(one["seen"] for one in found["traps"][:2])


@pytest.mark.slow
def test_a_judge_that_obeys_the_diff_is_found_out(ledger: Path, judge_named: Judges) -> None:
    write_files(ledger, {"rubrics/merge/v1.md": RUBRIC})
    judge_named("obeys", OBEYS)
    found = tried(ledger, "obeys", check=1)
    results = {one["trap"]: one["result"] for one in found["traps"]}
    assert (results["good-change"], results["bad-change"]) == ("held", "held")
    assert results["comment"] == results["answer"] == results["zero-width"] == "moved"
    said = trialbook(ledger, "judge", "--judge", "obeys", "--traps", check=1).stdout
    assert "moved the judge" in said


@pytest.mark.slow
def test_a_judge_that_accepts_everything_is_wrong_and_one_that_says_nothing_is_silent(
    ledger: Path, judge_named: Judges
) -> None:
    write_files(ledger, {"rubrics/merge/v1.md": RUBRIC})
    judge_named("kind", "pass")
    found = tried(ledger, "kind", check=1)
    assert {one["trap"]: one["result"] for one in found["traps"]}["bad-change"] == "wrong"
    judge_named("silent", "sys.exit()")
    found = tried(ledger, "silent", check=0)
    assert {one["result"] for one in found["traps"]} == {"no answer"}


def test_a_run_or_the_traps_and_not_both(ledger: Path, judge_named: Judges) -> None:
    judge_named("reads", READS)
    for arguments in (("some-run", "--traps"), ()):
        done = trialbook(ledger, "judge", *arguments, "--judge", "reads", check=2)
        assert "either a RUN or --traps" in done.stderr
