from __future__ import annotations

import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trialbook.model.trajectory import CallUsage, Event, EventKind, Trajectory
from trialbook.stats.conduct import Conduct, conduct

Made = tuple[EventKind, dict[str, Any]]


def said(*made: Made, changed: set[str] | None = None, **about: Any) -> Conduct:
    events = tuple(
        Event(number=number, kind=kind, **given) for number, (kind, given) in enumerate(made, 1)
    )
    return conduct(Trajectory(client="c", events=events, **about), changed)


def run(command: str, **given: Any) -> Made:
    return EventKind.COMMAND, {"command": command, **given}


def read(path: str, **given: Any) -> Made:
    return EventKind.READ, {"path": path, **given}


def write(path: str, **given: Any) -> Made:
    return EventKind.WRITE, {"path": path, **given}


def change(path: str, old: str, new: str) -> Made:
    return write(path, arguments={"old_string": old, "new_string": new})


def test_the_repeat_ratio_of_a_worked_example() -> None:
    commands = ["pytest -q"] * 4 + ["cat a.py"] * 3 + ["ls", "git status", "sed -n 1,20p a.py"]
    found = said(*map(run, commands))
    assert (found.commands, found.distinct_commands, found.repeat_ratio) == (10, 5, 0.5)
    assert [(one.command, one.times) for one in found.repeated] == [
        ("pytest -q", 4),
        ("cat a.py", 3),
    ]
    assert found.test_runs == 4


def test_nothing_known_stays_null() -> None:
    found = said()
    assert found.repeat_ratio is None
    assert found.failing_run is None
    assert found.events_before_edit is None
    assert found.seconds_after_edit is None
    assert found.tokens_after_edit is None
    assert found.last_tests is None
    assert found.reverted_edits == 0
    assert said(run("ls")).failing_run is None
    assert said(run("ls", ok=True)).failing_run == 0


def test_a_run_of_failures_ends_with_another_command_a_success_or_an_edit() -> None:
    bad = run("make", exit_code=2)
    assert said(bad, bad, bad).failing_run == 3
    assert said(bad, bad, bad).failing_command == "make"
    assert said(bad, run("ls", exit_code=0), bad).failing_run == 1
    assert said(bad, bad, run("make", exit_code=0), bad).failing_run == 2
    assert said(bad, bad, write("a"), bad).failing_run == 2
    assert said(bad, (EventKind.MESSAGE, {"text": "again"}), bad, read("a"), bad).failing_run == 3
    assert said(bad, run("make"), bad).failing_run == 1
    assert said(bad, run("make", ok=False, agent="b"), bad, agent_ok := bad).failing_run == 3
    assert agent_ok is bad
    assert said(bad, run("make", denied=True), bad).failing_run == 2


def test_a_file_is_read_again_where_the_same_part_of_it_had_not_changed() -> None:
    found = said(read("a", output="x"), read("a", output="x"), read("a", output="x"))
    assert (found.reads, found.rereads, found.most_reads) == (3, 2, 3)
    found = said(read("a", output="x"), run("sed -i s/x/y/ a"), read("a", output="y"))
    assert found.rereads == 0
    found = said(read("a", output="x"), write("a"), read("a", output="x"))
    assert (found.rereads, found.most_reads) == (0, 1)
    parts = [read("a", output=str(n), arguments={"offset": n}) for n in range(3)]
    assert said(*parts).rereads == 0
    assert said(read("a"), read("a")).rereads == 1
    assert said(read("a"), run("make"), read("a")).rereads == 0
    assert said(read("a"), read("a", agent="other")).rereads == 0
    assert said(read("a", ok=False), read("a", ok=False)).reads == 0
    # What is not known by its path is a read, and no more.
    assert said((EventKind.READ, {}), (EventKind.READ, {})).rereads == 0


