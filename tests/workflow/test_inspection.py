from __future__ import annotations

from pathlib import Path

from tests.recorded import a_grade

from trialbook.api import ChangedFile
from trialbook.execution.change import Change
from trialbook.execution.findings import Findings
from trialbook.testing.executors import sample_spec
from trialbook.workflow.inspection import inspect_change


def test_a_change_that_cannot_be_looked_at_has_no_grades_that_seem_to_count(tmp_path: Path) -> None:
    changed = (ChangedFile(status="modified", path="a.py"),)
    gone = Change(tree="1" * 40, patch=b"", changed=changed, omitted=())
    graded = (a_grade({"a": True}),)
    found = Findings(started="2026-01-01T00:00:00.000Z", change=gone, grades=graded)
    inspect_change(sample_spec(tmp_path, "task", 1), found)
    assert found.trouble is not None
    assert found.trouble.startswith("the change could not be looked at: ")
    assert found.grades == ()
