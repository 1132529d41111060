from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.recorded import PATCH, drift_run
from tests.series.build import record as session_record

from trialbook.formats.patch import parse_patch
from trialbook.formats.records import to_json
from trialbook.model.client import Claim, ClaimKind
from trialbook.model.evidence import Sighting, SightingSeverity
from trialbook.model.trajectory import Event, EventKind, Trajectory
from trialbook.model.trial import Attempt, Trial
from trialbook.reporting.facts_said import Fact, facts_said
from trialbook.reporting.trial_facts import change_facts, trial_facts

NAME = "sessions/1/attempt-1/trajectory.json"


def a_trial(*claims: Claim, attempts: int = 1) -> Trial:
    _, bundles = drift_run()
    made = tuple(
        Attempt(session=1, attempt=number, process=None, claims=claims)
        for number in range(1, attempts + 1)
    )
    return replace(bundles[0].record, attempts=made)


def did(*events: Event, **about: object) -> bytes:
    return to_json(Trajectory(client="c", events=events, **about))  # type: ignore[arg-type]


def ran(code: int, number: int = 1) -> Event:
    return Event(number=number, kind=EventKind.COMMAND, command="pytest", exit_code=code)


def row(trial: Trial, name: str, trajectory: bytes, **given: object) -> Fact:
    found = facts_said(trial, trial_facts(trial, {NAME: trajectory}, PATCH, **given))  # type: ignore[arg-type]
    return next(fact for group in found for fact in group.facts if fact.name == name)


def patch_of(path: str, deleted: int, added: int) -> bytes:
    lines = [f"--- a/{path}", f"+++ b/{path}", f"@@ -1,{deleted} +1,{added} @@"]
    lines += ["-x"] * deleted + ["+y"] * added
    return "\n".join([f"diff --git a/{path} b/{path}", *lines, ""]).encode()


def test_rewrite_ratios_are_deleted_lines_of_those_a_file_had() -> None:
    patch = patch_of("big.py", 101, 1) + patch_of("half.py", 100, 0) + patch_of("small.py", 9, 9)
    found = change_facts(
        parse_patch(patch), {"big.py": 200, "half.py": 200, "small.py": 10, "other.py": 5}, ()
    )
    assert found.rewrites is not None
    ratios = {one.path: (one.deleted, one.lines, one.ratio) for one in found.rewrites}
    assert ratios == {
        "big.py": (101, 200, 0.505),
        "half.py": (100, 200, 0.5),
        "small.py": (9, 10, 0.9),
    }
    assert found.rewritten == ("big.py",)
    assert found.changed_lines == 220
    assert change_facts(parse_patch(patch), None, ()).rewritten is None


def test_lines_outside_the_scope_are_a_share_of_all_changed_lines() -> None:
    files = parse_patch(patch_of("src/a.py", 3, 4) + patch_of("docs/b.md", 1, 2))
    found = change_facts(files, {}, ("src/**",))
    assert (found.outside_lines, found.outside_share, found.outside) == (3, 0.3, ("docs/b.md",))
    assert change_facts(files, {}, ("src", "docs/")).outside_lines == 0
    assert change_facts(files, {}, ("**", "!src")).outside == ("src/a.py",)
    unknown = change_facts(files, {}, ())
    assert (unknown.outside_lines, unknown.outside_share, unknown.outside) == (None, None, ())


def test_a_record_that_does_not_tell_how_long_files_were_leaves_rewrites_unknown() -> None:
    trial = a_trial()
    assert trial.change is not None
    found = trial_facts(trial, {}, PATCH).change
    assert found is not None
    assert found.rewrites is None
    known = replace(trial, change=replace(trial.change, lines_before={"src/user_service.py": 4}))
    found = trial_facts(known, {}, PATCH).change
    assert found is not None
    assert found.rewrites is not None
    assert [(one.deleted, one.lines) for one in found.rewrites] == [(2, 4)]


@pytest.mark.parametrize(
    ("said", "events", "holds"),
    [
        (ClaimKind.PASSED, (ran(0),), True),
        (ClaimKind.PASSED, (ran(0), ran(1, 2)), False),
        (ClaimKind.FAILED, (ran(1),), True),
        (ClaimKind.FAILED, (ran(0),), False),
        (ClaimKind.PASSED, (), None),
        (ClaimKind.NOT_RUN, (), True),
        (ClaimKind.NOT_RUN, (ran(0),), None),
    ],
)
def test_a_claim_stands_beside_the_last_run_of_tests(
    said: ClaimKind, events: tuple[Event, ...], *, holds: bool | None
) -> None:
    trial = a_trial(Claim(kind=said, text="What I say."))
    [attempt] = trial_facts(trial, {NAME: did(*events)}, None).attempts
    assert attempt.claim_holds is holds
    fact = row(trial, "says of tests", did(*events))
    assert "What I say." in fact.more
    assert "graders: checks" in fact.more
    assert fact.notable is (holds is False)


