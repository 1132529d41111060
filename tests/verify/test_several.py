"""Many runs are checked by several processes, and it comes to the same."""

from __future__ import annotations

import threading

import pytest
from tests.verify.book import Book, Recipe, add_run

from trialbook.workflow import verify_ledger


@pytest.fixture
def many(book: Book) -> Book:
    """Three runs, one of them with a fault."""
    for number in (1, 2):
        add_run(book, Recipe(), f"2026120{number}T000000Z-aaaaaa")
    path = "runs/demo/20261201T000000Z-aaaaaa/large/new/r1/trial.json"
    book.commit({path: book.edit(path, '"files": 1', '"files": 2')})
    return book


@pytest.mark.parametrize("threads", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_several_processes_find_what_one_finds(
    many: Book, monkeypatch: pytest.MonkeyPatch, threads: bool
) -> None:
    alone = many.verify()
    assert {fault.code.value for fault in alone.faults} == {"record-changed"}
    monkeypatch.setattr(verify_ledger, "_OBJECTS_FOR_SEVERAL", -1)
    stop = threading.Event()
    if threads:
        # With another thread about, processes are started afresh instead of forked.
        threading.Thread(target=stop.wait, daemon=True).start()
    try:
        assert many.verify() == alone
    finally:
        stop.set()
