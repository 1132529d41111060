"""Incidents: what their files say follows from the trials, and reruns name what allowed them."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from tests.verify.book import BASE, BROKEN, RUN, SUITE, Book, Bundles

from trialbook.formats.authored_text import to_yaml
from trialbook.formats.records import plain, to_json
from trialbook.model.incident import (
    Addition,
    ClosedIncident,
    Decision,
    IncidentKind,
    OpenedIncident,
)
from trialbook.model.trial import TrialBundle

ID = "20261130T180000Z-abcdef"
OPENING = f"{BASE}/incidents/{ID}.yaml"
CLOSING = f"{BASE}/incidents/{ID}.closed-012345.yaml"


def opening(**changes: Any) -> dict[str, bytes]:
    fields: dict[str, Any] = {
        "incident": ID,
        "scope": "run",
        "suite": SUITE,
        "run": RUN,
        "kind": IncidentKind.HOST,
        "began": "2026-11-30T15:00:00.000Z",
        "opened": "2026-11-30T17:00:00.000Z",
        "author": "Test Person",
        "reason": "the disk was full",
    }
    return {OPENING: to_yaml(plain(OpenedIncident(**{**fields, **changes})), lead="By trialbook.")}


def everything(book: Book) -> tuple[str, ...]:
    """The folders of all trials there are: all of them ran while the incident lasted."""
    found = (path.removeprefix(f"{BASE}/") for path in book.paths())
    return tuple(path.removesuffix("/trial.json") for path in found if path.endswith("/trial.json"))


def closing(book: Book, **changes: Any) -> dict[str, bytes]:
    fields: dict[str, Any] = {
        "incident": ID,
        "suite": SUITE,
        "run": RUN,
        "ended": "2026-11-30T16:00:00.000Z",
        "closed": "2026-11-30T18:00:00.000Z",
        "decision": Decision.RERUN,
        "author": "Test Person",
        "reason": "as agreed",
        "affected": everything(book),
    }
    said = ClosedIncident(**{**fields, **changes})
    return {CLOSING: to_yaml(plain(said), lead="By trialbook.")}


class Excused:
    """A ledger whose plan allows no rerun, in which one is about to be made."""

    def __init__(self, cook: Callable[..., Book]) -> None:
        self.held: list[TrialBundle] = []
        self.book = cook(bundles=self._hold, close=False, plan=lambda plan: replace(plan, rerun={}))

    def _hold(self, bundles: Bundles) -> Bundles:
        self.held = [bundle for bundle in bundles if bundle.record.rerun]
        return [bundle for bundle in bundles if not bundle.record.rerun]

    def rerun(self, **changes: Any) -> dict[str, bytes]:
        (bundle,) = self.held
        record = replace(bundle.record, **{"incident": ID, **changes})
        folder = f"{BASE}/{record.path}"
        files = {f"{folder}/{name}": data for name, data in bundle.files.items()}
        return files | {f"{folder}/trial.json": to_json(record)}

    def finish(self) -> set[str]:
        self.book.commit(self.book.derived())
        return self.book.codes()


@pytest.fixture
def excused(cook: Callable[..., Book]) -> Excused:
    return Excused(cook)


def test_an_honest_incident_and_its_rerun_are_no_fault(excused: Excused) -> None:
    excused.book.commit(opening())
    excused.book.commit(closing(excused.book))
    excused.book.commit(excused.rerun())
    assert excused.finish() == set()


def test_a_rerun_for_an_incident_that_is_not_there(excused: Excused) -> None:
    excused.book.commit(excused.rerun())
    assert excused.finish() == {"rerun-incident"}


def test_a_rerun_for_an_incident_that_is_open(excused: Excused) -> None:
    excused.book.commit(opening())
    excused.book.commit(excused.rerun())
    assert excused.finish() == {"rerun-incident"}


@pytest.mark.parametrize("decision", [Decision.KEEP, Decision.INVALIDATE])
def test_a_rerun_for_an_incident_with_another_decision(
    excused: Excused, decision: Decision
) -> None:
    excused.book.commit(opening())
    excused.book.commit(closing(excused.book, decision=decision))
    excused.book.commit(excused.rerun())
    assert excused.finish() == {"rerun-incident"}


def test_a_rerun_before_its_incident_was_closed(excused: Excused) -> None:
    excused.book.commit(opening())
    closed = closing(excused.book)
    excused.book.commit(excused.rerun())
    excused.book.commit(closed)
    found = excused.book.verify()
    faults = {(fault.code.value, fault.path) for fault in found.faults}
    path = f"{BASE}/{BROKEN.trial_path(1)}"
    # The rerun ran in the incident's time, and was there when the incident was closed.
    assert faults == {("rerun-incident", path), ("incident-differs", CLOSING)}


def test_a_rerun_that_came_with_the_closing(excused: Excused) -> None:
    excused.book.commit(opening())
    excused.book.commit({**closing(excused.book), **excused.rerun()})
    assert "rerun-incident" in excused.book.codes()


def test_a_rerun_for_an_incident_that_is_not_about_its_slot(excused: Excused) -> None:
    began, ended = "2026-11-30T14:00:00.000Z", "2026-11-30T14:30:00.000Z"
    other = next(task for task in ("small", "large") if task != BROKEN.task)
    added = (Addition(task=other, repetition=1, because="the same disk"),)
    excused.book.commit(opening(began=began))
    excused.book.commit(closing(excused.book, ended=ended, affected=(), added=added))
    excused.book.commit(excused.rerun())
    assert excused.finish() == {"rerun-incident"}


def test_what_is_added_by_hand_may_be_run_again(excused: Excused) -> None:
    began, ended = "2026-11-30T14:00:00.000Z", "2026-11-30T14:30:00.000Z"
    added = (Addition(task=BROKEN.task, repetition=BROKEN.repetition, because="the same disk"),)
    excused.book.commit(opening(began=began))
    excused.book.commit(closing(excused.book, ended=ended, affected=(), added=added))
    excused.book.commit(excused.rerun())
    assert excused.finish() == set()


def test_a_first_trial_names_no_incident(excused: Excused) -> None:
    excused.book.commit(opening())
    excused.book.commit(closing(excused.book))
    excused.book.commit(excused.rerun(rerun=0, replaces=None, rerun_reason=None, repetition=3))
    assert "rerun-incident" in excused.book.codes()


def test_an_incident_that_names_all_that_ran_is_no_fault(book: Book) -> None:
    book.commit(opening())
    book.commit(closing(book))
    assert book.codes() == set()


def test_a_suite_wide_incident_may_be_opened_and_closed_at_once(book: Book) -> None:
    book.commit({**opening(scope="suite"), **closing(book, decision=Decision.KEEP)})
    assert book.codes() == set()


def test_an_incident_that_leaves_out_a_trial(book: Book) -> None:
    book.commit(opening())
    book.commit(closing(book, affected=everything(book)[1:]))
    (fault,) = book.verify().faults
    assert (fault.code.value, fault.path) == ("incident-differs", CLOSING)
    assert everything(book)[0] in fault.detail
    assert fault.commit == book.head


def test_a_trial_that_came_in_after_the_closing_need_not_be_named(excused: Excused) -> None:
    book = excused.book
    book.commit(opening())
    book.commit(closing(book))
    book.commit(excused.rerun())
    assert excused.finish() == set()
    assert BROKEN.trial_path(1) not in book.file(CLOSING).decode()


def test_an_incident_that_names_a_trial_of_another_time(book: Book) -> None:
    book.commit(opening())
    ended = "2026-11-30T15:15:00.000Z"
    book.commit(closing(book, ended=ended, decision=Decision.KEEP))
    assert book.codes() == {"incident-differs"}


def test_an_incident_that_names_a_trial_that_is_none(book: Book) -> None:
    book.commit(opening())
    book.commit(closing(book, affected=(*everything(book), "large/new/r9")))
    assert book.codes() == {"incident-differs"}


def test_an_incident_that_ended_before_it_began(book: Book) -> None:
    book.commit(opening())
    book.commit(closing(book, ended="2026-11-29T15:00:00.000Z", affected=()))
    assert book.codes() == {"incident-differs"}


def test_times_that_are_none(book: Book) -> None:
    book.commit(opening())
    book.commit(closing(book, ended="2026-99-30T15:00:00.000Z"))
    assert book.codes() == {"incident-differs"}


@pytest.mark.parametrize(
    "added",
    [
        Addition(task="other", repetition=1, because="why not"),
        Addition(task="large", repetition=9, because="why not"),
        Addition(task="large", repetition=1, because=" "),
    ],
)
def test_what_is_added_is_a_slot_and_has_a_reason(book: Book, added: Addition) -> None:
    book.commit(opening())
    book.commit(closing(book, added=(added,)))
    assert book.codes() == {"incident-differs"}


@pytest.mark.parametrize("decision", [Decision.RERUN, Decision.INVALIDATE])
def test_a_decision_about_one_configuration_only(book: Book, decision: Decision) -> None:
    began, ended = "2026-11-30T15:16:00.000Z", "2026-11-30T15:16:10.000Z"
    first = [path for path in everything(book) if "T15:16:" in _started(book, path)]
    book.commit(opening(began=began))
    book.commit(closing(book, ended=ended, decision=decision, affected=tuple(first)))
    assert book.codes() == {"incident-one-sided"}


def _started(book: Book, path: str) -> str:
    return str(json.loads(book.file(f"{BASE}/{path}/trial.json"))["started"])


def test_an_incident_that_was_closed_and_never_opened(book: Book) -> None:
    book.commit(closing(book))
    assert book.codes() == {"incident-unopened"}


def test_an_incident_that_was_opened_after_it_was_closed(book: Book) -> None:
    book.commit(closing(book))
    book.commit(opening())
    assert book.codes() == {"incident-unopened"}


@pytest.mark.parametrize(
    "data",
    [
        b"incident: x\n",
        b"\xff\n",
        b"- 1\n",
        b"{",
        b"&a [*a, *a]\n",
        next(iter(opening().values())) + b"more: 1\n",
    ],
)
def test_an_incident_that_cannot_be_read(book: Book, data: bytes) -> None:
    book.commit({OPENING: data})
    assert book.codes() == {"record-unreadable"}


@pytest.mark.parametrize(
    "changes", [{"incident": "20261130T180000Z-000000"}, {"suite": "other"}, {"run": "other"}]
)
def test_an_incident_of_something_else_is_misplaced(book: Book, changes: dict[str, str]) -> None:
    book.commit(opening(**changes))
    assert book.codes() == {"record-misplaced"}
    book.commit(closing(book, **changes))
    assert book.codes() == {"record-misplaced"}
