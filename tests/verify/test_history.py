"""What commits may do to records, and what is seen of it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tests.verify.book import BASE, BROKEN, Book, Recipe, add_run

TRIAL = f"{BASE}/large/new/r1"
RECORD = f"{TRIAL}/trial.json"
GRADE = f"{TRIAL}/grades/checks.json"

Tamper = Callable[[Book], object]


def test_an_honest_ledger_has_no_fault(book: Book) -> None:
    verdict = book.verify()
    assert verdict.holds, verdict.faults
    assert (verdict.runs, verdict.trials, verdict.commits) == (1, 9, 12)
    assert not verdict.unchecked


TAMPERED: dict[str, tuple[Tamper, set[str]]] = {
    "a record edited": (
        lambda b: b.commit({RECORD: b.edit(RECORD, '"files": 1', '"files": 2')}),
        {"record-changed"},
    ),
    "a grade edited": (
        lambda b: b.commit({GRADE: b.edit(GRADE, '"version": "1"', '"version": "2"')}),
        {"record-changed", "artifact-differs", "grade-differs"},
    ),
    "an artifact edited": (
        lambda b: b.commit({f"{TRIAL}/sessions/1/attempt-1/stdout.txt": b"other\n"}),
        {"record-changed", "artifact-differs"},
    ),
    "results edited": (
        lambda b: b.commit(
            {f"{BASE}/results.csv": b.edit(f"{BASE}/results.csv", "rejected", "accepted")}
        ),
        {"record-changed", "results-differ"},
    ),
    "a report edited": (
        lambda b: b.commit({f"{BASE}/report.md": b.file(f"{BASE}/report.md") + b"\nAll good.\n"}),
        {"record-changed", "results-differ"},
    ),
    "a plan edited": (
        lambda b: b.commit(
            {f"{BASE}/plan.json": b.edit(f"{BASE}/plan.json", '"jobs": 2', '"jobs": 3')}
        ),
        {"plan-changed", "plan-digest-wrong"},
    ),
    "a plan removed": (
        lambda b: b.commit({f"{BASE}/plan.json": None}),
        {"record-removed", "plan-missing"},
    ),
    "a record removed": (
        lambda b: b.commit({RECORD: None}),
        {"record-removed", "record-missing", "slot-hidden"},
    ),
    "a trial removed": (
        lambda b: b.commit(dict.fromkeys(b.paths(TRIAL))),
        {"record-removed", "slot-hidden"},
    ),
    "a run removed": (lambda b: b.commit(dict.fromkeys(b.paths())), {"record-removed"}),
    "all runs removed": (lambda b: b.commit(dict.fromkeys(b.paths("runs"))), {"record-removed"}),
    "a replaced trial removed": (
        lambda b: b.commit(dict.fromkeys(b.paths(f"{BASE}/{BROKEN.path}"))),
        {"record-removed", "rerun-gap"},
    ),
    "the mode of a record changed": (
        lambda b: b.commit({RECORD: b.file(RECORD)}, mode=0o100755),
        {"record-changed", "file-mode", "slot-hidden"},
    ),
    "a file made a folder": (
        lambda b: b.commit({f"{TRIAL}/change.patch/x": b"x"}),
        {"record-changed", "file-unlisted", "artifact-missing", "patch-differs"},
    ),
    "a record changed and changed back": (
        lambda b: (
            before := b.file(RECORD),
            b.commit({RECORD: b.edit(RECORD, '"files": 1', '"files": 2')}),
            b.commit({RECORD: before}),
        ),
        {"record-changed"},
    ),
    "a trial removed and brought back": (
        lambda b: (
            before := {path: b.file(path) for path in b.paths(TRIAL)},
            b.commit(dict.fromkeys(before)),
            b.commit(before),
        ),
        {"record-removed"},
    ),
    "a file added to a trial": (
        lambda b: b.commit({f"{TRIAL}/notes.txt": b"well done\n"}),
        {"trial-apart", "file-unlisted"},
    ),
    "a file added to a run": (
        lambda b: b.commit({f"{BASE}/notes.txt": b"well done\n"}),
        {"file-unlisted"},
    ),
    "results removed and written again": (
        lambda b: (
            before := {path: b.file(path) for path in (f"{BASE}/results.csv", f"{BASE}/report.md")},
            b.commit(dict.fromkeys(before)),
            b.commit(before),
        ),
        {"record-removed", "results-twice"},
    ),
}


@pytest.mark.parametrize("name", TAMPERED)
def test_what_was_done_on_top_is_seen(book: Book, name: str) -> None:
    tamper, codes = TAMPERED[name]
    tamper(book)
    assert book.codes() == codes


def test_a_fault_names_the_commit_and_the_path(book: Book) -> None:
    commit = book.commit({RECORD: book.edit(RECORD, '"files": 1', '"files": 2')})
    book.commit({"README.md": b"later\n"})
    (fault,) = book.verify().faults
    assert (fault.commit, fault.path) == (commit, RECORD)


def merged(book: Book, **changes: bytes | None) -> str:
    """A merge of the head with a branch that leaves the ledger alone, and changes files itself."""
    start = book.git("rev-parse", "main~3")
    ours = book.head
    book.move(start)
    theirs = book.commit({"other.txt": b"something else\n"})
    files = {"other.txt": b"something else\n", **changes}
    return book.commit(files, parents=[ours, theirs], message="merge\n")


def test_an_honest_merge_is_no_fault(book: Book) -> None:
    merged(book)
    assert book.codes() == set()


def test_a_record_edited_in_a_merge_is_seen(book: Book) -> None:
    commit = merged(book, **{RECORD: book.edit(RECORD, '"files": 1', '"files": 2')})
    faults = book.verify().faults
    assert {(f.code.value, f.commit, f.path) for f in faults} == {
        ("record-changed", commit, RECORD)
    }


def test_a_record_dropped_in_a_merge_is_seen(book: Book) -> None:
    gone = dict.fromkeys(book.paths(TRIAL))
    merged(book, **gone)
    assert "record-removed" in book.codes()


def test_taking_one_side_of_a_merge_drops_what_the_other_added(book: Book) -> None:
    ours = book.head
    book.move(book.git("rev-parse", "main~2"))
    theirs = book.commit({"other.txt": b"something else\n"})
    book.commit({}, parents=[theirs, ours], message="merge, ours\n")
    found = {(fault.code.value, fault.path) for fault in book.verify().faults}
    assert ("record-removed", f"{BASE}/results.csv") in found


def test_two_ledgers_that_were_merged_are_no_fault(book: Book) -> None:
    """Two machines make a run each, and one merges the other."""
    ours = book.head
    book.move(book.git("rev-parse", "main~11"))
    other = "20261130T160000Z-aaaaaa"
    add_run(book, Recipe(), other)
    theirs = {path: book.file(path) for path in book.paths(f"runs/demo/{other}")}
    book.commit(theirs, parents=[ours, book.head], message="merge\n")
    verdict = book.verify()
    assert verdict.faults == ()
    assert (verdict.runs, verdict.trials) == (2, 18)


def recorded_twice(book: Book) -> tuple[str, str]:
    """Two branches from before a rerun, each with another record of it: ours and theirs."""
    rerun = f"{BASE}/{BROKEN.trial_path(1)}"
    ours = book.head
    files = {path: book.file(path) for path in book.paths(rerun)}
    record = f"{rerun}/trial.json"
    files[record] = book.edit(record, '"seconds": ', '"seconds": 1')
    added = book.git("log", "--format=%H", "--diff-filter=A", "main", "--", record)
    book.move(f"{added}^")
    return ours, book.commit(files, message="the same rerun, in another clone\n")


@pytest.mark.parametrize("kept", ["ours", "theirs"])
def test_a_merge_that_keeps_one_of_two_records_of_a_trial_has_a_code_of_its_own(
    book: Book, kept: str
) -> None:
    ours, theirs = recorded_twice(book)
    parents = [ours, theirs] if kept == "ours" else [theirs, ours]
    merge = book.commit({}, parents=parents, message="merge\n")
    rerun = f"{BASE}/{BROKEN.trial_path(1)}"
    found = {(f.code.value, f.path, f.commit) for f in book.verify().faults}
    assert ("trial-twice", rerun, merge) in found
    assert not any(code == "record-changed" for code, _, _ in found)


def test_both_sides_may_add_to_one_trial(book: Book) -> None:
    name = f"{TRIAL}/reviews/{{}}.yaml"
    start = book.head
    ours = book.commit({name.format("a"): b"a: 1\n"})
    book.move(start)
    theirs = book.commit({name.format("b"): b"b: 1\n"})
    book.commit({name.format("a"): b"a: 1\n"}, parents=[theirs, ours], message="merge\n")
    assert book.codes() == set()


def test_what_does_not_belong_to_a_run_may_change(book: Book) -> None:
    book.commit({"runs/README.md": b"about runs\n", "runs/demo/README.md": b"about these\n"})
    book.commit({"runs/README.md": b"more about runs\n", "README.md": None})
    book.commit({"suites/demo/snapshots/app/app.py": b"x = 7\n", "runs/README.md": None})
    assert book.codes() == set()


def test_a_file_in_the_place_of_all_runs_hides_nothing(book: Book) -> None:
    book.commit({**dict.fromkeys(book.paths("runs")), "runs": b"nothing to see\n"})
    assert book.codes() == {"record-removed"}


def test_a_folder_that_is_no_run_is_looked_at_too(book: Book) -> None:
    book.commit({"runs/demo/caf\u00e9/notes.txt": b"x\n"})
    assert book.codes() == {"file-unlisted", "plan-missing"}


def test_a_lock_may_not_change_or_go(book: Book) -> None:
    book.commit({"suites/demo/locks/1.json": b"{}\n", "suites/demo/locks/README.md": b"x\n"})
    changed = book.commit({"suites/demo/locks/1.json": b"{ }\n"})
    removed = book.commit({"suites/demo/locks/1.json": None})
    found = {(fault.code.value, fault.commit) for fault in book.verify().faults}
    assert found == {("lock-changed", changed), ("lock-removed", removed)}


def test_a_lock_may_not_go_with_its_suite(book: Book) -> None:
    book.commit({"suites/demo/locks/1.json": b"{}\n"})
    book.commit(dict.fromkeys(book.paths("suites")) | {"suites/.keep": b""})
    assert "lock-removed" in book.codes()


def test_back_dating_a_change_hides_nothing(book: Book) -> None:
    book.commit({RECORD: book.edit(RECORD, '"files": 1', '"files": 2')}, seconds=1_000_000_000)
    assert book.codes() == {"record-changed"}


def test_one_run_may_be_looked_at_alone(book: Book) -> None:
    other = {path.replace("20261130T", "20261129T"): None for path in book.paths()}
    copies = {new: book.file(old) for new, old in zip(other, book.paths(), strict=True)}
    book.commit(copies)
    assert "plan-misplaced" in book.codes()
    assert book.codes(run="20261130T") == set()
    assert "plan-misplaced" in book.codes(run="20261129T")
    assert book.verify(run="20261130T").runs == 1


def test_a_ledger_in_a_folder_of_its_repository(book: Book) -> None:
    moved = {f"team/ledger/{path}": book.file(path) for path in book.paths(".")}
    book.commit(dict.fromkeys(book.paths(".")) | moved)
    inner = Book(book.root / "team" / "ledger")
    inner.root.mkdir(parents=True)
    # Moved into the folder all at once: nothing shows any more that the plan came first.
    assert "plan-after-trial" in inner.codes()
    inner.commit({f"team/ledger/{RECORD}": None})
    assert {
        fault.path for fault in inner.verify().faults if fault.code.value == "record-removed"
    } == {RECORD}
