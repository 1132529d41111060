"""A whole round as processes: judged, reviewed, settled, compared, trusted, decided, verified."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.calibration.compared import IDENTITY, Case, add_run, cases, compared_ledger, the_plan
from tests.conftest import git, trialbook, write_files
from tests.judging.conftest import JUDGE, SCRIPT
from tests.review.desk import RUBRIC, editor
from trialbook.formats.records import from_plain
from trialbook.model.judgement import JudgeIdentity

pytestmark = pytest.mark.slow

SUITE = """\
suite: mini
protocol: 1
decision: Which of the two do we use?
configurations: [swift-fox, slow-hare]
repetitions: 10
limits: {minutes: 1}
accept: checks and review:merge
judgement: {rubric: small@1, shown: [checks], controls: 0.05, repeats: 0.05}
"""
CONFIGURATION = """\
configuration: {name}
agent: command
model: {model}
with:
  argv: ["{{python}}", "-c", "open('app.py', 'w').write('x = {value}\\\\ny = {{repetition}}\\\\n')"]
"""
TASK = """\
task: grow
snapshot: {folder: snapshot}
brief: brief.md
graders:
  - checks: checks.yaml
reference: private/reference.patch
near_misses: {half: private/half.patch}
"""
CHECKS = """\
checks:
  - id: name-needed
    question: Is x larger than before?
    type: file_contains
    file: app.py
    pattern: "^x = [2-9]"
"""
PATCH = "diff --git a/app.py b/app.py\n--- a/app.py\n+++ b/app.py\n@@ -1 +1 @@\n-x = 1\n+x = {}\n"
# It errs twice: it rejects one change that people merge, and merges one that they do not.
JUDGING = """\
answers = {"solves": "yes", "narrow": "yes"}
answer = {"findings": [], "answers": answers, "verdict": "MERGE"}
wrong = "+x = 3" in diff
if "+y = 1\\n" in diff:
    wrong = not wrong
if wrong:
    answers["narrow"] = "no"
    answer["findings"] = [finding(added(), question="narrow", severity="medium")]
    answer["verdict"] = "REJECT"
"""
# Both see x = 3 as too much; the second one takes one change for unfinished.
REVIEW = """
    sys.path.insert(0, {top!r})
    from tests.review.desk import filled
    change = (path.parent / "change.diff").read_text()
    known = "+y" not in change
    verdict = "MERGE" if "+x = 2" in change or "+x = 4" in change else "REJECT"
    if os.environ["WHO"] == "ben" and "+x = 2" in change and "+y = 5\\n" in change:
        verdict = "FIX"
    text = filled(path.read_text(), minutes="2", verdict=verdict,
                  narrow="yes" if verdict == "MERGE" else "no")
    path.write_text(text.replace("src/app.py:3", "app.py:1"))
"""
SETTLE = """
    sys.path.insert(0, {top!r})
    from tests.review.desk import settled
    path.write_text(settled(path.read_text(), minutes="1"))
