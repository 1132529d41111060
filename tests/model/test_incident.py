from __future__ import annotations

from dataclasses import replace

import pytest
from tests.recorded import a_configuration, a_plan, a_trial

from trialbook.model.incident import (
    Addition,
    ClosedIncident,
    Decision,
    Incident,
    IncidentKind,
    OpenedIncident,
    affected_slots,
    one_sided,
    overlapping,
)
from trialbook.model.outcome import Outcome
from trialbook.model.plan import SlotKey

PLAN = a_plan({"one": a_configuration(), "two": a_configuration()}, ["a", "b"], repetitions=2)
TRIAL = a_trial(PLAN, SlotKey("a", "one", 1), Outcome.REJECTED)  # 15:16:00.000 to 15:16:04.500
OPENED = OpenedIncident(
    incident="20261130T151526Z-3f9c2d",
    scope="run",
    suite=PLAN.suite,
    run=PLAN.run,
    kind=IncidentKind.PROVIDER,
    began="2026-11-30T15:00:00.000Z",
    opened="2026-11-30T16:00:00.000Z",
    author="Ann",
    reason="529",
)


def closed(affected: tuple[str, ...] = (), added: tuple[Addition, ...] = ()) -> Incident:
    return Incident(
        opened=OPENED,
        closings=(
            ClosedIncident(
                incident=OPENED.incident,
                suite=PLAN.suite,
                run=PLAN.run,
                ended="2026-11-30T17:00:00.000Z",
                closed="2026-11-30T17:00:00.000Z",
                decision=Decision.RERUN,
                author="Ann",
                reason="so",
                affected=affected,
                added=added,
            ),
        ),
    )


@pytest.mark.parametrize(
    ("began", "ended", "touched"),
    [
        ("2026-11-30T15:16:01Z", "2026-11-30T15:16:02Z", True),
        ("2026-11-30T15:00:00Z", "2026-11-30T15:16:00Z", True),
        ("2026-11-30T15:16:04.500Z", None, True),
        ("2026-11-30T15:00:00Z", "2026-11-30T15:15:59.999Z", False),
        ("2026-11-30T15:16:04.501Z", None, False),
        ("2026-11-30T16:16:01+01:00", "2026-11-30T16:16:02+01:00", True),
    ],
)
def test_a_trial_is_touched_if_it_ran_at_some_moment_between(
    began: str, ended: str | None, touched: bool
) -> None:
    assert overlapping([TRIAL], began, ended) == ([TRIAL] if touched else [])


def test_an_incident_is_about_the_slots_of_its_trials_reruns_included() -> None:
    found = affected_slots(PLAN, closed(("a/one/r1", "b/two/r2.rerun1")))
    assert set(found) == {SlotKey("a", "one", 1), SlotKey("b", "two", 2)}


def test_what_is_added_is_added_for_every_configuration() -> None:
    found = affected_slots(PLAN, closed(added=(Addition(task="a", repetition=2, because="x"),)))
    assert set(found) == {SlotKey("a", "one", 2), SlotKey("a", "two", 2)}


def test_a_slot_is_not_taken_for_another_that_begins_alike() -> None:
    plan = a_plan({"one": a_configuration()}, ["a"], repetitions=12)
    assert affected_slots(plan, closed(("a/one/r12",))) == [SlotKey("a", "one", 12)]


def test_an_open_incident_is_about_no_slot_yet() -> None:
    assert affected_slots(PLAN, Incident(opened=OPENED)) == []


def test_slots_of_one_configuration_are_one_sided_unless_the_plan_has_no_other() -> None:
    one = [SlotKey("a", "one", 1), SlotKey("b", "one", 2)]
    assert one_sided(PLAN, one) == "one"
    assert one_sided(PLAN, [*one, SlotKey("a", "two", 1)]) is None
    assert one_sided(PLAN, []) is None
    alone = replace(PLAN, configurations={"one": PLAN.configurations["one"]})
    assert one_sided(alone, one) is None
