"""Objects read in bulk: what git says of each, in every way that git keeps them."""

from __future__ import annotations

import subprocess
import zlib
from pathlib import Path

import pytest
from tests.storage.conftest import Git

from trialbook.storage.raw_objects import (
    BLOB,
    COMMIT,
    TREE,
    DamagedObject,
    MissingObject,
    RawObjects,
    entry_of,
)

KINDS = {"commit": COMMIT, "tree": TREE, "blob": BLOB}


def history(git: Git, commits: int = 30) -> None:
    """Files that grow and change, so that packs have deltas and deltas of deltas."""
    lines = [f"line {number} of a file that stays much the same\n" for number in range(200)]
    for number in range(commits):
        lines[number * 3] = f"changed in {number}\n"
        (git.folder / "grows.txt").write_text("".join(lines))
        (git.folder / f"file-{number}.bin").write_bytes(bytes(range(256)) * number)
        (git.folder / "empty").write_bytes(b"")
        git("add", "-A")
        git("commit", "-q", "-m", f"commit {number}")


def listed(git: Git) -> list[tuple[bytes, int]]:
    said = git("cat-file", "--batch-all-objects", "--batch-check=%(objectname) %(objecttype)")
    pairs = (line.split() for line in said.splitlines())
    return [(bytes.fromhex(oid), KINDS[kind]) for oid, kind in pairs]


def content(git: Git, oid: bytes, kind: int) -> bytes:
    name = next(name for name, number in KINDS.items() if number == kind)
    return git.run("cat-file", name, oid.hex()).stdout


def check_all(git: Git, objects: RawObjects) -> None:
    found = listed(git)
    assert len(found) > 20
    for oid, kind in found:
        assert objects.read(oid, kind) == content(git, oid, kind)
    assert objects.count == len(found)


@pytest.mark.parametrize("how", ["loose", "packed", "deltas", "packs", "old", "mixed"])
def test_it_reads_what_git_reads(git: Git, how: str) -> None:
    history(git, 10)
    match how:
        case "packed":
            git("repack", "-adfq", "--depth=0", "--window=0")
        case "deltas":
            git("gc", "-q", "--aggressive", "--prune=now")
        case "packs":
            for number in range(3):
                git("repack", "-dq")
                (git.folder / "more.txt").write_text(f"{number}\n")
                git("add", "-A")
                git("commit", "-q", "-m", "more")
            git("repack", "-dq")
        case "old":
            git("-c", "repack.useDeltaBaseOffset=false", "repack", "-adfq")
        case "mixed":
            git("repack", "-adfq")
            history(git, 12)
    check_all(git, RawObjects(git.folder / ".git/objects"))


def test_it_follows_alternates(git: Git, tmp_path: Path) -> None:
    history(git, 8)
    git("clone", "-q", "--shared", ".", str(tmp_path / "one"))
    git("clone", "-q", "--shared", str(tmp_path / "one"), str(tmp_path / "two"))
    check_all(Git(tmp_path / "two"), RawObjects(tmp_path / "two/.git/objects"))


def test_it_finds_what_was_packed_meanwhile(git: Git) -> None:
    history(git, 8)
    objects = RawObjects(git.folder / ".git/objects")
    git("repack", "-adq")
    check_all(git, objects)


def test_a_tree_has_its_entries(git: Git) -> None:
    (git.folder / "run.sh").write_text("x\n")
    (git.folder / "run.sh").chmod(0o755)
    (git.folder / "inner").mkdir()
    (git.folder / "inner" / "näme with\nline").write_text("y\n")
    git("add", "-A")
    git("commit", "-q", "-m", "more")
    objects = RawObjects(git.folder / ".git/objects")
    tree = bytes.fromhex(git("rev-parse", "HEAD^{tree}").strip())
    entries = [entry_of(raw) for raw in objects.tree(tree)]
    shown = [(entry.name, f"{entry.mode:06o}") for entry in entries]
    assert shown == [(b"README.md", "100644"), (b"inner", "040000"), (b"run.sh", "100755")]
    (inner,) = (entry_of(raw) for raw in objects.tree(entries[1].oid))
    assert inner.name == "näme with\nline".encode()


def test_what_is_not_there_is_missing(git: Git) -> None:
    objects = RawObjects(git.folder / ".git/objects")
    with pytest.raises(MissingObject):
        objects.read(bytes(20), BLOB)


def test_an_object_of_another_kind_is_damage(git: Git) -> None:
    head = bytes.fromhex(git("rev-parse", "HEAD").strip())
    with pytest.raises(DamagedObject, match="is a commit where a tree is named"):
        RawObjects(git.folder / ".git/objects").read(head, TREE)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"no zlib",
        zlib.compress(b"blob 6\0hello\n")[:-4],
        zlib.compress(b"blob 7\0hello\n"),
        zlib.compress(b"blob 6\0HELLO\n"),
        zlib.compress(b"tree 6\0hello\n"),
        zlib.compress(b"splendid 6\0hello\n"),
        zlib.compress(b"nothing of the kind"),
    ],
)
def test_a_file_that_is_no_such_object_is_damage(git: Git, data: bytes) -> None:
    oid = git("rev-parse", "HEAD:README.md").strip()
    path = git.folder / ".git/objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    path.write_bytes(data)
    with pytest.raises(DamagedObject):
        RawObjects(git.folder / ".git/objects").read(bytes.fromhex(oid), BLOB)


def test_any_changed_byte_of_a_pack_is_seen(git: Git) -> None:
    """Whatever byte it is, no object is ever given with other bytes than its own."""
    history(git, 6)
    git("gc", "-q", "--prune=now")
    known = [(oid, kind, content(git, oid, kind)) for oid, kind in listed(git)]
    (path,) = (git.folder / ".git/objects/pack").glob("*.pack")
    path.chmod(0o644)
    whole = path.read_bytes()
    for at in range(12, len(whole) - 20, 97):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 0x55]) + whole[at + 1 :])
        objects = RawObjects(git.folder / ".git/objects")
        for oid, kind, data in known:
            try:
                assert objects.read(oid, kind) == data
            except (DamagedObject, MissingObject):
                continue
        objects.close()


def test_an_index_that_cannot_be_read_is_kept_in_mind(git: Git) -> None:
    history(git, 6)
    git("gc", "-q", "--prune=now")
    (path,) = (git.folder / ".git/objects/pack").glob("*.idx")
    path.chmod(0o644)
    path.write_bytes(path.read_bytes()[:-200])
    objects = RawObjects(git.folder / ".git/objects")
    assert list(objects.broken) == [path]
    path.write_bytes(b"something else")
    assert "not of a kind" in RawObjects(git.folder / ".git/objects").broken[path]


def test_a_large_object_is_read_whole(git: Git) -> None:
    data = bytes(range(256)) * 20_000
    done = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"],
        cwd=git.folder,
        input=data,
        capture_output=True,
        check=True,
    )
    oid = bytes.fromhex(done.stdout.decode().strip())
    objects = RawObjects(git.folder / ".git/objects")
    assert objects.read(oid, BLOB) == data
    git("update-ref", "refs/tags/large", oid.hex())
    git("gc", "-q", "--prune=now")
    assert RawObjects(git.folder / ".git/objects").read(oid, BLOB) == data
