"""A whole round as processes: a run, two reviewers with controls and repeats, what counts then."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from tests.conftest import git, trialbook, write_files
from tests.review.desk import RUBRIC, a_desk, editor

from trialbook.registry import Registry
from trialbook.storage.reader import Reader, RunRef
from trialbook.storage.suites import check_suite

pytestmark = pytest.mark.slow

SUITE = """\
suite: mini
protocol: 1
decision: Which of the two do we use?
configurations: [swift-fox, slow-hare]
repetitions: 2
limits: {minutes: 1}
accept: checks and review:merge
judgement:
  rubric: small@1
  controls: 0.5
  repeats: 0.5
  shown: [checks]
  usd_per_hour: 60
"""
CONFIGURATION = """\
configuration: {name}
agent: command
model: {model}
with:
  argv: ["{{python}}", "-c", "open('app.py', 'w').write('x = {value}  # {name}\\\\n')"]
"""
TASK = """\
task: grow
snapshot: {folder: snapshot}
brief: brief.md
graders:
  - checks: checks.yaml
reference: private/reference.patch
near_misses:
  half: private/half.patch
"""
CHECKS = """\
checks:
  - id: grown
    question: Is x larger than before?
    type: file_contains
    file: app.py
    pattern: "^x = [2-9]"
"""
PATCH = """\
From: An Author <author@example.invalid>
Subject: grow x

diff --git a/app.py b/app.py
--- a/app.py
+++ b/app.py
@@ -1 +1 @@
-x = 1
+x = {value}
"""
REVIEW = """
    import os
    sys.path.insert(0, {top!r})
    from tests.review.desk import filled
    change = (path.parent / "change.diff").read_text()
    wrong = "x = 1" in change.replace("-x = 1", "")
    text = filled(path.read_text().replace("checked", "checked"), minutes="6",
                  verdict="REJECT" if wrong else os.environ["SAYS"])
    for place in ("src/app.py:3",):
        text = text.replace(place, "app.py:1")
    path.write_text(text.replace("name-needed", "grown"))
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    folder = tmp_path / "ledger"
    suite = "suites/mini"
    write_files(
        folder,
        {
            f"{suite}/suite.yaml": SUITE,
            f"{suite}/configurations/swift-fox.yaml": CONFIGURATION.format(
                name="swift-fox", model="quagga-9", value=2
            ),
            f"{suite}/configurations/slow-hare.yaml": CONFIGURATION.format(
                name="slow-hare", model="okapi-2", value=3
            ),
            f"{suite}/tasks/grow/task.yaml": TASK,
            f"{suite}/tasks/grow/brief.md": "Make x larger.\n",
            f"{suite}/tasks/grow/checks.yaml": CHECKS,
            f"{suite}/tasks/grow/private/reference.patch": PATCH.format(value=4),
            f"{suite}/tasks/grow/private/half.patch": PATCH.format(value="1.5"),
            f"{suite}/tasks/grow/snapshot/app.py": "x = 1\n",
            "rubrics/small/v1.md": RUBRIC,
        },
    )
    git(folder, "init", "-q", "-b", "main")
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "start")
    return folder


def test_a_whole_round_of_reviews(
    ledger: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert check_suite(ledger, "mini", Registry()) == []
    trialbook(ledger, "eval", "mini")
    run = Reader.open(ledger).runs()[0]
    plan = Reader.open(ledger).plan(run)
    assert plan.judgement is not None
    assert plan.tasks["grow"].controls == ("reference", "near-miss:half")
    status = json.loads(trialbook(ledger, "show", run.run, "--json").stdout)
    assert {slot["outcome"] for slot in status["slots"]} == {"needs_review"}
    top = str(Path(__file__).resolve().parents[2])
    monkeypatch.setenv("EDITOR", editor(tmp_path, "reviewing.py", REVIEW.format(top=top)))
    for name, says in (("ann", "MERGE"), ("bob", "FIX")):
        monkeypatch.setenv("SAYS", says)
        _packets_tell_nothing(ledger, run, name)
        for _ in range(8):
            done = trialbook(ledger, "review", "next", "--reviewer", name)
        assert "left     nothing" in done.stdout
        assert "nothing waits" in trialbook(ledger, "review", "next", "--reviewer", name).stdout
    monkeypatch.setenv(
        "EDITOR",
        editor(
            tmp_path,
            "settling.py",
            f"sys.path.insert(0, {top!r})\nfrom tests.review.desk import edit_text\n"
            "text = path.read_text()\n"
            "for key, value in (('final', 'MERGE'), ('reason', 'taste'), ('text', 'Fine.')):\n"
            "    text = edit_text(text, ('items', 0, key), value)\npath.write_text(text)\n",
        ),
    )
    done = trialbook(ledger, "reconcile", run.run)
    assert done.stdout.count("settled  verdict: MERGE") == 4
    status = json.loads(trialbook(ledger, "show", run.run, "--json").stdout)
    assert {slot["outcome"] for slot in status["slots"]} == {"accepted"}
    report = trialbook(ledger, "report", run.run).stdout
    # Of 16 packets of 6 minutes, 8 are trials for the first time.
    assert "48 minutes of that on controls and repeats" in report
    trialbook(ledger, "verify")


def _packets_tell_nothing(ledger: Path, run: RunRef, reviewer: str) -> None:
    """Controls look like trials, and nothing in any packet tells which is which."""
    desk = a_desk(ledger)
    waiting = desk.reviews(run).waiting(reviewer)
    assert len(waiting) == 8
    assert sum(bool(one.item.control) for one in waiting) == 2
    assert sum(one.repeat for one in waiting) == 2
    shapes = set()
    for packet in waiting:
        files = desk.packet_files(run, packet)
        for data in files.values():
            # The look of the page is the same for all.
            text = re.sub(r"(?s)<style>.*?</style>", "", data.decode().lower())
            for word in (
                "swift-fox",
                "slow-hare",
                "quagga",
                "okapi",
                "author",
                "near",
                str(ledger),
            ):
                assert word not in text.replace("the author", ""), word
            assert not re.search(r"\breference\b", text.split("<main", 1)[-1])
        assert b"Is x larger than before?" in files["packet.html"]
        shapes.add((files["brief.md"], files["change.diff"].count(b"\n")))
    assert len(shapes) == 1


def test_a_suite_says_what_is_wrong_with_its_judgement(ledger: Path) -> None:
    file = ledger / "suites/mini/suite.yaml"
    for old, new, expected in (
        ("rubric: small@1", "rubric: smal@1", "there is no rubric smal@1"),
        ("rubric: small@1", "rubric: small", "does not name a version"),
        ("shown: [checks]", "shown: [acceptance]", "not every task has a grader `acceptance`"),
        ("controls: 0.5", "controls: 2", "must be at most 1"),
        ("usd_per_hour: 60", "third: Zoe", "is no name of a reviewer"),
        (SUITE[SUITE.index("judgement:") :], "", "nothing says who reviews"),
    ):
        file.write_text(SUITE.replace(old, new))
        found = [str(one) for one in check_suite(ledger, "mini", Registry())]
        assert len(found) == (1 if new else 2), found
        assert expected in found[0]
        assert found[0].startswith("suites/mini/suite.yaml:")
    file.write_text(SUITE)
    rubric = ledger / "rubrics/small/v1.md"
    rubric.write_text(rubric.read_text().replace("verdicts: [MERGE, FIX, REJECT]\n", ""))
    assert any("asks for no verdict" in str(one) for one in check_suite(ledger, "mini", Registry()))