def test_tests_that_are_gone_come_from_what_was_seen_of_the_change() -> None:
    flag = SightingSeverity.FLAG
    seen = tuple(
        Sighting(kind=kind, severity=flag, detail="d")
        for kind in ("test_deleted", "ci_changed", "test_skipped", "test_deleted")
    )
    trial = replace(a_trial(), sightings=seen)
    assert trial_facts(trial, {}, PATCH).tests == {"test_deleted": 2, "test_skipped": 1}
    fact = row(trial, "tests gone or weakened", did())
    assert (fact.value, fact.more, fact.notable) == ("3", "test deleted: 2, test skipped: 1", True)
    assert row(replace(trial, sightings=None), "tests gone or weakened", did()).value == "unknown"
    assert row(replace(trial, sightings=()), "tests gone or weakened", did()).value == "0"


def test_each_attempt_has_its_own_facts() -> None:
    trial = a_trial(attempts=2)
    second = "sessions/1/attempt-2/trajectory.json"
    found = trial_facts(trial, {second: did(ran(0)), "sessions/x": did()}, None)
    assert [one.conduct is None for one in found.attempts if one.session] == [True, False]
    titles = [group.title for group in facts_said(trial, found)]
    assert any("attempt 2" in title for title in titles)


def test_each_session_has_its_own_facts_and_is_held_against_its_own_change() -> None:
    def wrote(path: str, second: int, number: int) -> Event:
        at = f"2026-01-01T00:00:{second:02}Z"
        return Event(number=number, kind=EventKind.WRITE, path=path, at=at)

    end = Event(number=3, kind=EventKind.MESSAGE, at="2026-01-01T00:00:30Z")
    # What the first session writes is gone in the end, and was useful in it all the same.
    first = did(wrote("first.py", 10, 1), wrote("scratch.py", 20, 2), end)
    second = did(wrote("second.py", 25, 1), replace(end, number=2))
    trial = replace(
        a_trial(),
        sessions=(session_record(1), session_record(2)),
        attempts=tuple(Attempt(session=n, attempt=1, process=None) for n in (1, 2)),
    )
    found = trial_facts(
        trial,
        {
            "sessions/1/attempt-1/trajectory.json": first,
            "sessions/2/attempt-1/trajectory.json": second,
            "sessions/1/change.patch": patch_of("first.py", 0, 1),
            "sessions/2/change.patch": patch_of("second.py", 0, 1),
        },
        patch_of("second.py", 0, 1),
    )
    seconds = [
        (one.session, one.conduct.seconds_after_edit) for one in found.attempts if one.conduct
    ]
    assert seconds == [(1, 20.0), (2, 5.0)]
    titles = [group.title for group in facts_said(trial, found)]
    assert titles[:2] == [f"How the agent worked (session {n}, attempt 1)" for n in (1, 2)]


@pytest.mark.parametrize(
    "data", [b"", b"{", b"[]", b"{}", b'{"client": 1}', b'{"client":"c","events":[{"number":1}]}']
)
def test_a_trajectory_that_cannot_be_read_is_told_and_stops_nothing(data: bytes) -> None:
    trial = a_trial()
    found = trial_facts(trial, {NAME: data}, b"diff --git a/x")
    assert found.change is None
    assert found.attempts[0].conduct is None
    assert NAME in found.attempts[0].unreadable
    [group, _] = facts_said(trial, trial_facts(trial, {NAME: data}, PATCH))
    assert NAME in group.note


@settings(max_examples=60, deadline=None)
@given(st.binary(max_size=200), st.binary(max_size=200))
def test_any_bytes_give_facts(trajectory: bytes, patch: bytes) -> None:
    trial = a_trial()
    facts_said(trial, trial_facts(trial, {NAME: trajectory}, patch, ("src",)))


def test_notable_facts_are_marked() -> None:
    fails = [
        Event(number=n, kind=EventKind.COMMAND, command="make\nall", exit_code=1)
        for n in range(1, 4)
    ]
    fact = row(a_trial(), "same failure in a row", did(*fails))
    assert (fact.value, fact.more, fact.notable) == ("3", "make all", True)
    risky = Event(number=1, kind=EventKind.COMMAND, command="git push -f", denied=True)
    fact = row(a_trial(), "risky commands", did(risky))
    assert (fact.value, fact.more) == ("1", "force push (not permitted): git push -f")
    assert row(a_trial(), "commands repeated", did(*fails)).value == "2/3 (66.7 %)"
