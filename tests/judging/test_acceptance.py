"""Judges and people in an acceptance policy: who decides, and what is said until then."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from tests.conftest import git, trialbook, write_files
from tests.judging.conftest import MERGE, REJECT, RUBRIC, Judges, judged

from trialbook.model.judgement import Trusted
from trialbook.model.trust import TrustLevel
from trialbook.registry import Registry
from trialbook.storage.reader import Reader
from trialbook.system import System
from trialbook.workflow.grade_again import GradingBench
from trialbook.workflow.judging import JudgedRun, JudgeRequest, judge_run

GOOD, BAD = "first/good/r1", "first/bad/r1"


def accepts(ledger: Path, expression: str) -> None:
    suite = ledger / "suites/mini/suite.yaml"
    text = suite.read_text().partition("accept:")[0]
    suite.write_text(f"{text}accept: {expression}\n")


def outcomes(ledger: Path) -> dict[str, tuple[str, str]]:
    (folder,) = (ledger / "runs/mini").iterdir()
    found = {}
    for trial in (GOOD, BAD):
        done = trialbook(ledger, "show", f"{folder.name}/{trial}", "--json")
        standing: dict[str, Any] = json.loads(done.stdout)["standing"]
        found[trial] = standing["outcome"], standing["reason"]
    return found


@pytest.fixture
def waiting(ledger: Path, judge_named: Judges) -> str:
    """A run that a judge has a say in, by its policy."""
    judge_named("strict", REJECT)
    write_files(ledger, {"rubrics/merge/v1.md": RUBRIC})
    accepts(ledger, "checks and judge-strict:merge")
    git(ledger, "add", "-A")
    git(ledger, "commit", "-qm", "a judge")
    trialbook(ledger, "eval", "mini", "-t", "first", "-r", "1")
    (folder,) = (ledger / "runs/mini").iterdir()
    return folder.name


def judged_at(
    level: TrustLevel, ledger: Path, run: str, monkeypatch: pytest.MonkeyPatch
) -> JudgedRun:
    """Judge in this process, as if a calibration had brought the judge to a level."""
    trusted = Trusted(level=level, calibration="20261130T120000Z-0a0b0c", because="for a test")
    monkeypatch.setattr("trialbook.workflow.judging.trust_of", lambda *_: trusted)
    bench = GradingBench(root=ledger, registry=Registry(), system=System(), tell=print)
    ref = Reader.open(ledger).resolve_run(run)
    return judge_run(bench, ref, JudgeRequest(judge="strict"))


@pytest.mark.slow
def test_a_trial_waits_for_its_judge_and_what_tests_reject_does_not(
    ledger: Path, waiting: str
) -> None:
    found = outcomes(ledger)
    assert found[GOOD] == ("needs_review", "checks 2/2; judge-strict has not judged it")
    assert found[BAD][0] == "rejected"
    assert "judge" not in found[BAD][1]
    trialbook(ledger, "verify")


@pytest.mark.slow
def test_a_judge_decides_only_while_it_is_trusted_that_far(
    ledger: Path, waiting: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged(ledger, waiting, "strict")
    found = outcomes(ledger)
    assert found[GOOD][0] == "needs_review"
    assert found[GOOD][1].endswith(
        "judge-strict REJECT, which does not count while the judge is uncalibrated"
    )
    assert found[BAD][0] == "rejected"
    trialbook(ledger, "verify")
    for level, outcome in (
        (TrustLevel.ADVISORY, "needs_review"),
        (TrustLevel.GATING, "rejected"),
        (TrustLevel.ADVISORY, "needs_review"),
        (TrustLevel.GATING, "rejected"),
    ):
        again = judged_at(level, ledger, waiting, monkeypatch)
        assert again.taken_over == 2  # nobody was asked again
        assert outcomes(ledger)[GOOD][0] == outcome
    assert outcomes(ledger)[GOOD] == ("rejected", "checks 2/2; judge-strict REJECT")


@pytest.mark.slow
def test_another_judge_of_the_name_is_trusted_with_nothing(
    ledger: Path, waiting: str, judge_named: Judges, monkeypatch: pytest.MonkeyPatch
) -> None:
    judged_at(TrustLevel.GATING, ledger, waiting, monkeypatch)
    assert outcomes(ledger)[GOOD][0] == "rejected"
    judge_named("strict", MERGE)
    found = judged(ledger, waiting, "strict")
    assert found["trust"]["level"] == "uncalibrated"
    assert outcomes(ledger)[GOOD][0] == "needs_review"


@pytest.mark.slow
def test_a_judge_that_fails_leaves_the_trial_waiting(
    ledger: Path, waiting: str, judge_named: Judges
) -> None:
    judge_named("strict", "sys.exit(1)")
    judged(ledger, waiting, "strict")
    outcome, reason = outcomes(ledger)[GOOD]
    assert outcome == "needs_review"
    assert "judge-strict gave no usable answer: no verdict: the command exited" in reason


@pytest.mark.slow
def test_tests_and_merging_are_columns_apart_and_only_where_somebody_judged(
    ledger: Path, run: str, judge_named: Judges, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = trialbook(ledger, "report", run, "--format", "csv").stdout
    assert "would_merge" not in first
    judge_named("strict", REJECT)
    judged_at(TrustLevel.GATING, ledger, run, monkeypatch)
    table = trialbook(ledger, "report", run, "--format", "csv").stdout.splitlines()
    head, *rows = csv.reader(table)
    wanted = {
        "tests_pass": "",
        "would_merge": "no",
        "would_merge_by": "judge-strict",
        "judges": "judge-strict REJECT (gating)",
    }
    for row in rows:
        cells = dict(zip(head, row, strict=True))
        assert {name: cells[name] for name in wanted} == wanted
    text = trialbook(ledger, "report", run).stdout
    assert "## Tests pass, and would merge" in text


@pytest.mark.parametrize(
    ("expression", "said"),
    [
        ("checks and judge-strict:merge", ""),
        ("checks and judge-strict", "20: no verdict is named; write judge-strict:merge"),
        ("checks and judge-strict:lgtm", "`lgtm` is no verdict of merge@1"),
        ("checks and judge-strct:merge", "there is no judge `strct`; did you mean"),
        ("checks:merge", "`checks` gives no verdict, it accepts or does not; write checks"),
        ("checks and review:merge", "nothing says who reviews"),
    ],
)
def test_the_check_of_a_suite_knows_who_can_answer(
    ledger: Path, judge_named: Judges, expression: str, said: str
) -> None:
    judge_named("strict", MERGE)
    write_files(ledger, {"rubrics/merge/v1.md": RUBRIC})
    accepts(ledger, expression)
    done = trialbook(ledger, "suite", "check", "mini", check=2 if said else 0)
    assert said in done.stderr


def test_a_policy_needs_the_rubric_that_its_verdicts_are_of(
    ledger: Path, judge_named: Judges
) -> None:
    judge_named("strict", MERGE)
    accepts(ledger, "checks and judge-strict:merge")
    done = trialbook(ledger, "suite", "check", "mini", check=2)
    assert "its verdicts are those of merge@1: there is no rubric merge@1" in done.stderr


@pytest.mark.slow
def test_pages_show_what_a_judge_said_and_that_nothing_of_it_counts(
    ledger: Path, run: str, judge_named: Judges
) -> None:
    body = REJECT + "\nanswer['findings'].append(finding('<script>alert(1)</script>', text='Odd.'))"
    judge_named("strict", body, "votes: 3\n")
    judged(ledger, run, "strict", "--jobs", "2")
    trialbook(ledger, "site", "build")
    pages = {path.name: path.read_text() for path in (ledger / "site/_build").rglob("*.html")}
    (page,) = (
        text for text in pages.values() if "Vote 3: REJECT" in text and "first/good/r1" in text
    )
    assert "an opinion, which enters no other number" in page
    assert "quote not in the diff" in page
    assert "<script>alert(1)" not in page
    assert "Tests pass" in page
    assert any("judge-strict</code> opinion" in text for text in pages.values())
