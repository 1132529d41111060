from __future__ import annotations

import os
from pathlib import Path

import pytest

from trialbook.api import apply_patch_to_folder
from trialbook.errors import Refused


def new_file(path: bytes, text: bytes = b"x") -> bytes:
    return (
        b"diff --git a/%s b/%s\nnew file mode 100755\n--- /dev/null\n+++ b/%s\n@@ -0,0 +1 @@\n+%s\n"
        % (path, path, path, text)
    )


EDIT = b"diff --git a/f b/f\n--- a/f\n+++ b/f\n@@ -1 +1 @@\n-a\n+b\n"


def test_files_are_made_with_their_folders_and_modes(tmp_path: Path) -> None:
    assert apply_patch_to_folder(tmp_path, new_file(b"d/e/run")) == ("d/e/run",)
    assert (tmp_path / "d/e/run").read_bytes() == b"x\n"
    assert os.access(tmp_path / "d/e/run", os.X_OK)


def test_a_hard_link_elsewhere_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "work").mkdir()
    (tmp_path / "outside").write_text("a\n")
    os.link(tmp_path / "outside", tmp_path / "work/f")
    apply_patch_to_folder(tmp_path / "work", EDIT)
    assert (tmp_path / "work/f").read_text() == "b\n"
    assert (tmp_path / "outside").read_text() == "a\n"


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    work, outside = tmp_path / "work", tmp_path / "outside"
    work.mkdir()
    outside.mkdir()
    (outside / "f").write_text("a\n")
    (work / "d").symlink_to(outside)
    (work / "f").symlink_to(outside / "f")
    for patch in (new_file(b"d/x"), EDIT, EDIT.replace(b"a/f", b"a/d/f").replace(b"b/f", b"b/d/f")):
        with pytest.raises(Refused):
            apply_patch_to_folder(work, patch)
    assert sorted(path.name for path in outside.iterdir()) == ["f"]
    assert (outside / "f").read_text() == "a\n"


@pytest.mark.parametrize("path", [b"../x", b".git/config", b"sub/.GIT/x", b"/tmp/x", b"a/../b"])
def test_a_path_that_leads_out_is_refused(tmp_path: Path, path: bytes) -> None:
    (tmp_path / "work").mkdir()
    with pytest.raises(Refused):
        apply_patch_to_folder(tmp_path / "work", new_file(path))
    assert list((tmp_path / "work").iterdir()) == []


def test_nothing_is_done_when_a_later_part_does_not_fit(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("other\n")
    with pytest.raises(Refused, match="hunk 1"):
        apply_patch_to_folder(tmp_path, new_file(b"first") + EDIT)
    assert [path.name for path in tmp_path.iterdir()] == ["f"]


def test_a_file_below_a_file_or_in_place_of_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "f").write_text("a\n")
    (tmp_path / "d/sub").mkdir(parents=True)
    (tmp_path / "d/kept").write_text("x")
    with pytest.raises(Refused, match="f is no folder"):
        apply_patch_to_folder(tmp_path, new_file(b"f/x"))
    with pytest.raises(Refused, match="which is a folder"):
        apply_patch_to_folder(tmp_path, new_file(b"d"))


def test_a_pipe_in_place_of_a_file_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "f")
    with pytest.raises(Refused, match="neither a file nor a link"):
        apply_patch_to_folder(tmp_path, EDIT)


def test_folders_that_are_emptied_go_away(tmp_path: Path) -> None:
    (tmp_path / "d/e").mkdir(parents=True)
    (tmp_path / "d/e/f").write_text("a\n")
    patch = (
        b"diff --git a/d/e/f b/d/e/f\ndeleted file mode 100644\n"
        b"--- a/d/e/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"
    )
    apply_patch_to_folder(tmp_path, patch)
    assert list(tmp_path.iterdir()) == []