def test_edits_that_go_back_to_an_earlier_state_are_counted() -> None:
    assert said(change("a", "x", "y"), change("a", "y", "x")).reverted_edits == 1
    twice = [change("a", "x", "y"), change("a", "y", "x")] * 2
    # The second x to y is at a state that was there before, too.
    assert said(*twice).reverted_edits == 3
    assert said(change("a", "x", "y"), change("b", "y", "x")).reverted_edits == 0
    assert said(change("a", "x", "y"), change("a", "y", "z")).reverted_edits == 0
    nested = [
        change("a", "1", "2"),
        change("a", "3", "4"),
        change("a", "4", "3"),
        change("a", "2", "1"),
    ]
    assert said(*nested).reverted_edits == 2
    whole = [write("a", arguments={"content": text}) for text in ("1", "2", "1")]
    assert said(*whole).reverted_edits == 1
    assert said(whole[0], whole[0]).reverted_edits == 0
    assert said(change("a", "x", "y"), run("git checkout -- a")).reverted_edits == 1
    patches = [
        write("a", arguments={"patch": "*** Update File: a\n@@\n x\n-1\n+2\n"}),
        write("a", arguments={"patch": "*** Update File: a\n@@\n x\n-2\n+1\n"}),
    ]
    assert said(*patches).reverted_edits == 1


def test_edits_that_do_not_tell_what_they_wrote_are_not_known_to_go_back() -> None:
    assert said(write("a"), write("a")).reverted_edits is None
    assert said(write("a"), change("a", "x", "y"), change("a", "y", "x")).reverted_edits == 1


def test_events_before_the_first_edit_leave_the_prompt_out() -> None:
    prompt: Made = (EventKind.PROMPT, {"text": "do"})
    assert said(prompt, read("a"), run("ls"), write("a")).events_before_edit == 2
    assert said(prompt, run("sed -i s/a/b/ a")).events_before_edit == 0
    assert said(prompt, write("a", denied=True), write("b", ok=False)).events_before_edit is None
    events = (
        Event(number=1, kind=EventKind.PROMPT),
        Event(number=90, kind=EventKind.WRITE, path="a"),
    )
    cut = conduct(Trajectory(client="c", events=events, omitted_events=88))
    assert cut.events_before_edit is None
    assert (cut.events, cut.whole) == (90, False)


def test_time_and_tokens_after_the_last_edit_that_the_change_still_has() -> None:
    def usage(number: int) -> CallUsage:
        return CallUsage(input_tokens=number, cache_read_tokens=10, output_tokens=1)

    made = [
        (EventKind.MESSAGE, {"at": "2026-01-01T00:00:00Z", "turn": 1, "usage": usage(100)}),
        write("a", at="2026-01-01T00:00:05Z", turn=1),
        write("b", at="2026-01-01T00:00:10Z", turn=2, usage=usage(200)),
        run("pytest", at="2026-01-01T00:01:05.5Z", turn=3, usage=usage(300)),
    ]
    found = said(*made)
    assert (found.seconds_after_edit, found.tokens_after_edit) == (55.5, 311)
    found = said(*made, changed={"a"})
    assert (found.seconds_after_edit, found.tokens_after_edit) == (60.5, 211 + 311)
    assert said(write("./a", at="2026-01-01T00:00:00Z"), changed={"a"}).seconds_after_edit == 0
    found = said(*made, changed={"c"})
    assert (found.seconds_after_edit, found.tokens_after_edit) == (None, None)
    untold = said(*made, run("ls", turn=4))
    assert (untold.seconds_after_edit, untold.tokens_after_edit) == (55.5, None)
    assert said(write("a")).tokens_after_edit is None