"""
AGENTS = "suites/mini/instructions/AGENTS.md"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    return round_ledger(tmp_path / "ledger", SUITE)


def round_ledger(folder: Path, suite_text: str) -> Path:
    """A ledger with one task that two configurations do, one as people want it."""
    suite = "suites/mini"
    files = {
        f"{suite}/suite.yaml": suite_text,
        f"{suite}/tasks/grow/task.yaml": TASK,
        f"{suite}/tasks/grow/brief.md": "Make x larger.\n",
        f"{suite}/tasks/grow/checks.yaml": CHECKS,
        f"{suite}/tasks/grow/snapshot/app.py": "x = 1\n",
        f"{suite}/tasks/grow/private/reference.patch": PATCH.format(4),
        f"{suite}/tasks/grow/private/half.patch": PATCH.format("1.5"),
        AGENTS: "Keep changes narrow.\n",
        "rubrics/small/v1.md": RUBRIC.replace("medium", "medium\n    critical: false"),
        "rubrics/judges/strict.yaml": JUDGE.format(name="strict", more="votes: 3\n"),
        "rubrics/judges/strict/judge.py": SCRIPT.format(body=JUDGING),
    }
    for name, value in (("swift-fox", 2), ("slow-hare", 3)):
        files[f"{suite}/configurations/{name}.yaml"] = CONFIGURATION.format(
            name=name, value=value, model=f"{name}-1"
        )
    write_files(folder, files)
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "start")
    return folder


def said(folder: Path, *arguments: str) -> Any:
    return json.loads(trialbook(folder, *arguments, "--json").stdout)


def test_a_whole_round_with_a_judge(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trialbook(ledger, "eval", "mini", "-j", "2")
    (folder,) = (ledger / "runs/mini").iterdir()
    run = folder.name
    judged = said(ledger, "judge", run, "--judge", "strict", "-j", "2")
    assert judged["trust"]["level"] == "uncalibrated"
    trialbook(ledger, "verify")

    # Before people are through, there is nothing to compare with, and nothing to look at.
    early = said(ledger, "calibrate", "strict", "--rubric", "small")
    assert early["calibration"] is None
    assert len(early["drawn"]["waiting"]) == 20
    assert "sealed" in trialbook(ledger, "agreement", run, check=2).stderr

    review_all(ledger, tmp_path, monkeypatch, REVIEW, packets=22)
    trialbook(ledger, "verify")
    settle(ledger, run, tmp_path, monkeypatch)
    trialbook(ledger, "verify")
    outcomes = [slot["outcome"] for slot in said(ledger, "show", run)["slots"]]
    assert (outcomes.count("accepted"), outcomes.count("rejected")) == (10, 10)

    _agreement(ledger, run)
    _calibration(ledger)
    trialbook(ledger, "verify")

    # The judge is trusted further from now on; nobody asks it again.
    again = said(ledger, "judge", run, "--judge", "strict")
    assert again["trust"]["level"] == "advisory"
    assert again["taken_over"] == 20
    trialbook(ledger, "verify")
    _findings(ledger)
    trialbook(ledger, "verify")
    trialbook(ledger, "rubric", "check")
    trialbook(ledger, "site", "build")


def review_all(
    ledger: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, script: str, *, packets: int
) -> None:
    """Two reviewers answer every packet, by a script instead of an editor."""
    top = str(Path(__file__).resolve().parents[2])
    monkeypatch.setenv("EDITOR", editor(folder, "reviewing.py", script.format(top=top)))
    for name in ("ann", "ben"):
        monkeypatch.setenv("WHO", name)
        guess = ("--guess", "slow-hare" if name == "ann" else "unknown")
        said = [
            trialbook(ledger, "review", "next", "--reviewer", name, *guess).stdout
            for _ in range(packets)
        ]
        assert "left     nothing" in said[-1]


def settle(ledger: Path, run: str, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The reviewers settle the one change that they differ on."""
    top = str(Path(__file__).resolve().parents[2])
    monkeypatch.setenv("EDITOR", editor(folder, "settling.py", SETTLE.format(top=top)))
    done = trialbook(ledger, "reconcile", run)
    assert done.stdout.count("settled  narrow: yes, verdict: MERGE") == 1


def _agreement(ledger: Path, run: str) -> None:
    (found,) = said(ledger, "agreement", run)
    items = {one["item"]: one for one in found["items"]}
    assert items["verdict"]["n"] == 20
    assert items["verdict"]["table"] == [[9, 1, 0], [0, 0, 0], [0, 0, 10]]
    assert items["verdict"]["raw"] == 0.95
    assert items["solves"]["because"] == "all answers identical"
    assert items["solves"]["kappa"] is None
    ann, ben = found["checks"]
    for one in (ann, ben):
        assert one["repeats"] == {"identical": 1, "total": 1}
        assert one["good"]["count"] == one["good"]["total"]
        assert one["bad"]["count"] == one["bad"]["total"]
        assert one["good"]["total"] + one["bad"]["total"] == 1
    assert (ann["trials"]["count"], ben["trials"]["count"]) == (10, 9)
    assert found["blinding"]["guessed"] == {"count": 10, "total": 20}
    assert found["blinding"]["unknown"] == 20
    assert found["blinding"]["failed"] is False
    text = trialbook(ledger, "agreement", run).stdout
    assert "all answers identical" in text
    assert "blinding: 10/20 (50.0 %) guessed right" in text


