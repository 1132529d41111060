"""What a clone can do to its own view of the history, and what disks do."""

from __future__ import annotations

import subprocess
import zlib
from pathlib import Path

import pytest
from tests.verify.book import BASE, Book

from trialbook.errors import EnvironmentProblem, UserError

RECORD = f"{BASE}/large/new/r1/trial.json"


def unpack(book: Book) -> None:
    """Every object in a file of its own."""
    packs = list((book.root / ".git/objects/pack").glob("*.pack"))
    for pack in packs:
        data = pack.read_bytes()
        for file in pack.parent.glob(f"{pack.stem}.*"):
            file.unlink()
        subprocess.run(["git", "unpack-objects", "-q"], cwd=book.root, input=data, check=True)


def loose(book: Book, oid: str) -> Path:
    unpack(book)
    path = book.root / ".git/objects" / oid[:2] / oid[2:]
    path.chmod(0o644)
    return path


@pytest.mark.parametrize("packed", [False, True])
def test_a_replace_ref_is_refused(book: Book, packed: bool) -> None:
    old = book.git("rev-parse", f"main:{RECORD}")
    forged = book.file(RECORD).replace(b"accepted", b"rejected")
    done = subprocess.run(
        ["git", "hash-object", "-w", "--stdin"],
        cwd=book.root,
        input=forged,
        capture_output=True,
        check=True,
    )
    book.git("replace", old, done.stdout.decode().strip())
    assert book.file(RECORD) == forged
    if packed:
        book.git("pack-refs", "--all")
        assert not (book.root / f".git/refs/replace/{old}").exists()
    (fault,) = book.verify().faults
    assert (fault.code.value, fault.path) == ("replace-ref", f"refs/replace/{old}")


def test_grafts_are_refused(book: Book) -> None:
    (book.root / ".git/info/grafts").write_text(f"{book.head}\n")
    assert book.codes() == {"grafts"}


def test_an_empty_grafts_file_is_nothing(book: Book) -> None:
    (book.root / ".git/info/grafts").write_text("")
    assert book.codes() == set()


@pytest.mark.parametrize("text", ["\n", "# none\n", "nonsense\n"])
def test_a_grafts_file_that_cannot_be_read_is_told(book: Book, text: str) -> None:
    (book.root / ".git/info/grafts").write_text(text)
    with pytest.raises(EnvironmentProblem, match="cannot open the repository"):
        book.verify()


def test_a_shallow_clone_is_refused(book: Book, tmp_path: Path) -> None:
    book.git("clone", "-q", "--depth", "1", f"file://{book.root}", str(tmp_path / "shallow"))
    (tmp_path / "shallow/suites").mkdir(exist_ok=True)
    found = Book(tmp_path / "shallow").codes()
    assert found == {"shallow", "object-missing"}


def test_a_clone_with_all_of_history_is_as_good(book: Book, tmp_path: Path) -> None:
    book.git("clone", "-q", "--no-hardlinks", str(book.root), str(tmp_path / "clone"))
    assert Book(tmp_path / "clone").codes(witness=book.head) == set()


def test_a_clone_that_borrows_objects_is_as_good(book: Book, tmp_path: Path) -> None:
    book.git("clone", "-q", "--shared", str(book.root), str(tmp_path / "clone"))
    assert Book(tmp_path / "clone").codes() == set()


def test_packed_with_deltas_it_says_the_same(book: Book) -> None:
    before = book.verify()
    book.git("gc", "-q", "--aggressive", "--prune=now")
    assert not list((book.root / ".git/objects").glob("??/*"))
    assert book.verify() == before


def test_a_linked_work_tree_is_verified_like_the_main_one(book: Book, tmp_path: Path) -> None:
    book.git("worktree", "add", "-q", "--detach", str(tmp_path / "linked"))
    linked = Book(tmp_path / "linked")
    assert linked.codes() == set()
    (book.root / ".git/info/grafts").write_text(f"{book.head}\n")
    assert linked.codes() == {"grafts"}


def test_an_object_whose_bytes_are_of_another_is_seen(book: Book) -> None:
    oid = book.git("rev-parse", f"main:{RECORD}")
    data = book.edit(RECORD, '"files": 1', '"files": 2')
    loose(book, oid).write_bytes(zlib.compress(b"blob %d\0" % len(data) + data))
    faults = book.verify().faults
    assert ("object-damaged", RECORD) in {(fault.code.value, fault.path) for fault in faults}


@pytest.mark.parametrize("what", ["trial.json", "change.patch", ""])
def test_a_damaged_object_is_named(book: Book, what: str) -> None:
    oid = book.git("rev-parse", f"main:{BASE}/large/new/r1/{what}")
    loose(book, oid).write_bytes(b"no zlib at all")
    faults = [fault for fault in book.verify().faults if fault.code.value == "object-damaged"]
    assert faults
    assert oid in faults[0].detail


def test_an_object_that_is_gone_is_named(book: Book) -> None:
    oid = book.git("rev-parse", f"main:{RECORD}")
    loose(book, oid).unlink()
    faults = [fault for fault in book.verify().faults if fault.code.value == "object-missing"]
    assert [fault.path for fault in faults] == [RECORD]


def test_damage_only_in_the_past_is_seen_too(book: Book) -> None:
    oid = book.git("rev-parse", f"main~5:{BASE}")
    loose(book, oid).write_bytes(b"no zlib at all")
    assert "object-damaged" in book.codes()


def test_a_commit_that_is_gone_is_named(book: Book) -> None:
    oid = book.git("rev-parse", "main~5")
    loose(book, oid).unlink()
    faults = [fault for fault in book.verify().faults if fault.code.value == "object-missing"]
    assert [fault.commit for fault in faults] == [oid]


def test_a_pack_that_was_cut_short_is_damage(book: Book) -> None:
    book.git("gc", "-q", "--prune=now")
    (pack,) = (book.root / ".git/objects/pack").glob("*.pack")
    pack.chmod(0o644)
    data = bytearray(pack.read_bytes())
    middle = len(data) // 2
    data[middle : middle + 200] = bytes(200)
    pack.write_bytes(data)
    assert book.codes() & {"object-damaged"}


def test_a_witness_in_history_is_no_fault(book: Book) -> None:
    assert book.codes(witness=book.git("rev-parse", "main~4")) == set()
    assert book.codes(witness=book.head) == set()


def test_a_witness_that_history_left_is_a_fault(book: Book) -> None:
    witness = book.head
    book.move(book.git("rev-parse", "main~1"))
    verdict = book.verify(witness=witness)
    (fault,) = verdict.faults
    assert (fault.code.value, fault.commit) == ("witness-not-ancestor", witness)


def test_a_witness_that_is_not_even_here_is_a_fault(book: Book) -> None:
    assert book.codes(witness="1" * 40) == {"witness-not-ancestor"}


@pytest.mark.parametrize("witness", ["", "main", "HEAD", "abc", "A" * 40, "1" * 64])
def test_a_witness_is_a_full_id(book: Book, witness: str) -> None:
    with pytest.raises(UserError, match="full commit id"):
        book.verify(witness=witness)


def test_without_a_witness_it_says_what_is_not_shown(book: Book) -> None:
    assert any("witness" in note for note in book.verify().notes)
    assert not any("witness" in note for note in book.verify(witness=book.head).notes)


def test_a_ledger_without_commits_has_nothing_to_verify(tmp_path: Path) -> None:
    empty = Book(tmp_path / "empty")
    empty.root.mkdir()
    empty.git("init", "-q", "-b", "main")
    verdict = empty.verify()
    assert (verdict.holds, verdict.head, verdict.commits) == (True, "", 0)
