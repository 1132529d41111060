from __future__ import annotations

from pathlib import Path

import pytest
from tests.nasty_tree import write

from trialbook.errors import Refused, UserError
from trialbook.execution.reference import reference_files
from trialbook.model.suite import Reference, Snapshot, SnapshotKind, Task
from trialbook.storage.repository import Store

PATCH = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\r\n+b\r\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write(tmp_path / "task", "private/reference.patch", PATCH)
    write(tmp_path / "task", "private/damaged.patch", PATCH[:-3])
    write(tmp_path / "task", "private/overlay/bin/run", b"x", 0o755)
    write(tmp_path / "task", "fixed/src/app.py", b"fixed\n")
    return tmp_path / "task"


def write_reference(
    folder: Path, store: Store, reference: Reference | None, *, no_change: bool = False
) -> dict[str, tuple[bytes, int]]:
    task = Task(
        name="first",
        folder="suites/s/tasks/first",
        brief="brief.md",
        snapshot=Snapshot(kind=SnapshotKind.FOLDER, location="snapshot"),
        graders=(),
        reference=reference,
        no_change_expected=no_change,
    )
    destination = folder.parent / "files"
    reference_files(
        task,
        task_folder=folder,
        store=store,
        cache=folder.parent / "cache",
        destination=destination,
    )
    return {
        path.relative_to(destination).as_posix(): (path.read_bytes(), path.stat().st_mode & 0o777)
        for path in destination.rglob("*")
        if path.is_file()
    }


def test_a_patch_is_handed_over_byte_for_byte(folder: Path, store: Store) -> None:
    written = write_reference(folder, store, Reference(patch="private/reference.patch"))
    assert written == {"change.patch": (PATCH, 0o644)}


def test_an_overlay_is_copied(folder: Path, store: Store) -> None:
    written = write_reference(folder, store, Reference(overlay="private/overlay"))
    assert written == {"overlay/bin/run": (b"x", 0o755)}


def test_another_snapshot_is_laid_where_it_says(folder: Path, store: Store) -> None:
    snapshot = Snapshot(kind=SnapshotKind.FOLDER, location="fixed", path="src", into="lib/shop")
    written = write_reference(folder, store, Reference(snapshot=snapshot))
    assert written == {"overlay/lib/shop/app.py": (b"fixed\n", 0o644)}


def test_a_task_for_which_nothing_is_right_gets_an_empty_recording(
    folder: Path, store: Store
) -> None:
    assert write_reference(folder, store, None, no_change=True) == {}


def test_a_task_without_a_reference_says_so(folder: Path, store: Store) -> None:
    with pytest.raises(UserError, match="first has no reference"):
        write_reference(folder, store, None)


@pytest.mark.parametrize("patch", ["private/missing.patch", "private/damaged.patch", "private"])
def test_a_patch_that_cannot_be_used_is_refused(folder: Path, store: Store, patch: str) -> None:
    with pytest.raises(Refused):
        write_reference(folder, store, Reference(patch=patch))