def _calibration(ledger: Path) -> None:
    first = said(ledger, "calibrate", "strict", "--rubric", "small@1")
    numbers = first["numbers"]
    assert numbers["errors"] == {
        "true_accepts": 9,
        "false_rejects": 1,
        "false_accepts": 1,
        "true_rejects": 9,
    }
    assert numbers["repeated"] == {"changes": 20, "identical": 20, "runs": 3}
    assert numbers["level"] == "uncalibrated"
    assert "notes" in {one["name"] for one in numbers["unmet"]}
    assert numbers["rates"] == []  # of an uncalibrated judge there is none to show
    text = trialbook(ledger, "calibrate", "strict", "--rubric", "small@1").stdout
    assert "people REJECT, judge MERGE" in text
    assert "narrow at app.py" in text
    notes = [
        part for one in first["differences"] for part in ("--note", one["trial"], "It guessed.")
    ]
    done = said(ledger, "calibrate", "strict", "--rubric", "small@1", *notes)
    assert done["numbers"]["level"] == "advisory"
    assert {one["name"] for one in done["numbers"]["unmet"]} == {
        "labels",
        "accepts",
        "rejects",
        "tnr",
        "tpr",
    }
    assert done["numbers"]["rates"][0]["because"] == "the judge has judged nothing"


def _findings(ledger: Path) -> None:
    groups = said(ledger, "findings")["groups"]
    (narrow,) = [one for one in groups if "judge-strict" in one["by"]]
    assert narrow["about"]["item"] == "small:narrow"
    # Ten changes that all three refuse for it, and one that only one reviewer did.
    assert (narrow["times"], narrow["trials"]) == (31, 12)
    assert narrow["by"] == ["ann", "ben", "judge-strict"]
    link = ("--rule", "instructions", "--link", AGENTS)
    trialbook(ledger, "finding", "resolve", narrow["group"], *link)
    (rule,) = [one for one in said(ledger, "findings")["groups"] if one["rules"]]
    assert (rule["group"], rule["repeats"]) == (narrow["group"], 0)


def test_a_judge_that_people_bear_out_sixty_times_decides(tmp_path: Path) -> None:
    root = compared_ledger(tmp_path, cases((1, 1), (1, 1)))
    write_files(
        root,
        {
            "rubrics/judges/strict.yaml": JUDGE.format(name="strict", more="votes: 3\n"),
            "rubrics/judges/strict/judge.py": SCRIPT.format(
                body='answers["safe"] = answers["small"] = "yes"'
            ),
        },
    )
    git(root, "add", "-A")
    git(root, "commit", "-qm", "a judge")
    # Its identity is that of the process; sixty changes that people have looked at are on record.
    (known,) = (root / "runs/refunds").iterdir()
    first = said(root, "judge", known.name, "--judge", "strict", "--author", "Ann")
    identity = from_plain(JudgeIdentity, first["judge"], "judge")
    assert identity != IDENTITY
    plan = the_plan(60, "20261105-080000-bbbb")
    add_run(root, cases((29, 30), (29, 30)), plan, identity)
    waiting = the_plan(2, "20261106-080000-cccc", accept="checks and judge-strict:merge")
    add_run(root, [Case(people=(), votes=("REJECT",))] * 2, waiting)
    assert {slot["outcome"] for slot in said(root, "show", waiting.run)["slots"]} == {
        "needs_review"
    }
    found = said(root, "calibrate", "strict", "--rubric", "merge@1", "--sample", "100")
    notes = [
        part for one in found["differences"] for part in ("--note", one["trial"], "Read; unclear.")
    ]
    done = said(root, "calibrate", "strict", "--rubric", "merge@1", "--sample", "100", *notes)
    assert done["numbers"]["unmet"] == []
    assert done["numbers"]["level"] == "gating"
    judged = said(root, "judge", waiting.run, "--judge", "strict")
    assert judged["trust"]["level"] == "gating"
    assert judged["trust"]["calibration"] == done["calibration"]
    assert {slot["outcome"] for slot in said(root, "show", waiting.run)["slots"]} == {"accepted"}
    faults = json.loads(trialbook(root, "verify", "--json", check=None).stdout)["faults"]
    codes = {one["code"] for one in faults}
    assert not codes & {"calibration-differs", "trust-differs"}
