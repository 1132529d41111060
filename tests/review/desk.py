"""A ledger whose trials people review, small and quick, and answers that they may give."""

from __future__ import annotations

import sys
import textwrap
from dataclasses import replace
from pathlib import Path

from tests.conftest import git, write_files
from tests.recorded import (
    a_bundle,
    a_configuration,
    a_grade,
    a_plan,
    a_task,
    a_trial,
    new_ledger,
    record_run,
)

from trialbook.formats.editing import edit_text
from trialbook.model.digest import sha256
from trialbook.model.outcome import Outcome
from trialbook.model.plan import Plan, PlannedJudgement
from trialbook.model.trial import AgentRecord
from trialbook.registry import Registry
from trialbook.storage.reader import RunRef
from trialbook.system import System
from trialbook.workflow.reviewing import Desk

RUN = RunRef(suite="refunds", run="20261201-080000-aaaa")
ZEBRA, YAK = "zebra-flow", "yak-flow"
MODELS = {ZEBRA: "quagga-9-large", YAK: "okapi-2-mini"}
BRIEF = "# Task\n\nNo user without a name.\n"
RUBRIC = """\
---
rubric: small
version: 1
title: Would you merge it?
verdicts: [MERGE, FIX, REJECT]
questions:
  - id: solves
    text: Does the change do what the brief asks for?
    no_when: Something that the brief names is still as it was.
    evidence: diff
    severity: must
  - id: narrow
    text: Is every changed line needed for the brief?
    no_when: A line was changed that has nothing to do with the brief.
    evidence: diff
    severity: medium
  - id: checked
    text: Is the new behaviour held by a check?
    no_when: No check fails without the change.
    evidence: check
    applies_to: Changes of behaviour.
---

# Would you merge it?

Answer by what is there.
"""
PATCH = """\
diff --git a/src/app.py b/src/app.py
index 1111111..2222222 100644
--- a/src/app.py
+++ b/src/app.py
@@ -1,2 +1,4 @@
 def create(name):
-    return name
+    # {who} wrote this with {model}
+    if not name: raise ValueError
+    return name
diff --git a/.{who}/notes.md b/.{who}/notes.md
new file mode 100644
index 0000000..3333333
--- /dev/null
+++ b/.{who}/notes.md
@@ -0,0 +1,3 @@
+Kept in {root}/runs for later.
+Co-Authored-By: Claude <noreply@anthropic.com>
+\U0001f916 Generated with [Claude Code](https://claude.com/claude-code)
"""


def judgement(**changes: object) -> PlannedJudgement:
    """How people judge the run: two of them, by the small rubric."""
    plain = PlannedJudgement(
        rubric="small@1",
        rubric_sha256=sha256(RUBRIC.encode()),
        reviewers=2,
        third=None,
        controls=0.0,
        repeats=0.0,
        shown=("checks",),
        reviewed="accepted_by_tests",
        usd_per_hour=None,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]


def reviewed_plan(**changes: object) -> Plan:
    """Two tasks under two configurations, once each."""
    plan = a_plan(
        {
            name: a_configuration(model=model, instructions=f"{name}-notes", agent="claude-code")
            for name, model in MODELS.items()
        },
        ("create-user", "rename-user"),
        repetitions=1,
        suite=RUN.suite,
        run=RUN.run,
        accept="checks and review:merge",
    )
    tasks = {name: a_task(brief_sha256=sha256(BRIEF.encode())) for name in plan.tasks}
    return replace(plan, tasks=tasks, judgement=judgement(**changes))


def reviewed_ledger(folder: Path, *, closed: bool = True, **changes: object) -> Path:
    """A ledger in which three trials wait for people, and one failed its checks."""
    folder.mkdir(parents=True, exist_ok=True)
    root = new_ledger(folder)
    write_files(root, {"rubrics/small/v1.md": RUBRIC})
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "rubric")
    plan = reviewed_plan(**changes)
    bundles = []
    for number, slot in enumerate(plan.schedule):
        fails = (slot.task, slot.configuration) == ("rename-user", YAK)
        grade = a_grade({"name-needed": not fails, "typed": True})
        outcome = Outcome.REJECTED if fails else Outcome.NEEDS_REVIEW
        agent = AgentRecord(
            name="claude-code",
            distribution="trialbook",
            version="1",
            reported_version="2.1.332 (Claude Code)",
            model=MODELS[slot.configuration],
        )
        trial = a_trial(plan, slot.key, outcome, agent=agent)
        patch = PATCH.format(
            who=slot.configuration, model=MODELS[slot.configuration], root=root.resolve()
        )
        files = {"sessions/1/attempt-1/prompt.md": BRIEF.encode()}
        bundles.append(a_bundle(trial, patch=patch.encode(), grades=[grade], files=files))
        assert number < 4
    record_run(root, plan, bundles, closed=closed)
    return root


def a_desk(root: Path, system: System | None = None) -> Desk:
    return Desk.open(root, system or System(), Registry())


def filled(text: str, *, verdict: str = "MERGE", minutes: str = "", **answers: str) -> str:
    """A form with all answers yes, unless said otherwise."""
    if minutes:
        text = edit_text(text, ("minutes",), float(minutes))
    for number, name in enumerate(("solves", "narrow", "checked")):
        at = ("answers", number)
        text = edit_text(text, (*at, "answer"), answers.get(name, "yes"))
        place = "name-needed" if name == "checked" else "src/app.py:3"
        text = edit_text(text, (*at, "evidence"), [place])
    text = edit_text(text, ("verdict",), verdict)
    if verdict != "MERGE":
        text = edit_text(text, ("findings",), [{"where": "src/app.py:3", "text": "No test."}])
    return text


def settled(text: str, *, narrow: str = "yes", verdict: str = "MERGE", minutes: str = "") -> str:
    """A form of what reviewers differ on, filled in."""
    for number, (final, said) in enumerate(
        [(narrow, "It is needed."), (verdict, "So nothing is to fix.")]
    ):
        for key, value in (("final", final), ("reason", "missed_fact"), ("text", said)):
            text = edit_text(text, ("items", number, key), value)
    return edit_text(text, ("minutes",), float(minutes)) if minutes else text


def review_all(root: Path, reviewer: str, **answers: str) -> list[str]:
    """Hand in everything that waits for somebody; gives the paths in the ledger."""
    paths = []
    while (opened := a_desk(root).next(reviewer)) is not None:
        opened.draft.form.write_text(filled(opened.draft.form.read_text(), **answers))
        paths.append(a_desk(root).hand_in(opened, None).path)
    return paths


def editor(folder: Path, name: str, body: str) -> str:
    """An editor that is a script: ``path`` is the file it is opened on."""
    script = folder / name
    script.write_text(
        "import pathlib, sys, os\npath = pathlib.Path(sys.argv[1])\n" + textwrap.dedent(body)
    )
    return f"{sys.executable} {script}"
