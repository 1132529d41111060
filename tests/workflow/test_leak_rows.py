from __future__ import annotations

from pathlib import Path

from trialbook.model.suite import Reference, Snapshot, SnapshotKind, Task
from trialbook.model.validation import RowStatus
from trialbook.storage.repository import Store
from trialbook.storage.trees import tree_of_folder
from trialbook.workflow.leak_rows import LeakCase, leak_rows


def test_the_row_of_a_task_in_an_image_says_that_the_image_was_not_looked_into(
    tmp_path: Path,
) -> None:
    store = Store.at(tmp_path / "objects")
    for name, text in (("base", "a = 1\n"), ("fixed", "a = 'quite another value'\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.py").write_text(text)
    task = Task(
        name="change",
        folder="suites/s/tasks/change",
        brief="Change it.",
        snapshot=Snapshot(kind=SnapshotKind.FOLDER, location="base"),
        graders=(),
        reference=Reference(overlay="private/fixed"),
    )
    case = LeakCase(
        task=task,
        base=tree_of_folder(store, tmp_path / "base").tree,
        reference=tree_of_folder(store, tmp_path / "fixed").tree,
        trouble="",
        python=None,
    )
    row = leak_rows([case], store, [])["change"]
    assert row.status is RowStatus.PASSED
    assert row.reason.endswith("not found; its image was not looked into")
