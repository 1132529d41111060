"""A small ledger with one task of four sessions, and what its agents do in each."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.conftest import write_files

SUITE = """\
suite: story
protocol: 1
decision: Does the work hold up from one session to the next?
configurations: [steady]
repetitions: 1
limits: {minutes: 3}
accept: checks
"""

STEADY = """\
configuration: steady
agent: command
files: "driver/{session}"
with:
  argv: ["sh", "{files}/work.sh"]
"""

TASK = """\
task: table
snapshot: {folder: snapshot}
graders:
  - checks: checks.yaml
sessions:
  - session: core
    brief: sessions/core/brief.md
    checks: sessions/core/checks.yaml
    private: {run: pytest, tests: private/core, expect: private/core.json}
    decisions:
      - id: one-writer
        statement: There is one place that writes a row.
        property: {checks: private/properties/one-writer.yaml}
      - id: commas
        statement: Values are joined by commas.
        property: {tests: ["test_core::test_joined"]}
  - session: docs
    brief: sessions/docs/brief.md
    checks: sessions/docs/checks.yaml
  - session: change
    brief: sessions/change/brief.md
    checks: sessions/change/checks.yaml
    conflicts_with: commas
  - session: repair
    brief: sessions/repair/brief.md
    checks: sessions/repair/checks.yaml
    private: {run: pytest, tests: private/repair, expect: private/repair.json}
    regression:
      kind: planted
      reported: ["test_repair::test_reported"]
      siblings: ["test_repair::test_two", "test_repair::test_three", "test_repair::test_four"]
      symptom: Numbers come out as text.
      plant:
        patch: private/plant/merge.patch
        message: Merge branch 'units'
        faulty: ["units.py:2"]
      key: private/key.yaml
notes: [NOTES.md, notes/]
"""

READS = """\
checks:
  - id: {id}
    question: Is it there?
    type: file_contains
    file: {file}
    pattern: "{pattern}"
"""

CORE_TEST = """\
import os
import sys

sys.path.insert(0, os.environ["TRIALBOOK_CANDIDATE"])

import rows


def test_joined():
    assert rows.write([1, 2]) in ("1,2", "1;2")
"""

REPAIR_TEST = """\
import os
import sys

sys.path.insert(0, os.environ["TRIALBOOK_CANDIDATE"])

import units


def test_reported():
    assert units.number(7) == 7


def test_two():
    assert units.number(2) == 2


def test_three():
    assert units.number(3) == 3


def test_four():
    assert units.number(4) == 4
"""

# Kept as a patch against the snapshot: `units.py` is of the project, no agent is asked to touch it.
PLANT = """\
diff --git a/units.py b/units.py
--- a/units.py
+++ b/units.py
@@ -1,2 +1,2 @@
 def number(value):
-    return value
+    return str(value)
"""

WORK = {
    "core": """\
printf 'def write(row):\\n    return ",".join(map(str, row))\\n' > rows.py
printf 'rows.py writes rows.\\n' > NOTES.md
git add -A && git -c user.name=A -c user.email=a@example.invalid commit -q -m 'Write rows'
""",
    "docs": """\
printf '# Rows\\n' > DOCS.md
git add DOCS.md && git -c user.name=A -c user.email=a@example.invalid commit -q -m 'Say how'
printf 'Not committed yet.\\n' >> NOTES.md
""",
    "change": """\
printf 'def write(row):\\n    return ";".join(map(str, row))\\n' > rows.py
git add -A && git -c user.name=A -c user.email=a@example.invalid commit -q -m 'Use semicolons'
""",
    "repair": """\
