from __future__ import annotations

import os
from pathlib import Path

import pytest

from trialbook_graders.protect import ALWAYS, Restored, put, restore
from trialbook_graders.tree import Kind, Place

from .conftest import write_files

BASE = {
    "conftest.py": "base\n",
    "tests/conftest.py": "base tests\n",
    "tests/test_a.py": "def test_a(): ...\n",
    "src/a.py": "a = 1\n",
}


@pytest.fixture
def baseline(tmp_path: Path) -> Path:
    return write_files(tmp_path / "baseline", BASE)


@pytest.fixture
def candidate(tmp_path: Path) -> Path:
    return write_files(tmp_path / "candidate", BASE)


def contents(folder: Path) -> dict[str, str]:
    return {
        str(path.relative_to(folder)): path.read_text()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def test_an_untouched_candidate_stays_as_it_is(candidate: Path, baseline: Path) -> None:
    assert restore(candidate, baseline, ALWAYS) == ()
    assert contents(candidate) == BASE


def test_changed_added_and_deleted_files_are_put_back(candidate: Path, baseline: Path) -> None:
    (candidate / "conftest.py").write_text("evil\n")
    (candidate / "tests/conftest.py").unlink()
    write_files(candidate, {"src/conftest.py": "evil\n", "x/y/sitecustomize.py": "", "a.pth": ""})
    (candidate / "src/a.py").write_text("a = 2\n")
    assert restore(candidate, baseline, ALWAYS) == (
        Restored(path="a.pth", did="added"),
        Restored(path="conftest.py", did="changed"),
        Restored(path="src/conftest.py", did="added"),
        Restored(path="tests/conftest.py", did="deleted"),
        Restored(path="x/y/sitecustomize.py", did="added"),
    )
    assert contents(candidate) == BASE | {"src/a.py": "a = 2\n"}


def test_a_whole_folder_can_be_protected(candidate: Path, baseline: Path) -> None:
    write_files(candidate, {"tests/test_a.py": "x", "tests/deep/new.py": "x"})
    restore(candidate, baseline, ["tests/"])
    assert contents(candidate) == BASE


def test_an_executable_bit_is_put_back(candidate: Path, baseline: Path) -> None:
    (candidate / "conftest.py").chmod(0o755)
    assert [one.did for one in restore(candidate, baseline, ALWAYS)] == ["changed"]
    assert not os.access(candidate / "conftest.py", os.X_OK) or os.geteuid() == 0
    assert (candidate / "conftest.py").stat().st_mode & 0o111 == 0


def test_a_link_at_a_protected_path_is_replaced_not_written_through(
    candidate: Path, baseline: Path, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.py"
    outside.write_text("mine\n")
    (candidate / "conftest.py").unlink()
    (candidate / "conftest.py").symlink_to(outside)
    restore(candidate, baseline, ALWAYS)
    assert outside.read_text() == "mine\n"
    assert contents(candidate) == BASE
    assert not (candidate / "conftest.py").is_symlink()


def test_a_link_in_place_of_a_protected_folder_is_replaced(
    candidate: Path, baseline: Path, tmp_path: Path
) -> None:
    outside = write_files(tmp_path / "outside", {"conftest.py": "mine\n", "keep": "keep\n"})
    for name in ("conftest.py", "test_a.py"):
        (candidate / "tests" / name).unlink()
    (candidate / "tests").rmdir()
    (candidate / "tests").symlink_to(outside)
    restore(candidate, baseline, ["tests/"])
    assert contents(outside) == {"conftest.py": "mine\n", "keep": "keep\n"}
    assert contents(candidate) == BASE


def test_a_folder_in_place_of_a_protected_file_is_replaced(candidate: Path, baseline: Path) -> None:
    (candidate / "conftest.py").unlink()
    write_files(candidate, {"conftest.py/__init__.py": "evil\n", "conftest.py/b": "b"})
    restore(candidate, baseline, ALWAYS)
    assert contents(candidate) == BASE


def test_a_file_in_place_of_a_protected_folder_is_replaced(candidate: Path, baseline: Path) -> None:
    for name in ("conftest.py", "test_a.py"):
        (candidate / "tests" / name).unlink()
    (candidate / "tests").rmdir()
    (candidate / "tests").write_text("a file\n")
    restore(candidate, baseline, ["tests/"])
    assert contents(candidate) == BASE


def test_links_of_the_baseline_are_restored_as_links(candidate: Path, baseline: Path) -> None:
    (baseline / "tests/data").symlink_to("../src")
    restore(candidate, baseline, ["tests"])
    assert (candidate / "tests/data").readlink() == Path("../src")


def test_link_loops_and_dangling_links_do_no_harm(candidate: Path, baseline: Path) -> None:
    (candidate / "loop_a").symlink_to("loop_b")
    (candidate / "loop_b").symlink_to("loop_a")
    (candidate / "sitecustomize.py").symlink_to("/nowhere/at/all")
    done = restore(candidate, baseline, ALWAYS)
    assert done == (Restored(path="sitecustomize.py", did="added"),)
    assert (candidate / "loop_a").is_symlink()


def test_names_that_are_no_text_are_handled(candidate: Path, baseline: Path) -> None:
    path = candidate / os.fsdecode(b"\xff\xfe/conftest.py")
    path.parent.mkdir()
    path.write_text("evil\n")
    [done] = restore(candidate, baseline, ALWAYS)
    assert done == Restored(path='"\\377\\376/conftest.py"', did="added")
    assert not path.exists()


def test_put_writes_through_no_link_on_the_way(tmp_path: Path) -> None:
    source = write_files(tmp_path / "source", {"test_x.py": "frozen\n"})
    outside = write_files(tmp_path / "outside", {"keep": "keep\n"})
    candidate = write_files(tmp_path / "candidate", {"a": "a"})
    (candidate / "tests").symlink_to(outside)
    put(candidate, "tests/x/test_x.py", source, Place(path="test_x.py", kind=Kind.FILE, at=""))
    assert contents(outside) == {"keep": "keep\n"}
    assert (candidate / "tests/x/test_x.py").read_text() == "frozen\n"


def test_a_task_can_take_a_path_out_of_protection(candidate: Path, baseline: Path) -> None:
    write_files(candidate, {"tox.ini": "mine\n", "conftest.py": "mine\n", "a.pth": "mine\n"})
    restore(candidate, baseline, (*ALWAYS, "!tox.ini", "!conftest.py"))
    assert contents(candidate) == BASE | {"tox.ini": "mine\n", "conftest.py": "mine\n"}
