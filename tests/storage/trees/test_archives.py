from __future__ import annotations

import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from trialbook.errors import Refused
from trialbook.storage import archives
from trialbook.storage.archives import tree_of_archive
from trialbook.storage.repository import Store
from trialbook.storage.trees import tree_of_folder

Files = dict[str, tuple[int, bytes]]


def tar(path: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(path, mode, encoding="utf-8", errors="surrogateescape") as archive:  # type: ignore[call-overload]
        for info, data in members:
            archive.addfile(info, io.BytesIO(data))
    return path


def member(name: str, data: bytes = b"x", **fields: object) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size = len(data)
    for key, value in fields.items():
        setattr(info, key, value)
    return info, data


def special(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    return member(name, b"", type=kind, linkname=target)


def zipped(path: Path, *members: tuple[str, bytes, int]) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data, mode in members:
            info = zipfile.ZipInfo(name)
            info.create_system = 3
            info.external_attr = mode << 16
            archive.writestr(info, data)
    return path


def content(store: Store, tree: str) -> Files:
    return {
        os.fsdecode(path): (entry.mode, store.blob(entry.oid)) for path, entry in store.walk(tree)
    }


@pytest.mark.parametrize("mode", ["w:", "w:gz", "w:bz2", "w:xz"])
def test_a_tar_archive_of_any_compression_gives_its_files(
    store: Store, nasty: Path, tmp_path: Path, mode: str
) -> None:
    path = tmp_path / "a.tar"
    with tarfile.open(path, mode) as archive:  # type: ignore[call-overload]
        archive.add(nasty, "shop-1.0", filter=lambda info: info)
    assert tree_of_archive(store, path, "a.tar") == tree_of_folder(store, nasty).tree


def test_what_git_archive_writes_is_read(store: Store, tmp_path: Path) -> None:
    path = tar(
        tmp_path / "a.tar",
        member("./top/run.sh", b"#!/bin/sh\n", mode=0o775),
        special("./top", tarfile.DIRTYPE),
        member("./top/d/x", b"1"),
        special("./top/link", tarfile.SYMTYPE, "d/x"),
        special("./top/hard", tarfile.LNKTYPE, "./top/d/x"),
        special("./top/empty", tarfile.DIRTYPE),
    )
    assert content(store, tree_of_archive(store, path, "a.tar")) == {
        "run.sh": (0o100755, b"#!/bin/sh\n"),
        "d/x": (0o100644, b"1"),
        "link": (0o120000, b"d/x"),
        "hard": (0o100644, b"1"),
    }


def test_a_zip_archive_gives_modes_links_and_raw_names(store: Store, tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "a.zip",
        ("top/", b"", stat.S_IFDIR | 0o755),
        ("top/run.sh", b"#!/bin/sh\n", stat.S_IFREG | 0o755),
        ("top/é", b"1", stat.S_IFREG | 0o644),
        ("top/link", b"run.sh", stat.S_IFLNK | 0o777),
    )
    assert content(store, tree_of_archive(store, path, "a.zip")) == {
        "run.sh": (0o100755, b"#!/bin/sh\n"),
        "é": (0o100644, b"1"),
        "link": (0o120000, b"run.sh"),
    }


def test_several_things_at_the_top_are_not_stripped(store: Store, tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tar", member("a/x"), member("b/y"))
    assert content(store, tree_of_archive(store, path, "a")).keys() == {"a/x", "b/y"}
    path = tar(tmp_path / "b.tar", member("x"))
    assert content(store, tree_of_archive(store, path, "b")).keys() == {"x"}


HOSTILE = {
    "absolute": (member("/etc/cron.d/x"), "/etc/cron.d/x is absolute"),
    "parent": (member("a/../../x"), r"a/../../x has the component '\.\.'"),
    "git": (member("a/.git/hooks/post-checkout"), "has a .git component"),
    "git in capitals": (member("a/.GiT/config"), "has a .git component"),
    "device": (special("a/null", tarfile.CHRTYPE), "a/null is a device"),
    "pipe": (special("a/pipe", tarfile.FIFOTYPE), "a/pipe is a device, a pipe"),
    "hard link out": (special("a/x", tarfile.LNKTYPE, "../../etc/passwd"), "no file before it"),
    "hard link to nothing": (special("a/x", tarfile.LNKTYPE, "a/later"), "no file before it"),
    "twice": (member("a/ok"), "a/ok is there twice"),
    "below a file": (member("a/ok/x"), "needs a folder where the file or link a/ok is"),
    "below a link": (member("a/link/x"), "needs a folder where the file or link a/link is"),
    "over a folder": (member("a/d"), "a/d is a file and a folder"),
    "top": (member("./"), "has the name of the top"),
}


@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_member_is_named(store: Store, tmp_path: Path, case: str) -> None:
    bad, wrong = HOSTILE[case]
    path = tar(
        tmp_path / "a.tar",
        member("a/ok"),
        special("a/link", tarfile.SYMTYPE, "/etc"),
        member("a/d/x"),
        bad,
    )
    with pytest.raises(Refused, match=f"^task.tar has members that cannot be used: .*{wrong}"):
        tree_of_archive(store, path, "task.tar")


def test_all_bad_members_are_named_at_once(store: Store, tmp_path: Path) -> None:
    path = zipped(
        tmp_path / "a.zip",
        ("../x", b"", 0o100644),
        ("ok", b"", 0o100644),
        ("/y", b"", 0o100644),
        ("a/.git", b"", 0o100644),
        ("pipe", b"", stat.S_IFIFO | 0o644),
    )
    with pytest.raises(Refused) as refusal:
        tree_of_archive(store, path, "a.zip")
    for name in ("../x", "/y", "a/.git", "pipe"):
        assert name in refusal.value.message


def test_a_member_that_is_too_large_is_not_read(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "LARGEST_BLOB_BYTES", 1000)
    archive = tar(tmp_path / "a.tar", member("a", bytes(1001)))
    with pytest.raises(Refused, match="larger than 1000 bytes"):
        tree_of_archive(store, archive, "a")
    bomb = zipped(tmp_path / "a.zip", ("a", bytes(1001), 0o100644))
    with pytest.raises(Refused, match="larger than 1000 bytes"):
        tree_of_archive(store, bomb, "a")


def test_an_archive_that_is_too_large_altogether_is_not_read(
    store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "LARGEST_ARCHIVE_BYTES", 2500)
    path = tar(tmp_path / "a.tar", *(member(str(n), bytes(1000)) for n in range(4)))
    with pytest.raises(Refused, match="unpacks to more than 2500 bytes"):
        tree_of_archive(store, path, "a")


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def noise(_: bytes) -> bytes:
    return b"this is no archive at all"


def nothing(_: bytes) -> bytes:
    return b""


@pytest.mark.parametrize("damage", [cut, noise, nothing])
@pytest.mark.parametrize("kind", ["tar", "zip"])
def test_a_damaged_archive_is_refused(
    store: Store, tmp_path: Path, damage: Callable[[bytes], bytes], kind: str
) -> None:
    path = tmp_path / "a"
    if kind == "tar":
        tar(path, member("a/x", os.urandom(5000)))
    else:
        zipped(path, ("a/x", os.urandom(5000), 0o100644))
    path.write_bytes(damage(path.read_bytes()))
    with pytest.raises(Refused):
        tree_of_archive(store, path, "a")


def test_an_archive_without_files_is_refused(store: Store, tmp_path: Path) -> None:
    path = tar(tmp_path / "a.tar", special("a", tarfile.DIRTYPE))
    with pytest.raises(Refused, match="holds no files"):
        tree_of_archive(store, path, "a")