printf 'def number(value):\\n    return value\\n' > units.py
""",
}


def files() -> dict[str, str]:
    """Every file of the ledger."""
    suite, task = "suites/story", "suites/story/tasks/table"
    found = {
        f"{suite}/suite.yaml": SUITE,
        f"{suite}/configurations/steady.yaml": STEADY,
        f"{task}/task.yaml": TASK,
        f"{task}/checks.yaml": READS.format(id="rows", file="rows.py", pattern="def write"),
        f"{task}/snapshot/README.md": "# Table\n",
        f"{task}/snapshot/units.py": "def number(value):\n    return value\n",
        f"{task}/private/core/test_core.py": CORE_TEST,
        f"{task}/private/core.json": _expected("test_core::test_joined"),
        f"{task}/private/properties/one-writer.yaml": READS.format(
            id="one", file="rows.py", pattern="def write"
        ),
        f"{task}/private/repair/test_repair.py": REPAIR_TEST,
        f"{task}/private/repair.json": _expected(
            *(f"test_repair::test_{name}" for name in ("reported", "two", "three", "four"))
        ),
        f"{task}/private/plant/merge.patch": PLANT,
        f"{task}/private/key.yaml": "component: [units.py]\ncause: A number is made text.\n",
        "runs/README.md": "runs\n",
    }
    looked_for = {
        "core": ("rows.py", "def write"),
        "docs": ("DOCS.md", "Rows"),
        "change": ("rows.py", ";"),
        "repair": ("units.py", "return value"),
    }
    for name, (file, pattern) in looked_for.items():
        folder = f"{task}/sessions/{name}"
        found |= {
            f"{folder}/brief.md": f"Do what {name} asks for.\n",
            f"{folder}/checks.yaml": READS.format(id=name, file=file, pattern=pattern),
            f"{suite}/driver/{name}/work.sh": WORK[name],
        }
    return found


def _expected(*passed: str) -> str:
    return json.dumps({"passed": list(passed), "must_fail": []})


def make_ledger(folder: Path, changed: dict[str, str] | None = None) -> Path:
    """A git repository with the ledger; ``changed`` are files that are other than in `files`."""
    write_files(folder, files() | (changed or {}))
    for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "A story"]):
        subprocess.run(["git", *arguments], cwd=folder, check=True)
    return folder


SHORT = """\
task: table
snapshot: {folder: snapshot}
graders:
  - checks: checks.yaml
sessions:
  - session: core
    brief: sessions/core/brief.md
    checks: sessions/core/checks.yaml
  - session: docs
    brief: sessions/docs/brief.md
    checks: sessions/docs/checks.yaml
"""
"""Two sessions that structural checks alone judge: it takes no time."""


def short_ledger(folder: Path, **work: str) -> Path:
    """A ledger with the task `SHORT`; ``work`` is what the agent does, by session."""
    changed = {f"suites/story/driver/{name}/work.sh": text for name, text in work.items()}
    return make_ledger(folder, {"suites/story/tasks/table/task.yaml": SHORT, **changed})


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A run with one trial: its folder, and its record."""

    folder: Path
    record: dict[str, Any]

    def json(self, path: str) -> Any:
        """A file of the trial."""
        return json.loads((self.folder / path).read_text())

    def text(self, path: str) -> str:
        """A file of the trial as text."""
        return (self.folder / path).read_text()

    def handover(self, session: int) -> dict[str, Any]:
        """The record of a session's handover."""
        return dict(self.json(f"sessions/{session}/handover.json"))

    def things(self, session: int) -> dict[str, str]:
        """What became of each thing before a session."""
        return {one["thing"]: one["state"] for one in self.handover(session)["things"]}

    @property
    def sessions(self) -> list[dict[str, Any]]:
        """The records of the sessions."""
        return list(self.record["sessions"])

    @property
    def outcomes(self) -> list[str | None]:
        """What each session came to."""
        return [one["outcome"] for one in self.sessions]


def ran(ledger: Path, path: str = "table/steady/r1") -> Ran:
    """The trial of the newest run."""
    run = max((ledger / "runs" / "story").iterdir())
    folder = run / path
    return Ran(folder=folder, record=json.loads((folder / "trial.json").read_text()))
