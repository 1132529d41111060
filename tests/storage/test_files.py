from __future__ import annotations

import os
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from trialbook.errors import EnvironmentProblem, Refused
from trialbook.storage.files import (
    TEMPORARY_PREFIX,
    copy_tree,
    fresh_folder,
    read_regular,
    remove_tree,
    write_atomic,
)


def mode_of(path: Path) -> int:
    return stat.S_IMODE(path.lstat().st_mode)


def names_in(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


def as_ordinary_user(code: str, *arguments: Path) -> None:
    """Run code where permissions count; root first becomes somebody else."""
    before = "import os, sys\nfrom pathlib import Path\nfrom trialbook.storage.files import *\n"
    become = "if os.getuid() == 0:\n    os.setgid(65534); os.setuid(65534)\n"
    subprocess.run(
        [sys.executable, "-c", before + become + code, *map(str, arguments)],
        check=True,
        timeout=60,
    )


class TestWriting:
    def test_a_file_appears_with_its_folder_and_mode(self, tmp_path: Path) -> None:
        old = os.umask(0o022)
        try:
            write_atomic(tmp_path / "a/b/c.txt", b"x\r\n\x00")
            write_atomic(tmp_path / "run", b"#!", mode=0o755, durable=True)
        finally:
            os.umask(old)
        assert (tmp_path / "a/b/c.txt").read_bytes() == b"x\r\n\x00"
        assert mode_of(tmp_path / "a/b/c.txt") == 0o644
        assert mode_of(tmp_path / "run") == 0o755

    def test_a_file_is_replaced_and_nothing_is_left_beside_it(self, tmp_path: Path) -> None:
        target = tmp_path / "f"
        write_atomic(target, b"one")
        write_atomic(target, b"two")
        assert target.read_bytes() == b"two"
        assert names_in(tmp_path) == ["f"]

    def test_a_link_is_replaced_and_not_followed(self, tmp_path: Path) -> None:
        precious = tmp_path / "precious"
        precious.write_bytes(b"keep")
        (tmp_path / "f").symlink_to(precious)
        write_atomic(tmp_path / "f", b"new")
        assert precious.read_bytes() == b"keep"
        assert not (tmp_path / "f").is_symlink()

    def test_a_name_of_255_bytes_works(self, tmp_path: Path) -> None:
        write_atomic(tmp_path / ("n" * 255), b"long")
        assert (tmp_path / ("n" * 255)).read_bytes() == b"long"

    def test_a_leftover_of_a_dead_process_is_not_in_the_way(self, tmp_path: Path) -> None:
        for number in range(2000):
            (tmp_path / f"{TEMPORARY_PREFIX}{os.getpid()}-{number}").touch()
        write_atomic(tmp_path / "f", b"x")
        assert (tmp_path / "f").read_bytes() == b"x"

    def test_a_folder_in_its_place_is_an_error_and_leaves_nothing(self, tmp_path: Path) -> None:
        (tmp_path / "f").mkdir()
        with pytest.raises(EnvironmentProblem, match=r"cannot write .*/f: "):
            write_atomic(tmp_path / "f", b"x")
        assert names_in(tmp_path) == ["f"]


class TestReading:
    def test_bytes_of_a_regular_file(self, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"1234")
        assert read_regular(tmp_path / "f") == b"1234"
        assert read_regular(tmp_path / "f", limit=4) == b"1234"
        assert read_regular(tmp_path / "f", limit=3) is None

    def test_anything_else_is_none_and_never_blocks(self, tmp_path: Path) -> None:
        (tmp_path / "f").write_bytes(b"1")
        (tmp_path / "link").symlink_to("f")
        (tmp_path / "loop").symlink_to("loop")
        os.mkfifo(tmp_path / "pipe")
        with socket.socket(socket.AF_UNIX) as server:
            server.bind(str(tmp_path / "s"))
            for name in ("link", "loop", "pipe", "s", "missing", ".", "a\0b", "n" * 300):
                assert read_regular(tmp_path / name) is None, name
        assert read_regular(Path("/dev/zero"), limit=10) is None
        assert read_regular(Path("/proc/self/mem")) is None


class TestRemoving:
    def test_nothing_there_is_fine(self, tmp_path: Path) -> None:
        remove_tree(tmp_path / "missing")

    def test_a_link_goes_and_its_target_stays(self, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        (outside / "keep").touch()
        top = tmp_path / "top"
        (top / "deep").mkdir(parents=True)
        (top / "deep/out").symlink_to(outside)
        (top / "file-link").symlink_to(outside / "keep")
        remove_tree(top)
        assert not top.exists()
        (tmp_path / "link").symlink_to(outside)
        remove_tree(tmp_path / "link")
        assert (outside / "keep").exists()
        assert not (tmp_path / "link").is_symlink()

    def test_names_that_are_no_text_and_special_files(self, tmp_path: Path) -> None:
        top = tmp_path / "top"
        top.mkdir()
        raw = os.fsencode(top)
        Path(os.fsdecode(raw + b"/\xff\xfe")).mkdir()
        Path(os.fsdecode(raw + b"/\xff\xfe/\n")).touch()
        os.mkfifo(top / "pipe")
        remove_tree(top)
        assert not top.exists()

    def test_folders_named_like_our_own_temporary_numbers(self, tmp_path: Path) -> None:
        top = tmp_path / "top"
        for outer in range(60):
            for inner in range(3):
                folder = top / str(outer) / str(inner)
                folder.mkdir(parents=True)
                (folder / "f").touch()
            (top / f"{outer + 100}").touch()
        remove_tree(top)
        assert not top.exists()

    @pytest.mark.slow
    def test_a_tree_deeper_than_a_path_may_be_long(self, tmp_path: Path) -> None:
        top = tmp_path / "top"
        top.mkdir()
        here = os.open(top, os.O_RDONLY)
        for _ in range(1500):
            os.mkdir("d" * 50, dir_fd=here)
            below = os.open("d" * 50, os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(here)
        remove_tree(top)
        assert not top.exists()

    def test_folders_without_permissions_are_removed_by_an_ordinary_user(
        self, tmp_path: Path
    ) -> None:
        top = tmp_path / "top"
        top.mkdir()
        for folder in (tmp_path, *tmp_path.parents):
            if folder.stat().st_uid == os.getuid() and folder.name:
                folder.chmod(folder.stat().st_mode | 0o011)
        top.chmod(0o777)
        as_ordinary_user(
            "top = Path(sys.argv[1]) / 'w'\n"
            "(top / 'a/b/c').mkdir(parents=True); (top / 'a/b/c/f').touch()\n"
            "(top / 'a/b/f').touch(mode=0)\n"
            "for name in ('a/b/c', 'a/b', 'a', '.'): (top / name).chmod(0)\n"
            "remove_tree(top); assert not top.exists()\n",
            top,
        )

    def test_what_cannot_be_removed_is_said(self, tmp_path: Path) -> None:
        top = tmp_path / "top"
        top.mkdir()
        (top / "f").touch()
        with pytest.raises(EnvironmentProblem, match="cannot remove"):
            remove_tree(Path("/proc/self/fd"))


class TestCopying:
    def test_bytes_links_and_execute_bits_are_kept(self, tmp_path: Path) -> None:
        source = tmp_path / "source"
        (source / "d/empty").mkdir(parents=True)
        (source / "d/script").write_bytes(b"#!/bin/sh\r\n")
        (source / "d/script").chmod(0o700)
        (source / "plain").write_bytes(b"\x00\xff")
        (source / "plain").chmod(0o666)
        (source / "away").symlink_to("/etc")
        (source / "dangling").symlink_to("nowhere")
        Path(os.fsdecode(os.fsencode(source) + b"/\xff")).write_bytes(b"odd")
        copy = tmp_path / "new/copy"
        copy_tree(source, copy)
        assert (copy / "d/script").read_bytes() == b"#!/bin/sh\r\n"
        assert mode_of(copy / "d/script") & 0o111
        assert not mode_of(copy / "plain") & 0o111
        assert (copy / "plain").read_bytes() == b"\x00\xff"
        assert str((copy / "away").readlink()) == "/etc"
        assert str((copy / "dangling").readlink()) == "nowhere"
        assert (copy / "d/empty").is_dir()
        assert Path(os.fsdecode(os.fsencode(copy) + b"/\xff")).read_bytes() == b"odd"

    def test_special_files_are_refused_by_name(self, tmp_path: Path) -> None:
        (tmp_path / "source").mkdir()
        os.mkfifo(tmp_path / "source/pipe")
        with pytest.raises(Refused, match="source/pipe is neither"):
            copy_tree(tmp_path / "source", tmp_path / "copy")

    def test_a_destination_that_is_there_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "source").mkdir()
        with pytest.raises(EnvironmentProblem, match="cannot copy"):
            copy_tree(tmp_path / "source", tmp_path)


class TestFreshFolders:
    def test_it_is_empty_private_and_gone_afterwards(self, tmp_path: Path) -> None:
        with fresh_folder(tmp_path / "work") as folder:
            assert names_in(folder) == []
            assert mode_of(folder) == 0o700
            assert "trialbook" not in folder.name
            (folder / "x").mkdir(mode=0)
        assert names_in(tmp_path / "work") == []

    def test_it_is_removed_after_an_error_too(self, tmp_path: Path) -> None:
        with pytest.raises(RuntimeError), fresh_folder(tmp_path) as folder:
            raise RuntimeError
        assert not folder.exists()

    def test_a_parent_that_cannot_be_is_explained(self, tmp_path: Path) -> None:
        (tmp_path / "file").touch()
        with (
            pytest.raises(EnvironmentProblem, match="cannot make a folder"),
            fresh_folder(tmp_path / "file"),
        ):
            pass