@pytest.mark.parametrize(
    ("made", "passed"),
    [
        (run("pytest", exit_code=0), True),
        (run("pytest", exit_code=1), False),
        (run("pytest"), None),
        (run("cd x && pytest -q", ok=False), False),
        (run("pytest | tail -3", exit_code=0), None),
        (run("pytest | tail -3", exit_code=0, output="=== 1 failed, 2 passed in 1s ==="), False),
        (run("pytest | tail -3", exit_code=0, output="=== 3 passed in 1s ==="), True),
        (run("pytest || true", exit_code=0, output="FAILED tests/a.py::b"), False),
    ],
)
def test_the_last_run_of_tests_is_judged_by_its_own_end(made: Made, passed: bool | None) -> None:
    found = said(run("pytest", exit_code=0), write("a"), made)
    assert found.last_tests is not None
    assert found.last_tests.passed is passed
    assert not found.last_tests.edited_since
    later = said(made, write("a")).last_tests
    assert later is not None
    assert later.edited_since


def test_risky_commands_are_listed_also_where_they_were_not_permitted() -> None:
    found = said(run("git push -f"), run("rm -rf ~", denied=True), run("ls"))
    assert [(one.event, one.denied) for one in found.risky] == [(1, False), (2, True)]
    assert (found.risky_commands, found.denied, found.commands) == (2, 1, 2)


TEXTS = st.one_of(st.none(), st.text(max_size=20))
ARGUMENTS = st.one_of(
    st.none(),
    st.dictionaries(
        st.sampled_from(["content", "old_string", "new_string", "edits", "patch", "x"]),
        st.one_of(st.text(max_size=10), st.integers(), st.lists(st.none(), max_size=2)),
        max_size=4,
    ),
)
EVENTS = st.builds(
    Event,
    number=st.integers(-5, 50),
    kind=st.sampled_from(EventKind),
    at=st.one_of(TEXTS, st.sampled_from(["2026-01-01T00:00:00Z", "2026-01-01T00:00:00", "x"])),
    turn=st.one_of(st.none(), st.integers(-2, 5)),
    agent=st.one_of(st.none(), st.sampled_from(["a", "b"])),
    command=st.one_of(TEXTS, st.sampled_from(["pytest", "git checkout -- a", "sed -i x a"])),
    path=st.one_of(TEXTS, st.just("a")),
    arguments=ARGUMENTS,
    output=TEXTS,
    exit_code=st.one_of(st.none(), st.integers(-9, 3)),
    ok=st.sampled_from([None, True, False]),
    denied=st.booleans(),
    usage=st.one_of(
        st.none(),
        st.builds(CallUsage, input_tokens=st.integers(0, 9), output_tokens=st.integers(0, 9)),
    ),
)


@pytest.mark.slow
@settings(max_examples=300, deadline=None)
@given(st.lists(EVENTS, max_size=20), st.one_of(st.none(), st.sets(st.text(max_size=2))))
def test_facts_of_any_events_hold_together(events: list[Event], changed: set[str] | None) -> None:
    trajectory = Trajectory(client="c", events=tuple(events))
    found = conduct(trajectory, changed)
    assert found == conduct(trajectory, changed)
    assert 0 <= found.distinct_commands <= found.commands
    assert found.repeat_ratio is None or 0 <= found.repeat_ratio < 1
    assert 0 <= found.rereads <= found.reads
    assert found.most_reads <= found.reads
    assert found.failing_run is None or 0 <= found.failing_run <= found.commands
    assert found.seconds_after_edit is None or found.seconds_after_edit >= 0
    assert found.tokens_after_edit is None or found.tokens_after_edit >= 0
    assert len(found.risky) <= found.risky_commands
    assert found.test_runs <= found.commands


@pytest.mark.slow
def test_a_long_and_hostile_trajectory_is_counted_quickly() -> None:
    events = tuple(
        Event(
            number=number,
            kind=(EventKind.COMMAND, EventKind.WRITE, EventKind.READ)[number % 3],
            command=f"git {number} '" + '"<<A\n;' * 120,
            path=f"p{number % 7}",
            arguments={"old_string": f"{number % 5}", "new_string": f"{number % 5 + 1}"},
            turn=number,
        )
        for number in range(1, 5_001)
    )
    began = time.process_time()
    conduct(Trajectory(client="c", events=events), set())
    assert time.process_time() - began < 10
