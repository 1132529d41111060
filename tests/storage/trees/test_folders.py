from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Iterable
from pathlib import Path

import pytest

from trialbook.errors import EnvironmentProblem
from trialbook.model.change import OmittedFile
from trialbook.storage import folders
from trialbook.storage.files import fresh_folder
from trialbook.storage.folders import IdsOnly, tree_of_folder
from trialbook.storage.repository import Store, TreeEntry


def names(store: Store, oid: str) -> list[bytes]:
    return [path for path, _ in store.walk(oid)]


def reasons(omitted: Iterable[OmittedFile]) -> dict[str, str]:
    return {file.path: file.reason for file in omitted}


def test_special_files_are_listed_and_never_opened(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "file").write_text("x")
    # Opening a pipe that nobody writes to would wait for ever.
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        here = Path.cwd()
        os.chdir(folder)
        listener.bind("socket")
        os.chdir(here)
        found = tree_of_folder(store, folder)
    assert names(store, found.tree) == [b"file"]
    assert reasons(found.omitted) == {
        "pipe": "a named pipe, which git cannot store",
        "socket": "a socket, which git cannot store",
    }


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can make devices")
def test_devices_are_listed(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    try:
        os.mknod(folder / "null", 0o020666, os.makedev(1, 3))
    except PermissionError:
        pytest.skip("not allowed to make devices here")
    found = tree_of_folder(store, folder)
    assert reasons(found.omitted) == {"null": "a character device, which git cannot store"}


def test_git_components_are_listed_wherever_they_are(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "f"
    (folder / "sub/.git/hooks").mkdir(parents=True)
    (folder / "sub/.git/config").write_text("x")
    (folder / "sub/code.py").write_text("x")
    (folder / ".git").mkdir()
    (folder / "other").mkdir()
    (folder / "other/.GIT").write_text("gitdir: /somewhere")
    found = tree_of_folder(store, folder, skip_top=frozenset({b".git"}))
    assert names(store, found.tree) == [b"sub/code.py"]
    assert [file.path for file in found.omitted] == ["other/.GIT", "sub/.git"]


def test_a_large_file_is_listed_with_size_and_digest(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "at_limit").write_bytes(b"x" * 100)
    (folder / "above").write_bytes(b"y" * 101)
    found = tree_of_folder(store, folder, file_limit_bytes=100)
    assert names(store, found.tree) == [b"at_limit"]
    digest = hashlib.sha256(b"y" * 101).hexdigest()
    reason = "larger than the limit of 100 bytes"
    assert found.omitted == (OmittedFile(path="above", bytes=101, sha256=digest, reason=reason),)


def test_a_large_file_that_is_known_stays(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "weights").write_bytes(b"w" * 5000)
    before = tree_of_folder(store, folder).tree
    oid = store.tree(before)[0].oid

    def known(path: bytes) -> str | None:
        return oid if path == b"weights" else None

    kept = tree_of_folder(store, folder, file_limit_bytes=100, known=known)
    assert (kept.tree, kept.omitted) == (before, ())
    (folder / "weights").write_bytes(b"W" * 5000)
    changed = tree_of_folder(store, folder, file_limit_bytes=100, known=known)
    assert [file.path for file in changed.omitted] == ["weights"]


def test_a_sparse_file_of_any_size_costs_nothing(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    with (folder / "huge").open("wb") as file:
        file.truncate(1 << 42)
    with (folder / "large").open("wb") as file:
        file.truncate(3 << 20)
    monkeypatch.setattr(folders, "HASHED_BYTES", 4 << 20)
    found = tree_of_folder(store, folder, file_limit_bytes=1 << 20)
    huge, large = found.omitted
    assert (huge.bytes, huge.sha256) == (1 << 42, None)
    assert "too large for a digest" in huge.reason
    assert large.sha256 == hashlib.sha256(bytes(3 << 20)).hexdigest()


def test_a_huge_file_without_any_limit_is_still_not_read(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    with (folder / "huge").open("wb") as file:
        file.truncate(1 << 42)
    found = tree_of_folder(store, folder)
    assert [file.path for file in found.omitted] == ["huge"]


def test_what_was_made_unreadable_is_read(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "f"
    (folder / "closed/deeper").mkdir(parents=True)
    (folder / "closed/deeper/file").write_text("x")
    (folder / "closed/deeper/tool").write_text("x")
    (folder / "closed/deeper/tool").chmod(0o100)
    (folder / "closed/deeper/file").chmod(0)
    (folder / "closed/deeper").chmod(0)
    (folder / "closed").chmod(0o444)
    folder.chmod(0)
    found = tree_of_folder(store, folder)
    entries = {path: oct(entry.mode) for path, entry in store.walk(found.tree)}
    assert entries == {b"closed/deeper/file": "0o100644", b"closed/deeper/tool": "0o100755"}
    assert found.omitted == ()


def test_links_are_kept_as_links_even_in_loops(store: Store, tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    (folder / "self").symlink_to("self")
    (folder / "up").symlink_to("..")
    (folder / "root").symlink_to("/")
    found = tree_of_folder(store, folder)
    targets = {path: store.blob(entry.oid) for path, entry in store.walk(found.tree)}
    assert targets == {b"self": b"self", b"up": b"..", b"root": b"/"}


def test_a_folder_that_is_a_link_is_not_followed(store: Store, tmp_path: Path) -> None:
    (tmp_path / "secret").mkdir()
    (tmp_path / "f").symlink_to("secret")
    with pytest.raises(EnvironmentProblem, match="cannot read the folder"):
        tree_of_folder(store, tmp_path / "f")


def test_folders_deeper_than_a_path_may_be_are_listed(store: Store, tmp_path: Path) -> None:
    # Removed at once: pytest's own clean-up cannot.
    with fresh_folder(tmp_path) as folder:
        (folder / "file").write_text("x")
        here = os.open(folder, os.O_RDONLY)
        for _ in range(700):
            os.mkdir("nested", dir_fd=here)
            below = os.open("nested", os.O_RDONLY, dir_fd=here)
            os.close(here)
            here = below
        os.close(os.open("end", os.O_CREAT | os.O_WRONLY, dir_fd=here))
        os.close(here)
        found = tree_of_folder(store, folder)
    assert names(store, found.tree) == [b"file"]
    assert len(found.omitted) == 1
    assert "nested too deep" in found.omitted[0].reason


def test_a_file_that_goes_away_during_the_walk_is_not_there(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / name).write_text(name)

    class Deleting(IdsOnly):
        kept: list[bytes] = []  # noqa: RUF012 - one test, one walk

        def add_blob(self, data: bytes) -> str:
            (folder / "b").unlink(missing_ok=True)
            return super().add_blob(data)

        def add_tree(self, entries: Iterable[TreeEntry]) -> str:
            self.kept = [entry.name for entry in entries]
            return super().add_tree([])

    sink = Deleting()
    found = tree_of_folder(sink, folder)
    assert sink.kept == [b"a", b"c"]
    assert found.omitted == ()


def test_a_file_swapped_for_a_link_or_pipe_during_the_walk_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / "f"
    folder.mkdir()
    for name in ("a", "b", "c"):
        (folder / name).write_text(name)

    seen: list[bytes] = []

    class Swapping(IdsOnly):
        def add_blob(self, data: bytes) -> str:
            seen.append(data)
            for name in ("b", "c"):
                (folder / name).unlink()
            (folder / "b").symlink_to("/etc/passwd")
            os.mkfifo(folder / "c")
            return super().add_blob(data)

    # The first blob is that of `a`; what comes after it has changed its kind by then.
    swapping = Swapping()
    found = tree_of_folder(_Once(swapping), folder)
    assert seen == [b"a"]
    assert reasons(found.omitted) == {"c": "a named pipe, which git cannot store"}


class _Once(IdsOnly):
    """Hands the first blob to another sink, keeps the rest."""

    def __init__(self, first: IdsOnly) -> None:
        self._first: IdsOnly | None = first

    def add_blob(self, data: bytes) -> str:
        first, self._first = self._first, None
        return super().add_blob(data) if first is None else first.add_blob(data)
